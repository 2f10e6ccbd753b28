"""What a person sees of a run: lines while it goes on, a table when it ends."""

from __future__ import annotations

from typing import Any

from streamkarma.runtime.loop import Loop
from streamkarma.runtime.output import Letter


def progress(events: int, seconds: float, loss: float | None, metrics: dict[str, float],
             model: dict[str, Any]) -> str:  # fmt: skip
    """One line on how far the run is and how well it does."""
    parts = [f"{events:,} events", f"{events / max(seconds, 1e-9):,.0f}/s"]
    if loss is not None:
        parts.append(f"loss {loss:.4f}")
    for name in ("error_rate", "mae"):
        if name in metrics:
            parts.append(f"{name} {metrics[name]:.4f}")
    parts.append(f"{model['support_vectors']} support vectors")
    return "  ".join(parts)


def summarise(loop: Loop, ignored_before: int, seconds: float) -> dict[str, Any]:
    """The summary of a run, as JSON."""
    model, judge, counters = loop.tasked.model, loop.judge, loop.counters
    summary = {
        **counters._asdict(),
        "ignored_attributes": model.ignored - ignored_before,
        "seconds": round(seconds, 6),
        "events_per_second": round(counters.events / max(seconds, 1e-9), 1),
        "task": loop.tasked.name,
        "learner": "karma",
        "loss": {"name": model.loss, "mean": judge.mean_loss, "total": judge.counted.loss_total},
        "metrics": judge.result(),
        "model": model.summary(),
        "regret": {},
    }
    if loop.pending is not None:
        summary["pending"] = loop.pending.summary()
    return summary


def dead_letter(letter: Letter) -> dict[str, Any]:
    """A record that was set aside, as JSON."""
    return {**letter.place, "error": letter.error, "record": letter.value.decode(errors="replace")}


def table(summary: dict[str, Any]) -> str:
    """The summary of a run, for reading."""
    loss, model = summary["loss"], summary["model"]
    rows = [
        ("events", f"{summary['events']:,}"),
        ("learned", f"{summary['learned']:,}"),
        ("unlabelled", f"{summary['unlabelled']:,}"),
        ("rejected", f"{summary['rejected']:,}"),
        *((f"labels {name}", f"{n:,}") for name, n in summary.get("pending", {}).items()),
        ("ignored values", f"{summary['ignored_attributes']:,}"),
        ("events per second", f"{summary['events_per_second']:,.0f}"),
        ("task", summary["task"]),
    ]
    if loss["mean"] is not None:
        rows.append((f"mean {loss['name']} loss", f"{loss['mean']:.5g}"))
    rows += [(name.replace("_", " "), f"{value:.4f}") for name, value in summary["metrics"].items()]
    rows += [
        ("attributes", f"{model['attributes']:,}"),
        ("support vectors", f"{model['support_vectors']:,} of {model['budget'] or 'any number'}"),
    ]
    width = max(len(name) for name, _ in rows)
    return "\n".join(f"{name:<{width}}  {value:>12}" for name, value in rows)
