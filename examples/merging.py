"""The cost of merging, in accuracy and in time.

    python examples/merging.py
    python examples/merging.py --learner explicit --tree 1000

It learns a stream in one pass, and in parts of equal length that are merged; both models predict events that
neither has learned. Then it times the merge of two parts, and of a tree of many.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from itertools import cycle, islice
from pathlib import Path
from statistics import median

import click
import numpy as np
import orjson
from arguments import COUNT, LEARNER, SEED, Example

import streamkarma
from streamkarma.estimators.learners import Model

#: Number of last events, which models predict without having learned them.
HELD_OUT = 20_000
#: Number of models per merge in a tree.
TOGETHER = 8
#: Number of timed merges.
ROUNDS = 15


def run(*arguments: str, lines: list[bytes] | None = None) -> bytes:
    """Run the command line."""
    content = None if lines is None else b"".join(lines)
    command = [sys.executable, "-m", "streamkarma", *arguments]
    return subprocess.run(command, check=True, input=content, stdout=subprocess.PIPE).stdout


def learn(lines: list[bytes], learner: str, path: Path) -> Path:
    """Learn lines into a model file."""
    run("learn", "--learner", learner, "--no-predictions", "--quiet", "--model", str(path), lines=lines)
    return path


def score(model: Path, lines: list[bytes]) -> tuple[float, float]:
    """The error rate and log loss of a model on lines that it does not learn."""
    summary = model.with_suffix(".json")
    options = ["--no-predictions", "--quiet", "--summary", str(summary)]
    run("predict", str(model), *options, lines=lines)
    metrics = json.loads(summary.read_text())["metrics"]
    return metrics["error_rate"], metrics["log_loss"]


def probabilities(model: Path, lines: list[bytes]) -> np.ndarray:
    """The probability of the positive class for each line."""
    rows = map(orjson.loads, run("predict", str(model), "--quiet", lines=lines).splitlines())
    return np.array(
        [row["probability"] if row["prediction"] == 1 else 1 - row["probability"] for row in rows]
    )


def ensemble(models: list[Path], lines: list[bytes]) -> tuple[float, float]:
    """The error rate and log loss of the mean of the models' probabilities."""
    mean = np.mean([probabilities(model, lines) for model in models], axis=0)
    truth = np.array([orjson.loads(line)["y"] for line in lines])
    loss = -np.log(np.where(truth == 1, mean, 1 - mean)).mean()
    return float(((mean > 0.5) != truth).mean()), float(loss)


def merge_tree(models: list[Model]) -> Model:
    """Merge models, some at a time, until one is left."""
    while len(models) > 1:
        starts = range(0, len(models), TOGETHER)
        models = [streamkarma.merge(models[start : start + TOGETHER]) for start in starts]
    return models[0]


@click.command(cls=Example, help=__doc__.splitlines()[0])
@click.option(
    "--events", type=click.IntRange(min=1000), default=200_000, show_default=True, help="Events learned."
)
@click.option("--parts", type=click.IntRange(2, 100), default=8, show_default=True)
@click.option("--learner", type=LEARNER, default="auto", show_default=True)
@click.option("--seed", type=SEED, default=100, show_default=True)
@click.option("--tree", type=COUNT, metavar="N", help="Time a tree of N models.")
def main(events: int, parts: int, learner: str, seed: int, tree: int | None) -> None:
    count = str(events + HELD_OUT)
    stream = ["generate", "lowrank", "--noise", "0.05", "--events", count, "--seed", str(seed)]
    lines = run(*stream).splitlines(keepends=True)
    lines, held_out = lines[:-HELD_OUT], lines[-HELD_OUT:]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        whole = learn(lines, learner, folder / "whole.karma")
        length = events // parts
        paths = [
            learn(lines[at * length : (at + 1) * length], learner, folder / f"part{at}.karma")
            for at in range(parts)
        ]
        merged = folder / "merged.karma"
        run("merge", *map(str, paths), "--model", str(merged), "--quiet")
        print(f"{events:,} events, seed {seed}, {learner}; {HELD_OUT:,} held out")
        print(f"{'':<14}{'error':>8}{'log loss':>10}")
        found = {"one pass": score(whole, held_out), f"{parts} merged": score(merged, held_out)}
        found |= {"their mean": ensemble(paths, held_out), "one part": score(paths[0], held_out)}
        for title, (error, loss) in found.items():
            print(f"{title:<14}{error:>8.4f}{loss:>10.4f}")

        models = [streamkarma.load(part) for part in paths]
        times = []
        for _ in range(ROUNDS):
            begin = time.process_time()
            streamkarma.merge(models[:2])
            times.append(time.process_time() - begin)
        print(f"two models of {paths[0].stat().st_size:,} bytes merge in {1e3 * median(times):.1f} ms")
        if tree:
            begin = time.process_time()
            merge_tree(list(islice(cycle(models), tree)))
            print(f"{tree:,} models merge in {time.process_time() - begin:.1f} s")


if __name__ == "__main__":
    main()
