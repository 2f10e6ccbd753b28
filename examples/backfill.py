"""Learn a stream in eight parts on Spark, and compare with learning it in one pass.

    pip install 'streamkarma[spark]'
    python examples/backfill.py

It needs Java 17 or later. Spark runs on this machine with two workers; on a cluster, the same call learns on
all machines.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import click
from arguments import COUNT, LEARNER, Example

from streamkarma import spark
from streamkarma.spark.session import started

#: Worker processes on this machine with one core each, in place of the machines of a cluster.
MASTER = "local-cluster[2,1,1024]"
#: Number of last events, which both models predict without having learned them.
HELD_OUT = 10_000


def streamkarma(*arguments: str) -> None:
    """Run the command line."""
    subprocess.run([sys.executable, "-m", "streamkarma", *arguments, "--quiet"], check=True)


def score(model: Path, events: Path, folder: Path) -> dict[str, float]:
    """The error rate and log loss of a model on events that it does not learn."""
    summary = folder / "score.json"
    streamkarma("predict", str(model), str(events), "--no-predictions", "--summary", str(summary))
    metrics: dict[str, float] = json.loads(summary.read_text())["metrics"]
    return metrics


@click.command(cls=Example, help=__doc__.splitlines()[0])
@click.option("--events", type=COUNT, default=200_000, show_default=True)
@click.option("--parts", type=COUNT, default=8, show_default=True)
@click.option("--tail", type=click.IntRange(min=0), default=0, show_default=True)
@click.option("--learner", type=LEARNER, default="auto", show_default=True)
@click.option("--master", default=MASTER, show_default=True)
def main(events: int, parts: int, tail: int, learner: str, master: str) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        learned, held_out = folder / "learned.jsonl", folder / "held_out.jsonl"
        generate = [sys.executable, "-m", "streamkarma", "generate", "lowrank", "--noise", "0.05"]
        stream = subprocess.run(
            [*generate, "--events", str(events + HELD_OUT)], check=True, capture_output=True
        )
        lines = stream.stdout.splitlines(keepends=True)
        learned.write_bytes(b"".join(lines[:-HELD_OUT]))
        held_out.write_bytes(b"".join(lines[-HELD_OUT:]))

        begin = time.perf_counter()
        one = folder / "one.karma"
        streamkarma("learn", str(learned), "--learner", learner, "--model", str(one), "--no-predictions")
        times = {"one pass": time.perf_counter() - begin}

        many = folder / "many.karma"
        with started("backfill", master, {"spark.ui.enabled": "false"}):
            begin = time.perf_counter()
            spark.backfill(
                str(learned),
                partitions=parts,
                tail=tail,
                learner=learner,
                model=str(many),
            )
            times[f"{parts} parts"] = time.perf_counter() - begin

        print(f"{events:,} events of lowrank, {learner}; {HELD_OUT:,} held out")
        print(f"{'':<12}{'seconds':>10}{'error':>10}{'log loss':>10}")
        for (name, seconds), model in zip(times.items(), (one, many), strict=True):
            found = score(model, held_out, folder)
            print(f"{name:<12}{seconds:>10.1f}{found['error_rate']:>10.4f}{found['log_loss']:>10.4f}")


if __name__ == "__main__":
    main()
