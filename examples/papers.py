"""Reproduce two rows of Table 1 of the KARMA paper: batch KARMA and 0-imputation.

The error on a held-out quarter of the rows, averaged over five repetitions of four quarters; γ and C are
chosen on the other three. It exits with 1 if a result differs by more than 0.01 from the paper's.

    python examples/papers.py FOLDER      # with mammographic.csv and wisconsin.csv in it
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click
import numpy as np
from sklearn.model_selection import StratifiedKFold
from tables import read

from streamkarma.baselines import BatchKARMAClassifier, ImputedClassifier

#: Hazan, Livni, Mansour 2015, Table 1: error of KARMA and of 0-imputation.
PUBLISHED = {"mammographic": (0.17, 0.17), "wisconsin": (0.03, 0.03)}

SYSTEMS: dict[str, Any] = {
    "karma-batch": BatchKARMAClassifier(),
    "zero": ImputedClassifier("zero"),
}


@click.command()
@click.argument("folder", type=click.Path(exists=True, file_okay=False, path_type=Path))
def main(folder: Path) -> None:
    """Print errors beside the paper's; FOLDER has the tables, with labels in the last column."""
    for table in PUBLISHED:
        if not (folder / f"{table}.csv").is_file():
            raise click.UsageError(f"there is no {table}.csv in {folder}")
    worst = 0.0
    for table, published in PUBLISHED.items():
        X, y = read(folder / f"{table}.csv")
        for (name, model), paper in zip(SYSTEMS.items(), published, strict=True):
            errors = [
                1.0 - model.fit(X[rest], y[rest]).score(X[fold], y[fold])
                for seed in range(5)
                for rest, fold in StratifiedKFold(4, shuffle=True, random_state=seed).split(X, y)
            ]
            error = float(np.mean(errors))
            worst = max(worst, abs(error - paper))
            print(f"{table:<14}{name:<14}{error:.4f}   paper {paper:.2f}", flush=True)
    sys.exit(0 if worst <= 0.01 else 1)


if __name__ == "__main__":
    main()
