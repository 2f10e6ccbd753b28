"""The best linear predictor in hindsight for the squared loss, from sufficient statistics.

With u = (1, z, o) for an event (z the values, 0 where missing; o the indicators of observed values), the sums
of u u', u y and y² determine, at any time and in constant memory, the loss of the best linear predictor on
imputed events: 0-imputation sees z; mean imputation sees z + m∘(1 - o), which is linear in u once the means m
are known, and the sums determine these as well.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from streamkarma._engine import add_outer_products
from streamkarma.arrays import Arrays, Floats
from streamkarma.checkpoint import checked_float, natural
from streamkarma.events.block import Block
from streamkarma.events.reservoir import ERROR, LOSS, TARGET, WEIGHT
from streamkarma.regret.losses import STRENGTH
from streamkarma.regret.units import unit_of

#: The baselines covered.
NAMES = ("zero", "mean")

#: Maximum number of coordinates; the sums for more would take over 130 MB.
MOST = 2000


def added(total: float, values: Floats) -> float:
    """``total`` plus the values, added sequentially so that the result does not depend on the blocks."""
    return float(np.cumsum(np.append(total, values))[-1])


class SufficientStats:
    """Sums over events, by coordinate; new coordinates may appear at any time.

    Attributes
    ----------
    owners
        Shape (k,): the attribute of each coordinate, -1 for coordinates not seen.
    origin
        The first target, which is subtracted from all: squares of numbers far from 0 leave no digits for the
        loss.
    matrix
        Shape (2k + 2, 2k + 2): sums of w v v' with v = (1, y - origin, z_1, o_1, z_2, o_2, …).
    learner
        The learner's loss.
    events
        Number of events summed.
    closed
        Whether there were too many coordinates, so that there is no result.
    """

    def __init__(self) -> None:
        self.origin = 0.0
        self.matrix = np.zeros((2, 2))
        self.owners = np.zeros(0, np.int32)
        self.learner = 0.0
        self.error = 0.0
        self.events = 0
        self.closed = False

    def add(self, block: Block, rows: NDArray[np.intp], facts: Floats) -> None:
        """Add events; see ``Reservoir.add``."""
        if not self.events:
            self.origin = float(facts[0, TARGET])
        self.events += len(rows)
        self.learner = added(self.learner, facts[:, LOSS])
        self.error = added(self.error, facts[:, WEIGHT] * facts[:, ERROR])
        if self.closed:
            return
        sizes = np.diff(block.starts)[rows]
        items = np.concatenate([np.arange(block.starts[r], block.starts[r + 1]) for r in rows])
        self._grow(block.coordinates[items], block.attributes[items])
        if self.closed:
            return
        V = np.zeros((len(rows), len(self.matrix)))
        V[:, 0], V[:, 1] = 1.0, facts[:, TARGET] - self.origin
        at = np.repeat(np.arange(len(rows)), sizes)
        # A category is also observed, as 0, in the columns of the attribute's other categories.
        attributes = block.attributes[items]
        most = max(int(self.owners.max(initial=0)), int(attributes.max(initial=0)))
        groups = np.zeros((len(rows), most + 2), np.bool_)
        groups[at, attributes] = True
        V[:, 3::2] = groups[:, self.owners]
        V[at, 2 + 2 * block.coordinates[items]] = block.values[items]
        # The learners' constant is the leading 1.
        V[:, 2:4] = 0.0
        add_outer_products(self.matrix, V, np.ascontiguousarray(facts[:, WEIGHT]))

    def _grow(self, coordinates: NDArray[np.int32], attributes: NDArray[np.int32]) -> None:
        known = len(self.owners)
        needed = int(coordinates.max(initial=-1)) + 1
        if needed > MOST:
            self.closed = True
            # What was there before depends on where this block began.
            self.matrix, self.owners = np.zeros((2, 2)), np.zeros(0, np.int32)
            return
        if needed > known:
            larger = np.zeros((2 + 2 * needed, 2 + 2 * needed))
            larger[: len(self.matrix), : len(self.matrix)] = self.matrix
            # -1 for coordinates not seen yet, and so never observed.
            owners = np.full(needed, -1, np.int32)
            owners[:known] = self.owners
            self.matrix, self.owners = larger, owners
        entered = np.flatnonzero(self.owners[coordinates] < 0)
        for coordinate, attribute in set(zip(coordinates[entered], attributes[entered], strict=True)):
            self._enter(int(coordinate), int(attribute))

    def _enter(self, coordinate: int, attribute: int) -> None:
        """Add a new coordinate: it was observed, as 0, whenever its attribute was."""
        siblings = np.flatnonzero(self.owners == attribute)
        if len(siblings):
            new, old = 3 + 2 * coordinate, 3 + 2 * int(siblings[0])
            self.matrix[new] = self.matrix[old]
            self.matrix[:, new] = self.matrix[:, old]
        self.owners[coordinate] = attribute

    @property
    def weight(self) -> float:
        """The sum of the weights."""
        return float(self.matrix[0, 0])

    def best(self, name: str) -> float:
        """The smallest sum of w (y - f)² over linear f on the imputed events.

        To be exact, the squared loss at the minimum of ``½‖w‖² + C Σ w (y - f)²``, with C so large that the
        penalty is negligible, in units of the coordinates' own spreads.
        """
        u = np.delete(self.matrix, 1, axis=0)
        G = np.delete(u, 1, axis=1)
        cross, total = u[:, 1], float(self.matrix[1, 1])
        k = len(self.owners)
        # From u = (1, z_1, o_1, …) to (1, Z_1, …): Z = z, or z + m - m o.
        T = np.zeros((k + 1, 2 * k + 1))
        T[0, 0] = 1.0
        T[np.arange(1, k + 1), np.arange(1, 2 * k + 1, 2)] = 1.0
        if name == "mean":
            seen = G[0, 2::2]
            means = np.where(seen > 0, G[0, 1::2] / np.where(seen > 0, seen, 1.0), 0.0)
            T[1:, 0] = means
            T[np.arange(1, k + 1), np.arange(2, 2 * k + 1, 2)] = -means
        A, c = T @ G @ T.T, T @ cross
        seen = np.maximum(G[0, 2::2], np.finfo(float).tiny)
        mean, square = G[0, 1::2] / seen, np.diag(G)[1::2] / seen
        varies = square - mean**2 > 1e-12 * square
        units = unit_of(np.sqrt(np.where(varies, square - mean**2, square)))
        if A[0, 0] == 0:
            return 0.0
        # Only ratios of weights count, as in the fits to stored events.
        penalty = np.append(0.0, 0.5 / STRENGTH * self.weight / self.events * units**2)
        # Unused columns have only a penalty.
        w = np.linalg.solve(A + np.diag(penalty), c)
        return max(0.0, total - 2 * float(w @ c) + float(w @ A @ w))

    def row(self, name: str) -> dict[str, Any]:
        """A row as in ``hindsight.evaluate_baseline``, without the results that require the events."""
        least = self.best(name)
        regret = self.learner - least
        return {
            "events": self.events,
            "weight": self.weight,
            "learner_loss": self.learner,
            "baseline_loss": least,
            "regret": regret,
            "regret_per_event": regret / (self.weight or 1.0),
            "exact": True,
            "standard_error": 0.0,
            "learner_error": self.error / (self.weight or 1.0),
            "error": None,
            "held_out_loss": None,
            "held_out_error": None,
            "held_out_standard_error": None,
        }

    def state(self) -> tuple[dict[str, Any], Arrays]:
        """The state, as JSON and arrays."""
        header = {
            "learner": self.learner,
            "error": self.error,
            "events": self.events,
            "closed": self.closed,
            "origin": self.origin,
        }
        return header, {"matrix": self.matrix, "owners": self.owners}

    @classmethod
    def restored(cls, header: dict[str, Any], arrays: Arrays) -> SufficientStats:
        """Restore a ``state``; ValueError if its parts are inconsistent."""
        stats = cls()
        stats.learner, stats.error = checked_float(header["learner"]), checked_float(header["error"])
        stats.events, stats.closed = natural(header["events"]), bool(header["closed"])
        # Absent from older files, whose sums are of the targets themselves.
        stats.origin = checked_float(header.get("origin", 0.0))
        stats.matrix, stats.owners = np.array(arrays["matrix"]), np.array(arrays["owners"])
        size = 2 + 2 * len(stats.owners)
        # No attribute has a higher index than its first coordinate.
        sound = (
            stats.matrix.dtype == np.float64
            and (stats.owners.dtype == np.int32 and stats.owners.ndim == 1)
            and bool(np.isfinite(stats.matrix).all())
            and len(stats.owners) <= MOST
            and bool(((stats.owners >= -1) & (stats.owners <= np.arange(len(stats.owners)))).all())
        )
        if not sound or stats.matrix.shape != ((2, 2) if stats.closed else (size, size)):
            raise ValueError("the statistics stored for the regret are inconsistent")
        return stats
