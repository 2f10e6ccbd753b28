"""Run ``streamkarma learn`` with its defaults on a folder of binary streams, and print a table.

The folder has streams NAME.jsonl.gz, with one JSON object per line, missing attributes absent, and the label
``y`` 0 or 1.

    python examples/haphazard.py FOLDER
"""

from __future__ import annotations

import json
import subprocess
import sys
from math import nan
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import click

SUFFIX = ".jsonl.gz"
METRICS = ("balanced_accuracy", "auc", "log_loss")


def learn(stream: Path) -> dict[str, Any]:
    """Run the program on a stream; returns its summary."""
    with TemporaryDirectory() as folder:
        summary = Path(folder, "summary.json")
        options = ["--no-predictions", "--quiet", "--summary", str(summary)]
        subprocess.run([sys.executable, "-m", "streamkarma", "learn", str(stream), *options], check=True)
        result: dict[str, Any] = json.loads(summary.read_bytes())
    return result


@click.command()
@click.argument("folder", type=click.Path(exists=True, file_okay=False, path_type=Path))
def main(folder: Path) -> None:
    """Print how well each stream of FOLDER is predicted, every event before it is learned."""
    streams = sorted(folder.glob(f"*{SUFFIX}"))
    if not streams:
        raise click.UsageError(f"there is no *{SUFFIX} in {folder}")
    print(f"{'stream':<16}{'events':>10}{'balanced accuracy':>20}{'AUC':>9}{'log loss':>11}")
    for stream in streams:
        summary = learn(stream)
        if summary["task"] != "binary":
            raise click.ClickException(f"{stream}: the label is not binary")
        # A metric is absent if it is undefined for the stream, such as the AUC of a single class.
        figures = {name: summary["metrics"].get(name, nan) for name in METRICS}
        print(
            f"{stream.name.removesuffix(SUFFIX):<16}{summary['events']:>10,}"
            f"{100 * figures['balanced_accuracy']:>19.2f}%{figures['auc']:>9.4f}{figures['log_loss']:>11.4f}",
            flush=True,
        )


if __name__ == "__main__":
    main()
