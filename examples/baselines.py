"""Compare the offline methods of the papers on one data set.

By default, this is scikit-learn's wine data with half of the values withheld at random; or use your own table
(the last column is the label, empty cells are missing). All errors are on held-out folds, and each method
chooses its settings on the other folds.

    python examples/baselines.py
    python examples/baselines.py --csv FILE --withhold 0
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import click
import numpy as np
from sklearn.datasets import load_wine
from sklearn.model_selection import StratifiedKFold
from tables import read

from streamkarma.baselines import REGISTRY, mcar_test, named
from streamkarma.baselines.registry import BINARY, MULTICLASS


def wine(seed: int) -> tuple[np.ndarray, np.ndarray]:
    """The wine data in random order: it is sorted by class, which neighbouring rows would reveal."""
    X, y = load_wine(return_X_y=True)
    order = np.random.default_rng(seed).permutation(len(y))
    return X[order], y[order]


def held_out(name: str, X: np.ndarray, y: np.ndarray, whole: np.ndarray, folds: int) -> tuple[Any, ...]:
    """The error on each fold, and the total seconds for fitting and predicting."""
    entry = REGISTRY[name]
    rows = whole if entry.oracle else X
    task = BINARY if len(np.unique(y)) == 2 else MULTICLASS
    errors, fitting, predicting = [], 0.0, 0.0
    for rest, fold in StratifiedKFold(folds, shuffle=True, random_state=0).split(X, y):
        began = time.perf_counter()
        model = entry.make(task).fit(rows[rest], y[rest])
        fitted = time.perf_counter()
        errors.append(1.0 - model.score(rows[fold], y[fold]))
        fitting += fitted - began
        predicting += time.perf_counter() - fitted
    return np.array(errors), fitting, predicting


@click.command()
@click.option(
    "--csv", type=click.Path(exists=True, dir_okay=False, path_type=Path), help="A table of your own."
)
@click.option(
    "--withhold",
    type=click.FloatRange(0, 1, max_open=True),
    default=0.5,
    show_default=True,
    help="Share of the values taken away at random.",
)
@click.option("--folds", type=click.IntRange(min=2), default=5, show_default=True)
@click.option("--only", help="Names of baselines, comma-separated.")
@click.option("--seed", type=int, default=0, show_default=True)
def main(csv: Path | None, withhold: float, folds: int, only: str | None, seed: int) -> None:
    """Print the held-out error of each offline method."""
    # projection-full needs the true subspace, which is unknown here.
    names = only.split(",") if only else [name for name in REGISTRY if name != "projection-full"]
    try:
        tuple(map(named, names))
    except ValueError as error:
        raise click.BadParameter(str(error), param_hint="--only") from error
    whole, y = wine(seed) if csv is None else read(csv)
    X = np.where(np.random.default_rng(seed).random(whole.shape) < withhold, np.nan, whole)
    print(
        f"{len(X)} rows, {X.shape[1]} columns, {np.isnan(X).mean():.0%} missing, {len(np.unique(y))} classes"
    )
    for given, beside in (("values", "in addition to the values"), ("nothing", "on its own")):
        found = mcar_test(X, y, given=given, permutations=199, random_state=seed)
        share, p_value = found.statistic, found.p_value
        print(f"does missingness predict the label {beside}? explained {share:.3f}, p = {p_value:.3f}")
    print()
    print(f"{'baseline':<20}{'error':>8}{'± s.e.':>9}{'fit':>9}{'predict':>9}  what it does")
    for name in names:
        if REGISTRY[name].oracle and np.isnan(whole).any():
            print(f"{name:<20}       –  the table has no complete rows to show it")
            continue
        try:
            errors, fitting, predicting = held_out(name, X, y, whole, folds)
        except ValueError as reason:
            print(f"{name:<20}       –  {reason}")
            continue
        spread = errors.std(ddof=1) / np.sqrt(folds)
        print(f"{name:<20}{errors.mean():>8.3f}{spread:>9.3f}{fitting:>8.1f}s{predicting:>8.1f}s"
              f"  {REGISTRY[name].summary}", flush=True)  # fmt: skip


if __name__ == "__main__":
    main()
