"""The metrics of a run in the Prometheus exposition format."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence

from prometheus_client import CollectorRegistry, ProcessCollector
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest
from prometheus_client.registry import Collector

from streamkarma.connectors.histogram import BOUNDS, Counts
from streamkarma.monitoring.figures import Figures
from streamkarma.monitoring.watcher import Watcher

#: Counters of the run, by name in the summary, with descriptions.
_RUN = {
    "events": "Events that were predicted.",
    "learned": "Events whose label was learned.",
    "unlabelled": "Events without a label.",
    "ignored_attributes": "Values that were ignored for lack of room.",
}
#: What became of late labels, if any may come.
_LABELS = {
    "matched": "Late labels that found their event.",
    "unmatched": "Late labels that were dropped without their event.",
    "expired": "Events that were dropped before their label came.",
}
#: Sizes of the model, and counts over its whole life.
_SIZES = {
    "attributes": "Attributes the model knows.",
    "coordinates": "Coordinates the model knows.",
    "entities": "Entities whose last values are known.",
    "entity_bytes": "Memory of entities in bytes.",
    "support_vectors": "Support vectors the model holds.",
    "patterns": "Observed sets that occur among the support vectors.",
    "weights": "Weights the model has.",
    "dormant_experts": "Dormant experts of a mixture.",
    "last_labels": "Mean weight of predictions adjusted by the last labels.",
    "bytes": "Memory of the model in bytes.",
}
_LIFE = {
    "evicted": "Names that were evicted.",
    "entities_forgotten": "Entities that were forgotten to make room for others.",
    "merged_exactly": "Support vectors that were merged without loss.",
    "merged_closest": "Support vectors that were folded into the closest pattern.",
    "removed": "Support vectors that were removed.",
}
_DURATIONS = {
    "transaction_duration_seconds": "Time to commit a transaction.",
    "commit_latency_seconds": "From the time of a record to the commit of its prediction.",
}


def exposition(watcher: Watcher) -> tuple[str, bytes]:
    """Content type and text of all metrics."""
    registry = CollectorRegistry(auto_describe=False)
    ProcessCollector(registry=registry)
    registry.register(_Families(watcher))
    return CONTENT_TYPE_LATEST, generate_latest(registry)


class _Families(Collector):
    """The metrics of a run."""

    def __init__(self, watcher: Watcher) -> None:
        self._watcher = watcher

    def collect(self) -> Iterator[Metric]:
        """All metrics, with counters that never decrease."""
        for family in self._families():
            if family.type == "counter":
                family.samples = [
                    sample._replace(value=self._highest(sample.name, sample.labels, sample.value))
                    for sample in family.samples
                ]
            yield family

    def _highest(self, name: str, labels: Mapping[str, str], value: float) -> float:
        return self._watcher.highest.of((name, *sorted(labels.items())), value)

    def _families(self) -> Iterator[Metric]:
        """All metrics as measured; before the first figures, only whether the run is ready."""
        watcher, figures = self._watcher, self._watcher.figures
        ready = float(watcher.unready is None)
        yield GaugeMetricFamily("streamkarma_ready", "Whether events can be processed.", ready)
        if figures is None:
            return
        yield from _counters(figures)
        yield from _errors(figures)
        yield from _model(figures)
        yield from _stream(figures)
        yield from _checkpoints(watcher, figures)


def _counters(figures: Figures) -> Iterator[Metric]:
    summary = figures.summary
    for name, what in _RUN.items():
        yield CounterMetricFamily(f"streamkarma_{name}", what, summary[name])
    for name, count in figures.late_labels.items():
        yield CounterMetricFamily(f"streamkarma_labels_{name}", _LABELS[name], count)
    # Records read again after a failure are counted twice here.
    yield _counter("rejected", "Records that could not be used.", ["reason"], _by_name(figures.rejected))
    yield CounterMetricFamily(
        "streamkarma_consumer_restarts", "Attempts to read the source that failed.", figures.restarts
    )
    drifts = _by_name(figures.drifted)
    yield _counter("drifts", "Changes found in the errors and in attributes.", ["of"], drifts)


def _errors(figures: Figures) -> Iterator[Metric]:
    summary, recent = figures.summary, figures.summary.get("recent", {})
    yield CounterMetricFamily(
        "streamkarma_loss_suffered", "Loss over all labels, summed.", summary["loss"]["total"]
    )
    losses = {"all": summary["loss"]["mean"], "recent": recent.get("loss")}
    loss = [([window], value) for window, value in losses.items() if value is not None]
    yield _gauge("loss", "Mean loss: of all labels, and of the latest.", ["window"], loss)
    metrics = [(["all", name], value) for name, value in summary["metrics"].items()]
    if figures.error in recent:
        metrics.append((["recent", figures.error], recent[figures.error]))
    yield _gauge("metric", "Metrics as in the summary.", ["window", "metric"], metrics)
    yield GaugeMetricFamily(
        "streamkarma_recent_labels",
        "Number of labels in the window of latest events.",
        recent.get("events", 0),
    )
    for name, key in {"regret": "regret", "regret_per_event": "regret_per_event"}.items():
        values = [([baseline], row[key]) for baseline, row in figures.regret.items()]
        yield _gauge(name, "Loss of the learner minus that of a baseline.", ["baseline"], values)


def _model(figures: Figures) -> Iterator[Metric]:
    model = figures.summary["model"]
    for name, what in _SIZES.items():
        if name in model:
            yield GaugeMetricFamily(f"streamkarma_{name}", what, model[name])
    for name, what in _LIFE.items():
        if name in model:
            yield CounterMetricFamily(f"streamkarma_{name}", what, model[name])
    weights = _by_name(figures.experts)
    yield _gauge("expert_weight", "Mean weight over the last 1,000 events.", ["expert"], weights)


def _stream(figures: Figures) -> Iterator[Metric]:
    missing = _by_name(figures.missing)
    yield _gauge("missing_share", "Share of events that lack an attribute.", ["attribute"], missing)
    lag = [([topic, str(number)], lag) for topic, number, lag in figures.reader.lag]
    yield _gauge("lag_records", "Records that wait to be read.", ["topic", "partition"], lag)
    for name, what in _DURATIONS.items():
        if (counts := figures.reader.durations.get(name)) is not None:
            yield _histogram(name, what, counts)


def _checkpoints(watcher: Watcher, figures: Figures) -> Iterator[Metric]:
    yield _histogram("checkpoint_duration_seconds", "Time to write the model.", watcher.checkpoints.counts())
    if figures.checkpoint is not None:
        age = max(0.0, time.time() - figures.checkpoint.time)
        yield GaugeMetricFamily(
            "streamkarma_checkpoint_age_seconds", "Time since the model was last written.", age
        )
        if (size := figures.checkpoint.bytes) is not None:
            yield GaugeMetricFamily("streamkarma_checkpoint_bytes", "Size of the model file.", size)


Values = Iterable[tuple[Sequence[str], float]]


def _by_name(values: Mapping[str, float]) -> Values:
    return [([name], value) for name, value in values.items()]


def _gauge(name: str, what: str, labels: Sequence[str], values: Values) -> Metric:
    return _filled(GaugeMetricFamily(f"streamkarma_{name}", what, labels=labels), values)


def _counter(name: str, what: str, labels: Sequence[str], values: Values) -> Metric:
    return _filled(CounterMetricFamily(f"streamkarma_{name}", what, labels=labels), values)


def _filled(family: GaugeMetricFamily | CounterMetricFamily, values: Values) -> Metric:
    for labels, value in values:
        family.add_metric(labels, value)
    return family


def _histogram(name: str, what: str, counts: Counts) -> Metric:
    bounds = [*map(str, BOUNDS), "+Inf"]
    return HistogramMetricFamily(
        f"streamkarma_{name}",
        what,
        buckets=list(zip(bounds, counts.up_to, strict=True)),
        sum_value=counts.sum,
    )
