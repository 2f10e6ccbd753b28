"""The summary of a run as a readable table."""

from __future__ import annotations

from typing import Any

from streamkarma.runtime.live import MEAN_WEIGHTS
from streamkarma.runtime.regret_table import bound_lines, regret_table

#: Labels of the counts of values.
_LABELS = {
    "spelled": "texts read as numbers",
    "nothing": "missing-value words",
    "sentinels": "sentinels",
    "far": "outliers",
}


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
        ("learner", summary["learner"]),
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
        rows += _weights(model)
    elif "support_vectors" in model:
        limit = f"of {model['budget']}" if model["budget"] else "(no limit)"
        rows.append(("support vectors", f"{model['support_vectors']:,} {limit}"))
    elif "weights" in model:
        rows.append(("weights", f"{model['weights']:,}{' hashed' if model['hashed'] else ''}"))
    rows += [(f"refit {name} failed", why) for name, why in model.get("refit_problems", {}).items()]
    rows.append(("memory", f"{model['bytes']:,} bytes"))
    if "entities" in model:
        rows.append(("memory of entities", f"{model['entity_bytes']:,} bytes"))
    width = max(len(name) for name, value in rows if value)
    lines = [f"{name:<{width}}  {value:>12}".rstrip() for name, value in rows]
    compared = regret_table(summary["regret"], summary.get("verdict"))
    return "\n".join([*lines, *compared, *bound_lines(summary.get("bound"))])


def _weights(model: dict[str, Any]) -> list[tuple[str, str]]:
    """The weights of the experts of a mixture; none while all are equal, before it has learned anything."""
    weights = model["experts"]
    if len(set(weights.values())) == 1:
        return []
    rows = [(f"{MEAN_WEIGHTS}:", ""), *((f"  {name}", f"{weight:.3f}") for name, weight in weights.items())]
    rows.append(("weight of last labels", f"{model['last_labels']:.3f}"))
    if model["dormant_experts"]:
        rows.append(("dormant experts", f"{model['dormant_experts']}"))
    return rows


def _unclean(set_aside: dict[str, dict[str, int]]) -> list[tuple[str, str]]:
    """The numbers of values that were set aside or converted."""
    totals = {text: sum(row.get(what, 0) for row in set_aside.values()) for what, text in _LABELS.items()}
    return [(text, f"{count:,}") for text, count in totals.items() if count]


def _recent(recent: dict[str, Any] | None) -> list[tuple[str, str]]:
    """The means over the latest events."""
    if recent is None:
        return []
    own = [(name.replace("_", " "), f"{value:.4f}") for name, value in recent.items() if name != "events"]
    return [(f"last {recent['events']:,} labels", ""), *((f"  {name}", value) for name, value in own)]


def _drifts(drift: dict[str, Any]) -> list[tuple[str, str]]:
    """The number of rises of the error, and of attributes observed more or less often than before."""
    rows = [("rises of the error", f"{len(events):,}")] if (events := drift.get("errors")) else []
    return rows + (
        [("attributes that drifted", f"{len(observed):,}")] if (observed := drift.get("observed")) else []
    )


def _per_label(result: dict[str, Any]) -> list[tuple[str, str]]:
    """The metrics per label."""
    if not result:
        return []
    rows = [("labels of entities", f"{result['labels']:,}")]
    for name in [name for name in ("last", "mean") if name in result]:
        metrics = result[name].items()
        rows += [(f"  {name} {metric.replace('_', ' ')}", f"{value:.4f}") for metric, value in metrics]
    return rows
