"""Reports of a run: its status in a line, its summary and its dead letters."""

from __future__ import annotations

from typing import Any

from streamkarma.connectors.base import DeadLetter
from streamkarma.estimators.learners import learner_of
from streamkarma.runtime.live import MEAN_WEIGHTS, RunStatus, heaviest
from streamkarma.runtime.loop import Loop


def run_status(loop: Loop, seconds: float) -> RunStatus:
    """The current status of a run."""
    evaluator, model = loop.evaluator, loop.task_model.model.summary()
    metrics = evaluator.result()
    errors = next(((name, metrics[name]) for name in ("error_rate", "mae") if name in metrics), None)
    regret = {}
    if evaluator.regret_adapter is not None:
        rows = evaluator.regret_adapter.summary()
        regret = {name: row["regret_per_event"] for name, row in rows.items() if "problem" not in row}
    return RunStatus(
        loop.counters.events,
        seconds,
        evaluator.mean_loss,
        loop.task_model.model.loss,
        errors,
        None if "experts" in model else model.get("support_vectors"),
        model.get("budget"),
        model.get("experts", {}),
        regret,
        loop.monitor.recent.means(),
    )


def progress(now: RunStatus) -> str:
    """One line of progress."""
    parts = [f"{now.events:,} events", f"{now.events / max(now.seconds, 1e-9):,.0f}/s"]
    if now.loss is not None:
        parts.append(f"loss {now.loss:.4f}")
    if now.errors is not None:
        parts.append(f"{now.errors[0]} {now.errors[1]:.4f}")
    if now.recent is not None and now.errors is not None:
        latest, loss, error = now.recent
        parts.append(f"last {latest:,}: loss {loss:.4f} {now.errors[0]} {error:.4f}")
    if now.support_vectors is not None:
        parts.append(f"{now.support_vectors} support vectors")
    if now.experts:
        parts.append(f"{MEAN_WEIGHTS}: {heaviest(now.experts)}")
    if now.regret:
        # The best baseline has the smallest loss, and so the largest regret.
        best, worst = max(now.regret, key=now.regret.__getitem__), min(now.regret, key=now.regret.__getitem__)
        shown = [best] if best == worst else [best, worst]
        parts.append("regret " + ", ".join(f"{now.regret[name]:.4f} ({name})" for name in shown))
    return "  ".join(parts)


def summarise(loop: Loop, ignored_before: int, seconds: float) -> dict[str, Any]:
    """The summary of a run, as JSON."""
    model, evaluator, counters = loop.task_model.model, loop.evaluator, loop.counters
    summary = {
        **counters._asdict(),
        "ignored_attributes": model.ignored - ignored_before,
        "seconds": round(seconds, 6),
        "events_per_second": round(counters.events / max(seconds, 1e-9), 1),
        "task": loop.task_model.name,
        "learner": learner_of(model),
        "loss": {"name": model.loss, "mean": evaluator.mean_loss, "total": evaluator.metrics.loss_total},
        "metrics": evaluator.result(),
        **loop.monitor.result(loop.task_model),
        **({"per_label": per_label} if (per_label := evaluator.metrics.per_label.result()) else {}),
        "model": model.summary(),
        "set_aside": _set_aside(model.values),
        "regret": evaluator.regret_adapter.summary() if evaluator.regret_adapter is not None else {},
    }
    if evaluator.regret_adapter is not None:
        summary["verdict"] = evaluator.regret_adapter.verdict()
        if (bound := evaluator.regret_adapter.bound()) is not None:
            summary["bound"] = bound
    if loop.pending is not None:
        summary["pending"] = loop.pending.summary()
    return summary


#: Counts of ordinary values.
_TAKEN = ("values", "prose", "tags")


def _set_aside(values: dict[str, dict[str, int]]) -> dict[str, dict[str, int]]:
    """Counts of values other than ordinary ones, by attribute, over the whole life of the model."""
    unclean = {
        name: {what: n for what, n in row.items() if what not in _TAKEN} for name, row in values.items()
    }
    return {name: row for name, row in unclean.items() if row}


def dead_letter(letter: DeadLetter) -> dict[str, Any]:
    """A rejected record, as JSON."""
    return {**letter.position, "error": letter.error, "record": letter.value.decode(errors="replace")}
