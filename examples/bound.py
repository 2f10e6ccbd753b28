"""Is the regret under its bound, and does it fall? Algorithm 1 on low-rank streams, with complete vectors.

    python examples/bound.py [--events 8192] [--seeds 5] [--plot bound.png]

For γ = 1 … 4 and several seeds, it runs `streamkarma regret` with steps of 1/(ρt), ρ = 0.001 and no budget,
on streams with half of 20 attributes observed (rank 5, 5 % of the labels flipped). After 256, 512, … events
it computes the average regret against the best linear classifier on the complete vectors, and its bound by
[H, Thm 3]. It exits with 1 if the regret exceeds the bound or does not decrease.

[H] Hazan, Livni, Mansour: Classification with Low Rank and Missing Data, ICML 2015.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import click
import numpy as np
from arguments import COUNT, Example, picture

GAMMAS = (1, 2, 3, 4)
STREAM = ["--attributes", "20", "--rank", "5", "--observed", "0.5", "--noise", "0.05", "--full"]


def streamkarma(*arguments: str, **more: Any) -> None:
    """Run the command line."""
    subprocess.run([sys.executable, "-m", "streamkarma", *arguments], check=True, **more)


def course(stream: Path, gamma: int) -> tuple[list[int], list[float], list[float]]:
    """Events, average regret against the best classifier on complete vectors, and its bound."""
    report = stream.with_suffix(".json")
    paper = ["--gamma", str(gamma), "--rho", "0.001", "--budget", "0"]
    streamkarma("regret", str(stream), "--full", "full", "--baselines", "zero", *paper,
                "--regret-seconds", "600", "--json", str(report), stdout=subprocess.DEVNULL)  # fmt: skip
    rows = json.loads(report.read_text())["learners"]["karma"]["regret"]
    events: list[int] = []
    regrets: list[float] = []
    bounds: list[float] = []
    for oracle, rival in zip(rows["full"], rows["projection-full"], strict=True):
        events.append(oracle["events"])
        regrets.append(oracle["regret_per_event"])
        bounds.append((rival["bound"]["ceiling"] - oracle["baseline_loss"]) / oracle["events"])
    return events, regrets, bounds


def draw(found: dict[int, list[tuple[list[int], list[float], list[float]]]], path: str) -> None:
    """Draw one panel per γ: the regret for every seed, and the smallest bound."""
    from matplotlib.figure import Figure

    sheet = Figure(figsize=(7, 2.2), dpi=200, layout="constrained")
    panels = sheet.subplots(1, len(found), sharex=True, sharey=True)
    for panel, (gamma, runs) in zip(panels, found.items(), strict=True):
        for events, regret, _ in runs:
            panel.plot(events, regret, color="#0072b2", linewidth=0.8)
        events, least = runs[0][0], np.min([bound for _, _, bound in runs], axis=0)
        panel.plot(events, least, color="black", linestyle="--")
        panel.set(title=f"γ = {gamma}", xscale="log", yscale="log", xlabel="events")
        panel.set_xticks([256, 1024, 4096], ["256", "1,024", "4,096"])
        panel.set_yticks([0.1, 1, 10], ["0.1", "1", "10"])
        panel.minorticks_off()
    panels[0].set_ylabel("average regret")
    panels[-1].annotate("bound", (events[-3], least[-3]), (0, 6), textcoords="offset points")
    sheet.savefig(path)


@click.command(cls=Example, help=__doc__.splitlines()[0])
@click.option(
    "--events", type=click.IntRange(min=256), default=8192, show_default=True, help="Events of a stream."
)
@click.option("--seeds", type=COUNT, default=5, show_default=True, help="Streams for each γ.")
@click.option("--plot", metavar="FILE", callback=picture, help="Draw it.")
def main(events: int, seeds: int, plot: str | None) -> None:
    found: dict[int, list[tuple[list[int], list[float], list[float]]]] = {gamma: [] for gamma in GAMMAS}
    holds = True
    with tempfile.TemporaryDirectory() as folder:
        for seed in range(seeds):
            stream = Path(folder, f"{seed}.jsonl")
            with stream.open("w") as file:
                size = ["--events", str(events), "--seed", str(seed)]
                streamkarma("generate", "lowrank", *STREAM, *size, stdout=file)
            for gamma in GAMMAS:
                counts, regret, bound = course(stream, gamma)
                found[gamma].append((counts, regret, bound))
                falls = bool(np.all(np.diff(regret) < 0))
                under = bool(np.all(np.array(regret) < bound))
                holds &= falls and under
                shown = " ".join(f"{value:.3f}" for value in regret)
                print(f"seed {seed}  γ {gamma}  regret {shown}  bound {bound[0]:.1f} … {bound[-1]:.1f}  "
                      f"falls {falls}  under {under}", flush=True)  # fmt: skip
    if plot:
        draw(found, plot)
    sys.exit(not holds)


if __name__ == "__main__":
    main()
