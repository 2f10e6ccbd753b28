"""Measure the value of remembering each entity's values on streams of partial updates.

Every event is predicted when it arrives, and learned when its label arrives; all metrics are those of these
predictions.

    python examples/entities.py --seeds 100,101,102,103,104              # generate devices
    python examples/entities.py --data FOLDER --events 60000             # intensive care, weather
    python examples/entities.py --only entity --only carried -- --learner karma

The streams are in examples/entity_streams.py. ``auto`` runs on the stream as it is, without the entity's
name, on the output of examples/carry.py, with ``--entity``, and on complete events if they are known. river's
pipelines get the last values explicitly, and 0 for values never reported. Options after ``--`` are passed to
each run of ``auto``.

The last column counts each entity with a late label once, by the last prediction before the label.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import click
import orjson
from arguments import Example, Numbers
from carry import carried
from entity_streams import Record, Stream, devices, labels_of_entities, stays, weather
from rivals import River, logistic, standardised
from river import compose, forest, linear_model, neighbors, optim, tree
from sklearn.metrics import log_loss, roc_auc_score

Chances = dict[int, float]

#: More events than can ever wait for a label.
PENDING = 1_000_000


def learn(records: Iterable[Record], options: Sequence[str]) -> Chances:
    """Run ``streamkarma learn``; returns the first predicted probability of 1 for each event."""
    chances: Chances = {}
    with TemporaryDirectory() as folder:
        source, rows = Path(folder, "in.jsonl"), Path(folder, "out.jsonl")
        source.write_bytes(b"".join(orjson.dumps(record) + b"\n" for record in records))
        command = [sys.executable, "-m", "streamkarma", "learn", str(source), "--predictions", str(rows)]
        subprocess.run([*command, "--quiet", "--task", "binary", "--id", "id", *options], check=True)
        for row in map(orjson.loads, rows.read_bytes().splitlines()):
            sure = row.get("probability", 0.5)
            chances.setdefault(row.get("id"), sure if row.get("prediction") == 1 else 1.0 - sure)
    return chances


def auto(stream: Stream, way: str, labels: str, more: Sequence[str]) -> Chances:
    """``auto`` on one of the variants of a stream."""
    late = ["--pending", str(PENDING)] if stream.label_of else []
    timed, left_out = ["--time", stream.time], ["id", "y", stream.time]
    if way == "entity":
        records = labels_of_entities(stream) if labels == "entity" else stream.records
        return learn(records, ["--entity", stream.entity, *timed, *late, *more])
    seen: dict[str, Callable[[], Iterable[Record]]] = {
        "complete": lambda: stream.complete or [],
        "carried": lambda: carried(stream.records, stream.entity, left_out),
        "last": lambda: carried(stream.records, stream.entity, left_out, ".last"),
    }
    options = ["--ignore", stream.entity] if way == "nameless" or stream.label_of else []
    return learn(seen.get(way, lambda: stream.records)(), [*timed, *options, *late, *more])


RIVER: dict[str, Callable[[], Any]] = {
    **{f"lr-sgd-{r}": partial(lambda r: logistic(optim.SGD(r)), r) for r in (0.003, 0.01, 0.03, 0.1)},
    "lr-adam-0.01": lambda: logistic(optim.Adam(0.01)),
    "lr-adagrad-0.1": lambda: logistic(optim.AdaGrad(0.1)),
    "lr-named": lambda: logistic(optim.SGD(0.03)),
    "alma": linear_model.ALMAClassifier,
    "pa": partial(linear_model.PAClassifier, C=0.01),
    "hoeffding-adaptive": partial(tree.HoeffdingAdaptiveTreeClassifier, seed=0),
    "arf": partial(forest.ARFClassifier, seed=0),
    "knn": partial(neighbors.KNNClassifier, n_neighbors=11),
}
#: Classifiers that see the entity's name, one-hot encoded.
NAMED = ("lr-named",)


def river(stream: Stream, name: str) -> Chances:
    """A river classifier on the standardised last values; each event is learned with its label."""
    left_out = ["id", "y", stream.time]
    unseen = left_out if name in NAMED else [*left_out, stream.entity]
    numbers = {n for record in stream.records for n, value in record.items() if not isinstance(value, str)}
    # The mean, for values never reported.
    means = dict.fromkeys(sorted(numbers.difference(unseen)), 0.0)
    model = River(standardised() | compose.FuncTransformer(means.__or__), RIVER[name]())
    waiting: dict[int, Record] = {}
    chances: Chances = {}
    for record in carried(stream.records, stream.entity, left_out):
        key = record["id"]
        if key not in chances:
            waiting[key] = {n: value for n, value in record.items() if n not in unseen}
            chances[key] = model.predict(waiting[key])
        if "y" in record:
            model.learn(waiting.pop(key), record["y"] == 1)
    return chances


def measures(stream: Stream, chances: Chances) -> Iterator[float]:
    """Error, log loss and AUC over events, and AUC over entities with late labels."""
    truth, said = [*stream.labels.values()], [chances[key] for key in stream.labels]
    yield sum((p > 0.5) != y for p, y in zip(said, truth, strict=True)) / len(truth)
    yield log_loss(truth, said, labels=[False, True])
    yield roc_auc_score(truth, said)
    if stream.label_of:
        last = {entity: key for key, entity in stream.label_of.items()}.values()
        yield roc_auc_score([stream.labels[key] for key in last], [chances[key] for key in last])


#: The rows, and the head of the table.
HEAD = """| stream | learner | events | error | log loss | AUC | AUC by entity |
|---|---|--:|--:|--:|--:|--:|"""
WAYS = ["complete", "auto", "nameless", "carried", "last", "entity", *RIVER]


@click.command(cls=Example, help=__doc__.splitlines()[0])
@click.option(
    "--seeds", type=Numbers(0), default="200", show_default=True, help="Of the devices, with commas."
)
@click.option("--data", type=click.Path(exists=True, file_okay=False, path_type=Path), help="FOLDER.")
@click.option("--events", type=click.IntRange(min=1), help="Maximum number of events of each stream.")
@click.option("--only", type=click.Choice(WAYS), multiple=True, help="Only these rows; repeatable.")
@click.option("--labels", type=click.Choice(["event", "entity"]), default="event", show_default=True)
@click.argument("options", nargs=-1, type=click.UNPROCESSED)
def main(seeds: Sequence[int], data: Path | None, events: int | None, only: Sequence[str], labels: str,
         options: Sequence[str]) -> None:  # fmt: skip
    made: Iterable[Stream]
    if data:
        made = (each(data, events) for each in (stays, weather))
    else:
        made = (devices(seed, events) for seed in seeds)
    print(HEAD)
    for stream in made:
        for way in only or WAYS:
            if way == "complete" and not stream.complete:
                continue
            chances = river(stream, way) if way in RIVER else auto(stream, way, labels, options)
            figures = [f"{figure:.4f}" for figure in measures(stream, chances)]
            row = [stream.name, way, f"{len(stream.labels):,}", *figures, *["-"] * (4 - len(figures))]
            print(f"| {' | '.join(row)} |", flush=True)


if __name__ == "__main__":
    main()
