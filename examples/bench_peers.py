"""The tools timed by examples/bench.py: streamkarma's learners and others.

Each is a process that makes one pass over a file of events, predicts every event before it learns it, and
writes a summary like ``streamkarma learn``, with its seconds and its error rate. To run a tool other than
streamkarma:

    python examples/bench_peers.py "vw -q xm" events.jsonl summary.json

Each tool reads in its fastest way: the Python learners parse lines with orjson, while Vowpal Wabbit's own
driver reads its own text format, which is written beforehand. It parses in one thread and learns in another.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import orjson

#: The tools that others are compared with.
RIVER, VW, VW_LINEAR = "river linear", "vw -q xm", "vw linear"
ONE, ALL = "one core", "all cores"

ATTRIBUTES = [f"x{place}" for place in range(20)]
#: Events passed to scikit-learn at once.
BATCH = 512


class Outcome(NamedTuple):
    """The number of events, and of wrong predictions."""

    events: int
    errors: int


class Timed(NamedTuple):
    """Events per second of a whole process and of the loop in it, and its error rate."""

    whole: float
    loop: float
    error: float


#: Processes a file of events, after the required imports.
Run = Callable[[Path], Outcome]


def events_of(path: Path) -> Iterator[tuple[dict[str, float], bool]]:
    """Events and their labels."""
    with path.open("rb") as file:
        for line in file:
            x = orjson.loads(line)
            yield x, x.pop("y") == 1


def river(imputing: bool) -> Run:
    """river's logistic regression, in which missing values add nothing, or are imputed by running means."""
    from river import compose, linear_model, preprocessing, stats

    model: Any = linear_model.LogisticRegression()
    if imputing:
        absent = dict.fromkeys(ATTRIBUTES)
        imputer = preprocessing.StatImputer(*((name, stats.Mean()) for name in ATTRIBUTES))
        complete = compose.FuncTransformer(absent.__or__) | imputer
        model = complete | preprocessing.StandardScaler() | model

    def run(path: Path) -> Outcome:
        events = errors = 0
        for x, y in events_of(path):
            errors += (model.predict_proba_one(x)[True] > 0.5) != y
            model.learn_one(x, y)
            events += 1
        return Outcome(events, errors)

    return run


def sklearn() -> Run:
    """scikit-learn in batches, with 0 for missing values, and an indicator for each value."""
    import numpy as np
    from sklearn.linear_model import SGDClassifier

    model = SGDClassifier(loss="log_loss", random_state=0)

    def run(path: Path) -> Outcome:
        stream = events_of(path)
        events = errors = 0
        while batch := list(islice(stream, BATCH)):
            values = np.array([[x.get(name, np.nan) for name in ATTRIBUTES] for x, _ in batch])
            present = ~np.isnan(values)
            features = np.hstack([np.where(present, values, 0.0), present])
            labels = np.array([y for _, y in batch])
            # Before the first batch it cannot predict, which counts as False.
            errors += int((model.predict(features) != labels).sum() if events else labels.sum())
            model.partial_fit(features, labels, classes=[False, True])
            events += len(batch)
        return Outcome(events, errors)

    return run


def vw(options: str) -> Run:
    """Vowpal Wabbit's driver."""
    from vowpalwabbit import Workspace

    def run(path: Path) -> Outcome:
        # With --binary, the reported loss is the error rate; the loss for learning is unchanged.
        text = path.with_suffix(".vw")
        workspace = Workspace(f"--quiet --loss_function logistic --binary -d {text} {options}")
        return Outcome(round(workspace.get_weighted_examples()), round(workspace.get_sum_loss()))

    return run


def write_vw(path: Path) -> None:
    """Write the events in Vowpal Wabbit's format: values in the namespace x, indicators in m."""
    with path.with_suffix(".vw").open("w") as file:
        for x, y in events_of(path):
            values = " ".join(f"{name}:{value}" for name, value in x.items())
            file.write(f"{1 if y else -1} |x {values} |m {' '.join(x)}\n")


#: Each with the package it requires. ``-q xm`` gives each value a weight for every attribute that may be
#: observed with it, which is the feature space of the explicit learner with gamma 2.
PEERS: dict[str, tuple[str, Callable[[], Run]]] = {
    RIVER: ("river", lambda: river(imputing=False)),
    "river imputing": ("river", lambda: river(imputing=True)),
    VW_LINEAR: ("vowpalwabbit", lambda: vw("")),
    VW: ("vowpalwabbit", lambda: vw("-q xm")),
    "sklearn SGD": ("sklearn", sklearn),
}

#: Options of ``streamkarma learn``.
OURS = {
    "explicit": "--learner explicit --gamma 2 --workers 1",
    "explicit, written": "--learner explicit --gamma 2 --workers 1 --predictions {path}.predictions",
    "explicit, 2 workers": "--learner explicit --gamma 2 --workers 2",
    "karma 512": "--budget 512 --workers 1",
    "karma 512, 2 workers": "--budget 512 --workers 2",
    "subspace": "--learner subspace --workers 1",
    "auto": "--learner auto --workers 1",
    "auto, 2 workers": "--learner auto --workers 2",
}


def installed() -> Iterator[str]:
    """The installed tools; the others are named on stderr."""
    yield from OURS
    for name, (module, _) in PEERS.items():
        if find_spec(module):
            yield name
        else:
            print(f"{name} is left out: {module} is not installed", file=sys.stderr)


def places(tool: str) -> tuple[str, ...]:
    """The places where a tool is timed: with one core, with all cores, or, for comparison, both."""
    if tool.endswith("workers"):
        return (ALL,)
    return (ONE, ALL) if tool in (RIVER, VW) else (ONE,)


def command(tool: str, path: Path, summary: Path) -> list[str]:
    """The command that processes the events of a file and writes a summary."""
    if tool in PEERS:
        return [sys.executable, __file__, tool, str(path), str(summary)]
    options = [word.format(path=path) for word in OURS[tool].split()]
    quiet = [] if "--predictions" in options else ["--no-predictions"]
    learn = [sys.executable, "-m", "streamkarma", "learn", str(path), "--quiet", *quiet]
    return [*learn, "--summary", str(summary), *options]


def main(tool: str, path: Path, summary: Path) -> None:
    """Run a tool: this is the process that is timed."""
    _, make = PEERS[tool]
    run = make()
    begin = time.perf_counter()
    outcome = run(path)
    seconds = time.perf_counter() - begin
    error = outcome.errors / outcome.events
    summary.write_text(json.dumps({"seconds": seconds, "metrics": {"error_rate": error}}))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("tool", choices=PEERS)
    parser.add_argument("events", type=Path, help="JSON lines, or Vowpal Wabbit's format for vw")
    parser.add_argument("summary", type=Path, help="JSON file to write")
    given = parser.parse_args()
    if not given.events.is_file():
        parser.error(f"there is no file {given.events}")
    main(given.tool, given.events, given.summary)
