"""What the user sees of a run: lines of progress, and a table at the end."""

from __future__ import annotations

import difflib
from contextlib import suppress
from typing import Any

from streamkarma._engine import parse
from streamkarma.connectors.base import DeadLetter
from streamkarma.errors import RecordError
from streamkarma.estimators.classification import BaseClassifier
from streamkarma.estimators.learners import learner_of
from streamkarma.events.flatten import flatten
from streamkarma.runtime.live import MEAN_WEIGHTS, RunStatus, heaviest
from streamkarma.runtime.loop import Loop
from streamkarma.runtime.regret_table import bound_lines, regret_table

#: As many of the first records as are looked into for a hint, until there are so many names, and none longer.
_FIRST, _LONGEST_NAME = 100, 60
#: As many names as are shown, where none is near.
_NAMES = 8


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
        # The best baseline is the one with the least loss, so with the largest regret.
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


#: What is counted of values that are what they are.
_TAKEN = ("values", "prose", "tags")


def _set_aside(values: dict[str, dict[str, int]]) -> dict[str, dict[str, int]]:
    """What was no plain value, by attribute, over the model's whole life."""
    unclean = {
        name: {what: n for what, n in row.items() if what not in _TAKEN} for name, row in values.items()
    }
    return {name: row for name, row in unclean.items() if row}


#: What is counted of values, in words.
_IN_WORDS = {
    "spelled": "texts read as numbers",
    "nothing": "words for nothing",
    "sentinels": "sentinels",
    "far": "values far out",
}


def _unclean(set_aside: dict[str, dict[str, int]]) -> list[tuple[str, str]]:
    """The rows of what was set aside or converted: how many values."""
    totals = {text: sum(row.get(what, 0) for row in set_aside.values()) for what, text in _IN_WORDS.items()}
    return [(text, f"{count:,}") for text, count in totals.items() if count]


def unmatched(loop: Loop) -> str | None:
    """What to say of names that were given a weight, where there is no such class."""
    model = loop.task_model.model
    names = model.unmatched_weights if isinstance(model, BaseClassifier) and model.classes else []
    return f"--class-weight: no label was {', '.join(names)}" if names else None


def useless(loop: Loop, target: str) -> str | None:
    """Why a whole run was useless, if it was: probably a wrong option."""
    c = loop.counters
    if not c.events and c.rejected and loop.failure is None:
        return f"none of {c.rejected:,} records could be used"
    labels = loop.pending is not None and any(
        loop.pending.summary()[name] for name in ("matched", "unmatched")
    )
    if not (loop.learns and c.events and c.unlabelled == c.events) or labels:
        return None
    names = sorted(_first_names(loop) - {target})
    near = difflib.get_close_matches(target.lower(), [name.lower() for name in names], 1)
    meant = next((name for name in names if [name.lower()] == near), None)
    hint = f"did you mean {meant}?" if meant else f"see --target, and the names {', '.join(names[:_NAMES])}"
    return f"no event had the target {target}, so nothing was learned; {hint}"


def _first_names(loop: Loop) -> set[str]:
    """Attribute names in the first records, or of a model that was learned elsewhere."""
    if loop.first_records is None:
        return {
            name
            for name in map(str, loop.task_model.model.vocabulary.attributes)
            if len(name) <= _LONGEST_NAME
        }
    names: set[str] = set()
    for value in loop.first_records.values[:_FIRST]:
        with suppress(RecordError):
            names |= {name for name in flatten(parse(value)) if len(name) <= _LONGEST_NAME}
        if len(names) > _FIRST:
            break
    return names


def dead_letter(letter: DeadLetter) -> dict[str, Any]:
    """A rejected record, as JSON."""
    return {**letter.position, "error": letter.error, "record": letter.value.decode(errors="replace")}


def table(summary: dict[str, Any]) -> str:
    """The summary of a run, in readable form."""
    loss, model = summary["loss"], summary["model"]
    rows = [
        ("events", f"{summary['events']:,}"),
        ("learned", f"{summary['learned']:,}"),
        ("unlabelled", f"{summary['unlabelled']:,}"),
        *([("unlabelled learned", f"{n:,}")] if (n := summary["unlabelled_learned"]) else []),
        ("rejected", f"{summary['rejected']:,}"),
        *([("weight 0", f"{summary['zero_weight']:,}")] if summary["zero_weight"] else []),
        *(("tombstones", f"{n:,}") for n in (summary.get("kafka", {}).get("tombstones"),) if n),
        *((f"labels {name}", f"{n:,}") for name, n in summary.get("pending", {}).items()),
        ("ignored values", f"{summary['ignored_attributes']:,}"),
        *([("names evicted", f"{n:,}")] if (n := model["evicted"]) else []),
        *_unclean(summary["set_aside"]),
        ("events per second", f"{summary['events_per_second']:,.0f}"),
        ("task", summary["task"]),
    ]
    if loss["mean"] is not None:
        rows.append((f"mean {loss['name']} loss", f"{loss['mean']:.5g}"))
    rows += [(name.replace("_", " "), f"{value:.4f}") for name, value in summary["metrics"].items()]
    rows += [*_recent(summary.get("recent")), *_per_label(summary.get("per_label", {}))]
    rows += _drifts(summary.get("drift", {}))
    rows.append(("attributes", f"{model['attributes']:,}"))
    if "entities" in model:
        rows.append(("entities", f"{model['entities']:,}"))
    if model.get("entities_forgotten"):
        rows.append(("entities forgotten", f"{model['entities_forgotten']:,}"))
    if "experts" in model:
        rows.append((f"{MEAN_WEIGHTS}:", ""))
        rows += [(f"  {name}", f"{weight:.3f}") for name, weight in model["experts"].items()]
    elif "support_vectors" in model:
        rows.append(("support vectors", f"{model['support_vectors']:,} of {model['budget'] or 'any number'}"))
    elif "weights" in model:
        rows.append(("weights", f"{model['weights']:,}{' hashed' if model['hashed'] else ''}"))
    rows += [(f"refit {name} failed", why) for name, why in model.get("refit_problems", {}).items()]
    rows.append(("memory", f"{model['bytes']:,} bytes"))
    width = max(len(name) for name, value in rows if value)
    lines = [f"{name:<{width}}  {value:>12}".rstrip() for name, value in rows]
    compared = regret_table(summary["regret"], summary.get("verdict"))
    return "\n".join([*lines, *compared, *bound_lines(summary.get("bound"))])


def _recent(recent: dict[str, Any] | None) -> list[tuple[str, str]]:
    """The means over the latest events."""
    if recent is None:
        return []
    own = [(name.replace("_", " "), f"{value:.4f}") for name, value in recent.items() if name != "events"]
    return [(f"last {recent['events']:,} labels", ""), *((f"  {name}", value) for name, value in own)]


def _drifts(drift: dict[str, Any]) -> list[tuple[str, str]]:
    """How often errors have risen, and how many attributes have come to be there more or less often."""
    rows = [("times that errors rose", f"{len(events):,}")] if (events := drift.get("errors")) else []
    return rows + (
        [("attributes that drifted", f"{len(observed):,}")] if (observed := drift.get("observed")) else []
    )


def _per_label(result: dict[str, Any]) -> list[tuple[str, str]]:
    """The metrics of labels, each counted once."""
    if not result:
        return []
    rows = [("labels of entities", f"{result['labels']:,}")]
    for name in [name for name in ("last", "mean") if name in result]:
        metrics = result[name].items()
        rows += [(f"  {name} {metric.replace('_', ' ')}", f"{value:.4f}") for metric, value in metrics]
    return rows
