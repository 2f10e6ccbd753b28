"""The comparison with offline baselines, in readable form."""

from __future__ import annotations

import textwrap
from typing import Any

#: Characters in a line of text.
_WIDTH = 101
#: If the learner's loss is below this, as with small targets, four decimals are not enough.
_SMALL = 1e-3
_EXPLAINED = (
    "Mean loss per event, over the same events: the learner's, and the baseline's in hindsight (fitted to",
    "these very events) and held out (5-fold). The regret is the learner's less the baseline's in hindsight.",
)
_WEIGHTED = "Losses and errors are weighted: sums are divided by the sum of the weights."


def regret_table(regret: dict[str, dict[str, Any]], verdict: str | None) -> list[str]:
    """The verdict, and the comparison with baselines, one line each, the best first."""
    done = {name: row for name, row in regret.items() if "problem" not in row}
    lines = [] if verdict is None else ["", *textwrap.wrap(verdict, _WIDTH)]
    if done:
        is_weighted = any(row["weight"] != row["events"] for row in done.values())
        lines += ["", *_EXPLAINED, *([_WEIGHTED] if is_weighted else [])]
        head = (
            f"{'baseline':<20}{'events':>10}{'learner':>10}{'in hindsight':>14}{'held out':>10}{'regret':>10}"
        )
        lines.append(f"{head}{'± s.e.':>9}{'error':>8}{'held out':>10}")
    small = all(0.0 < row["learner_loss"] / row["weight"] < _SMALL for row in done.values())
    for name, row in sorted(done.items(), key=lambda item: item[1]["baseline_loss"] / item[1]["weight"]):
        n, weight = row["events"], row["weight"]
        held, error = row["held_out_loss"], row["held_out_error"]
        figures = (
            (row["learner_loss"] / weight, 10),
            (row["baseline_loss"] / weight, 14),
            (held and held / weight, 10),
            (row["regret_per_event"], 10),
            (None if row["exact"] else row["standard_error"] / weight, 9),
            (row["error"], 8),
            (error, 10),
        )
        shown = "".join(_figure(value, width, small) for value, width in figures)
        lines.append(f"{name:<20}{n:>10,}{shown}")
    for name, row in regret.items():
        if "problem" in row:
            lines.append(f"{name}: {row['problem']}")
        elif "held_out_problem" in row:
            lines.append(f"{name}: not held out: {row['held_out_problem']}")
    return lines


def bound_lines(bound: dict[str, Any] | None) -> list[str]:
    """The bound of the theorem in readable form: its terms and their sum."""
    if bound is None:
        return []
    terms = {
        "L": "L",
        "squared_radius": "X²Γ",
        "rho": "ρ",
        "B": "B",
        "lam": "λ",
        "gamma": "γ",
        "w_norm": "‖w‖",
        "x_norm": "X",
        "T": "T",
    }
    shown = [f"{sign} {bound[name]:.4g}" for name, sign in terms.items() if bound.get(name) is not None]
    lines = ["", f"bound [Hazan et al. 2015, Thm 3]: {', '.join(shown)}"]
    if "total" in bound:
        parts = ("estimation", "regularisation", "approximation")
        each = {name: f"{bound[name] / bound['T']:.4g}" for name in (*parts, "total", "regret")}
        summed = " + ".join(f"{name} {each[name]}" for name in parts)
        lines.append(f"per event: {summed} = {each['total']}; regret {each['regret']}")
        if bound["ceiling"] is not None:
            highest = bound["ceiling"] / bound["T"]
            lines.append(f"the first two terms and the loss of v bound the learner's loss by {highest:.4g}")
        if bound["x_norm"] == 1.0:
            lines.append("with the normalised kernel the bound applies to f_{w,Q*}/‖φ‖; see --no-normalize")
    else:
        lines.append(bound["unknown"])
    if bound["deviations"]:
        lines.append(f"the theorem does not cover this run: {bound['deviations']}")
    return lines


def _figure(value: float | None, width: int, small: bool) -> str:
    """A number in its column, preceded by a space, with four decimals or as many as there is room for.

    Examples
    --------
    >>> [_figure(value, 10, False) for value in (0.25, 12345.678912, -3e21, None)]
    ['    0.2500', ' 12345.679', ' -3.00e+21', '         -']
    """
    if value is None:
        return f"{'-':>{width}}"
    forms = [] if small else [f"{value:.{decimals}f}" for decimals in range(4, -1, -1)]
    forms += [f"{value:.{digits}e}" for digits in (2, 1)]
    return f"{next((form for form in forms if len(form) < width), forms[-1]):>{width}}"
