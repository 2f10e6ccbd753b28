"""Make values of a stream of JSON lines wrong, as broken sensors and careless exports do.

    streamkarma generate lowrank --events 60000 | python examples/spoil.py outliers | streamkarma learn

``outliers``: one value in a thousand is multiplied by 10³ to 10⁸. ``sentinels``: one value in twenty is
replaced by -9999. ``strings``: every number becomes a string. ``nothing``: the stream as it is.
"""

from __future__ import annotations

import json
import random
import sys

import click


def spoilt(value: float, kind: str, rng: random.Random) -> float | str:
    """What becomes of a number."""
    if kind == "outliers" and rng.random() < 0.001:
        return float(value * 10.0 ** rng.uniform(3.0, 8.0))
    if kind == "sentinels" and rng.random() < 0.05:
        return -9999.0
    return str(value) if kind == "strings" else value


@click.command()
@click.argument("kind", type=click.Choice(["nothing", "outliers", "sentinels", "strings"]))
@click.option("--target", default="y", show_default=True, help="The label, which is left as it is.")
@click.option("--seed", default=0, show_default=True, help="The same seed, the same bytes.")
def main(kind: str, target: str, seed: int) -> None:
    """Read JSON lines from standard input and write them, with wrong values, to standard output."""
    rng = random.Random(seed)
    for line in sys.stdin:
        record = json.loads(line)
        for name, value in record.items():
            if name != target and isinstance(value, (int, float)):
                record[name] = spoilt(value, kind, rng)
        sys.stdout.write(json.dumps(record) + "\n")


if __name__ == "__main__":
    main()
