"""Streams of partial updates of entities, for examples/entities.py, or as JSON lines.

    python examples/entity_streams.py devices --seed 200 --events 100000
    python examples/entity_streams.py physionet2012 --data FOLDER --labels entity

FOLDER has weather_aus.csv.gz and physionet2012_events.jsonl.gz, as for examples/accuracy.py. The label of a
hospital stay follows its last event: once for each of its events, with the event's ``id``, or once for the
whole stay. Every event has an ``id``, which is not an attribute.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from itertools import groupby, islice
from pathlib import Path
from typing import Any, NamedTuple

import click
import orjson
from arguments import SEED
from csv_events import events as table
from inputs import opened

from streamkarma.synthetic.devices import DeviceSpec, device_records

Record = dict[str, Any]

#: Minutes between the last event of a stay and the first of the next.
BETWEEN_STAYS = 60


class Stream(NamedTuple):
    """A stream of partial updates.

    Attributes
    ----------
    name, entity, time
        The names of the stream, and of the attributes with the entity and the time of an event.
    records
        Events, with an ``id`` and their label ``y`` if it is known immediately; and labels on their own, with
        the ``id`` of an event.
    labels
        The labels by ``id``.
    label_of
        The entity whose label an event waits for, by ``id``; empty if labels are known immediately.
    complete
        The same records without missing values, if known.
    """

    name: str
    entity: str
    time: str
    records: list[Record]
    labels: dict[int, bool]
    label_of: dict[int, Any]
    complete: list[Record] | None = None


def devices(seed: int, events: int | None) -> Stream:
    """``streamkarma generate devices``."""
    records, complete = [], []
    for n, record in enumerate(device_records(DeviceSpec(seed=seed), events or 100_000, full=True)):
        full = record.pop("full")
        del record["oracle"]
        records.append({"id": n, **record})
        complete.append({**records[-1], **full})
    labels = {record["id"]: record["y"] == 1 for record in records}
    return Stream(f"devices, seed {seed}", "device", "ts", records, labels, {}, complete)


def weather(data: Path, events: int | None) -> Stream:
    """Rain tomorrow at the weather stations of Australia, day by day."""
    records: list[Record] = []
    labels: dict[int, bool] = {}
    for n, row in enumerate(islice(table(data / "weather_aus.csv.gz"), events)):
        rain = int(row.pop("target") == "Yes")
        records.append({"id": n, **row, "Date": f"{row['Date']}T00:00:00Z", "y": rain})
        labels[n] = rain == 1
    return Stream("weather_aus", "Location", "Date", records, labels, {})


def stays(data: Path, events: int | None) -> Stream:
    """Intensive care, stay after stay: the measurements, and at the end whether the patient died.

    The minutes since the beginning of the stay are an attribute; the time increases from stay to stay.
    """
    stream = Stream("physionet2012", "stay", "time", [], {}, {})
    begin = 0
    with opened(data / "physionet2012_events.jsonl.gz") as file:
        rows = enumerate(map(orjson.loads, islice(file, events)))
        for stay, of_stay in groupby(rows, key=lambda row: row[1]["p"]):
            end, own = 0, {}
            for n, row in of_stay:
                time = 60 * (begin + row["t"])
                stream.records.append({"id": n, "stay": stay, "time": time, "t": row["t"], **row["x"]})
                end, own[n] = row["t"], row["y"] == 1
            begin += end + BETWEEN_STAYS
            stream.records.extend({"id": n, "y": int(died)} for n, died in own.items())
            stream.labels.update(own)
            stream.label_of.update(dict.fromkeys(own, stay))
    return stream


def labels_of_entities(stream: Stream) -> Iterator[Record]:
    """The records with one label for each entity, instead of one for each of its events."""
    told = set()
    for record in stream.records:
        entity = stream.label_of.get(record["id"])
        if entity is None or "y" not in record:
            yield record
        elif entity not in told:
            told.add(entity)
            yield {stream.entity: entity, "y": record["y"]}


@click.command(help=__doc__.splitlines()[0])
@click.argument("kind", type=click.Choice(["devices", "weather_aus", "physionet2012"]))
@click.option("--data", type=click.Path(exists=True, file_okay=False, path_type=Path), help="FOLDER.")
@click.option("--events", type=click.IntRange(min=1), help="Maximum number of events.")
@click.option("--seed", type=SEED, default=200, show_default=True, help="Of the devices.")
@click.option("--labels", type=click.Choice(["event", "entity"]), default="event", show_default=True)
def main(kind: str, data: Path | None, events: int | None, seed: int, labels: str) -> None:
    if kind == "devices":
        stream = devices(seed, events)
    elif data is None:
        raise click.UsageError(f"{kind} needs --data")
    else:
        stream = (weather if kind == "weather_aus" else stays)(data, events)
    for record in labels_of_entities(stream) if labels == "entity" else stream.records:
        sys.stdout.write(json.dumps(record) + "\n")


if __name__ == "__main__":
    main()
