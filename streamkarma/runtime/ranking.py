"""The attributes that contribute most to a model's scores, over a window of events."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from streamkarma.errors import RunError
from streamkarma.estimators.explaining import columns_of
from streamkarma.estimators.outcomes import deviation_of, expected, outcome_scores, read_whole
from streamkarma.estimators.persistence import load_with_run
from streamkarma.estimators.windows import Window, window_of
from streamkarma.printable import printable
from streamkarma.runtime.session import resumed
from streamkarma.runtime.task import TaskModel

if TYPE_CHECKING:
    from streamkarma.runtime.run import Run


class Ranking(NamedTuple):
    """Attributes, with the largest contributions first.

    Attributes
    ----------
    source, left_out
        As in ``Window``.
    events
        The number of events in the window.
    attributes
        One row per attribute; see ``rank``.
    """

    source: str
    events: int
    left_out: list[str]
    attributes: list[dict[str, Any]]


def rank_model(path: str, most: int) -> Ranking:
    """Rank the attributes of a model over at most ``most`` events, kept by the model or else sampled.

    Raises
    ------
    ModelFileError
        If the file is not a model.
    RunError
        If the model has learned nothing.
    """
    model, kept, _ = load_with_run(path)
    window = window_of(model, most)
    if not window.records:
        raise RunError(f"{path} has learned no events, so there is nothing to rank")
    return rank(resumed(path, model, kept, lambda _: None), window)


def rank_run(run: Run, name: str) -> Ranking:
    """Rank attributes over the latest events of a finished run; ``name`` is the name of its input."""
    loop = run.session.loop
    if not loop.latest:
        raise RunError(f"{name} has no events, so there is nothing to rank")
    return rank(loop.task_model, Window("input", list(loop.latest), []))


class _Sums:
    """The sums of one attribute, over the events so far."""

    def __init__(self) -> None:
        #: Events that observe it, and the sum of its absolute contributions.
        self.observed, self.contribution = 0, 0.0
        #: Examined events that lack it, and sums over these: the effect of its absence on the score, and
        #: deviations.
        self.asked, self.absence, self.deviation = 0, 0.0, 0.0

    def row(self, name: Any, events: int) -> dict[str, Any]:
        """The means, or None if they cover no events."""
        contribution, observed = self.contribution / events, self.observed / events
        row: dict[str, Any] = {
            "attribute": str(name),
            "contribution": contribution,
            "when_observed": contribution / observed if observed else None,
            "observed": observed,
            **dict.fromkeys(("absence", "absence_share", "deviation")),
        }
        if self.asked:
            row["absence"], row["deviation"] = self.absence / self.asked, self.deviation / self.asked
            # It may have been examined in only some of the events that lack it.
            by_absence = (1.0 - observed) * row["absence"]
            row["absence_share"] = by_absence / ((contribution + by_absence) or 1.0)
        return row


def rank(task_model: TaskModel, window: Window) -> Ranking:
    """Rank attributes over a window of at least one event, without learning.

    The row of each attribute has these means over the window:

    - ``contribution``: the absolute contribution to the score, 0 where it is missing;
    - ``when_observed``: the same over the events that observe it, a fraction ``observed`` of all;
    - ``absence``: over the events that lack it, the distance of the score from its expected value if the
      attribute were known;
    - ``absence_share``: the share of its absence in the total effect of the attribute on the scores;
    - ``deviation``: over the events that lack it, the standard deviation of the score over its possible
      values.

    With more than two classes, the score is the highest one.
    """
    model, sums = task_model.model, defaultdict[Any, _Sums](_Sums)
    for record in window.records:
        events = read_whole(model, [record])
        scores = columns_of(model, events)
        at = int(np.argmax(scores.score))
        for name, part in model.in_units(scores).contributions.items():
            sums[name].observed += 1
            sums[name].contribution += abs(float(part[at]))
        outcomes = outcome_scores(model, record, events)
        moved = {each.name: np.abs(scores.score - expected(each.chances, other)) for each, other in outcomes}
        spread = {each.name: deviation_of(each.chances, other) for each, other in outcomes}
        for name, deviation in model.spread_by(spread).items():
            sums[name].asked += 1
            sums[name].deviation += float(deviation[at])
        for name, distance in model.spread_by(moved).items():
            sums[name].absence += float(distance[at])
    # If the task has more classes than were seen, a single score is split into two halves.
    classes = model._pipeline.learner.classes
    factor = 0.5 if task_model.name == "multiclass" and classes == 1 else 1.0
    for each in sums.values():
        each.contribution, each.absence = factor * each.contribution, factor * each.absence
        each.deviation *= factor
    count = len(window.records)
    rows = [each.row(name, count) for name, each in sums.items()]
    rows.sort(key=lambda row: (-row["contribution"], -(row["absence"] or 0.0)))
    return Ranking(window.source, count, window.left_out, rows)


#: The source of the events, in words.
_SOURCES = {
    "kept": "the latest {events:,} labelled events, which the model keeps",
    "drawn": "{events:,} events drawn from the model's statistics of attributes, since it keeps no events",
    "input": "the latest {events:,} events of the input",
}
#: Maximum number of attributes shown, and of characters of a name.
_SHOWN, _LONGEST = 20, 40
_COLUMNS = ("contribution", "if observed", "observed", "absence", "absence share", "deviation")


def table(ranking: Ranking) -> str:
    """A ranking in readable form."""
    rows = ranking.attributes[:_SHOWN]
    names = [printable(row["attribute"])[:_LONGEST] for row in rows]
    width = max(map(len, ["attribute", *names]))
    lines = [f"mean absolute contributions over {_SOURCES[ranking.source].format(events=ranking.events)}", ""]
    lines.append(f"{'attribute':<{width}}" + "".join(f"{column:>14}" for column in _COLUMNS))
    for name, row in zip(names, rows, strict=True):
        shown = (
            f"{row['contribution']:>14.4f}",
            _or_dash(row["when_observed"], ".4f"),
            f"{row['observed']:>14.1%}",
            _or_dash(row["absence"], ".4f"),
            _or_dash(row["absence_share"], ".1%"),
            _or_dash(row["deviation"], ".4f"),
        )
        lines.append(f"{name:<{width}}" + "".join(shown))
    if len(ranking.attributes) > _SHOWN:
        lines.append(f"… ({len(ranking.attributes):,} in all; --json lists them)")
    if ranking.left_out:
        names = [printable(name) for name in ranking.left_out[:_SHOWN]]
        more = ", …" if len(ranking.left_out) > _SHOWN else ""
        lines += ["", f"not in these events: {', '.join(names)}{more}; give INPUT to rank them, too"]
    return "\n".join(lines)


def _or_dash(value: float | None, form: str) -> str:
    return f"{'-':>14}" if value is None else f"{format(value, form):>14}"
