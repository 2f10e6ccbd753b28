"""The search for weighted imputations: Algorithm 1 of [D], for one column of targets."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq, minimize
from sklearn import config_context
from sklearn.metrics.pairwise import rbf_kernel

from streamkarma.arrays import Floats
from streamkarma.baselines.priors import Decision

#: Smaller weights are dropped as rounding errors of unused completions.
LEAST_WEIGHT = 1e-8

#: Maximum number of steps of one gradient ascent: any better completion suffices, not only the best.
ASCENT = 20


@dataclass
class Imputations:
    """A decision function over weighted completions.

    Attributes
    ----------
    tables
        The completions, arrays of shape (n, d).
    weights
        β, above 0, with sum 1.
    c, b
        Coefficients of the decision function, and its intercept.
    objectives
        The objective, before the first step and after each.
    converged
        Whether the search ended because there was no better completion.
    """

    tables: list[Floats]
    weights: Floats
    c: Floats
    b: float
    objectives: list[float]
    converged: bool

    def scores(self, X: Floats, width: float) -> Floats:
        """The decision function for complete rows [D, Equation 4]."""
        rows = np.flatnonzero(self.c)
        scores = np.full(len(X), self.b)
        if not len(rows):
            return scores
        for weight, table in zip(self.weights, self.tables, strict=True):
            scores += weight * (rbf_kernel(X, table[rows], gamma=width) @ self.c[rows])
        return scores


@dataclass
class ImputationMixture:
    """The state of the search: weighted completions, their kernel matrix and Q, and the best decision."""

    K: Floats
    Q: float
    decision: Decision


class Search:
    """[D]'s Algorithm 1.

    Parameters
    ----------
    X, y
        The incomplete table, scaled, and its targets.
    completed
        The prior's completion ω̂, where the search starts.
    squared, C, gamma, width
        As in ``InfiniteImputationsClassifier``.
    rng
        Draws completions for restarts.
    """

    def __init__(
        self,
        X: Floats,
        y: Floats,
        completed: Floats,
        *,
        squared: bool,
        C: float,
        gamma: float,
        width: float,
        rng: np.random.RandomState,
    ) -> None:
        self.squared, self.C, self.width = squared, C, width
        self.strength = C * gamma
        self.rng = rng
        self.drawn_from = X
        # Equal rows are learned as one, with their number as its weight. (Rows with the same values that the
        # prior completes differently, by their labels, are not equal.)
        keys = np.column_stack([np.isnan(X), completed, y])
        _, first, groups, counts = np.unique(
            keys, axis=0, return_index=True, return_inverse=True, return_counts=True
        )
        order = np.argsort(first)
        self.group = np.argsort(order)[groups.ravel()]
        self.count = counts[order].astype(np.float64)
        self.X, self.y, self.completed = (each[first[order]] for each in (X, y, completed))
        self.missing = np.isnan(self.X)

    def run(self, max_iter: int, restarts: int, tol: float, report: Callable[[str], None]) -> Imputations:
        """Add completions until none lowers the objective by more than the fraction ``tol``."""
        # There are thousands of small fits, and validation would take a third of the time.
        with config_context(assume_finite=True, skip_parameter_validation=True):
            return self._run(max_iter, restarts, tol, report)

    def _run(self, max_iter: int, restarts: int, tol: float, report: Callable[[str], None]) -> Imputations:
        tables, weights = [self.completed], np.ones(1)
        now = self._mixture(tables, weights)
        objectives = [self._objective(now)]
        converged = not self.missing.any()
        for _ in range(0 if converged else max_iter):
            found = self._step(now, tables[-1], restarts, tol * abs(objectives[-1]))
            if found is None:
                converged = True
                break
            new, beta, now = found
            tables, weights = _pruned([*tables, new], np.append((1 - beta) * weights, beta))
            objectives.append(self._objective(now))
            report(f"objective {objectives[-1]:.6g}, {len(tables)} completions")
            if len(tables) > len(self.X) + 2:
                tables, weights = self._reduced(tables, weights, now.decision.c)
                now = self._mixture(tables, weights)
        # Equal rows share their coefficient.
        c = (now.decision.c / self.count)[self.group]
        tables = [table[self.group] for table in tables]
        return Imputations(tables, weights, c, now.decision.b, objectives, converged)

    def _mixture(self, tables: list[Floats], weights: Floats) -> ImputationMixture:
        pairs = list(zip(weights, tables, strict=True))
        K = np.asarray(sum(weight * self._kernel(table) for weight, table in pairs))
        return ImputationMixture(
            K, sum(weight * self._distance(table) for weight, table in pairs), self._decision(K)
        )

    def _objective(self, at: ImputationMixture) -> float:
        return at.decision.value + self.strength * at.Q

    def _kernel(self, table: Floats) -> Floats:
        return np.asarray(rbf_kernel(table, gamma=self.width))

    def _distance(self, table: Floats) -> float:
        """Q^sq [D, section 5.2]: the sum over rows of ‖φ(x) - φ(ω̂)‖²."""
        away = table - self.completed
        return 2.0 * float(self.count @ (1.0 - np.exp(-self.width * (away * away).sum(axis=1))))

    def _decision(self, K: Floats) -> Decision:
        return Decision.of(K, self.y, self.C * self.count, self.squared)

    def _step(
        self, now: ImputationMixture, last: Floats, restarts: int, least: float
    ) -> tuple[Floats, float, ImputationMixture] | None:
        """A completion that lowers the objective by more than ``least``, its weight, and the new state.

        Step 2 of the algorithm accepts any such completion. Gradient ascent is tried from the prior's
        completion, then from the one added last, then from random ones; the first success is taken.
        """
        c, objective = now.decision.c, self._objective(now)
        so_far = 0.5 * float(c @ now.K @ c) - self.strength * now.Q
        for start in self._starts(last, restarts):
            for gain, table in self._ascended(c, start):
                # The objective is convex in the weight: it falls by no more than its initial slope.
                if gain - so_far <= least:
                    break
                beta, mixed = self._line(now, self._kernel(table), self._distance(table))
                if objective - self._objective(mixed) > least:
                    return table, beta, mixed
        return None

    def _starts(self, last: Floats, restarts: int) -> Iterator[Floats]:
        yield self.completed
        if last is not self.completed:
            yield last
        for _ in range(restarts):
            yield self._drawn()

    def _drawn(self) -> Floats:
        """A completion with values drawn from the observed values of each column."""
        table = self.completed.copy()
        for lacking, cells, values in zip(self.missing.T, table.T, self.drawn_from.T, strict=True):
            observed = values[~np.isnan(values)]
            if len(observed):
                cells[lacking] = self.rng.choice(observed, lacking.sum())
        return table

    def _ascended(self, c: Floats, start: Floats) -> Iterator[tuple[float, Floats]]:
        """Completions along the path of gradient ascent with their gains, the last and steepest first.

        The decrease of the objective also depends on its curvature: if the steepest completion fails, one
        nearer to the start may succeed.
        """
        # Rows with coefficient 0 have no gradient: the prior is best for them.
        rows = np.flatnonzero(c)
        missing = self.missing[rows]
        if not missing.any():
            return
        part = start[rows]

        def loss(values: Floats) -> tuple[float, Floats]:
            part[missing] = values
            gain, slope = self._gain(c[rows], part, rows)
            return -gain, -slope[missing]

        passed: list[tuple[float, Floats]] = []

        def keep(intermediate_result: Any) -> None:
            passed.append((-float(intermediate_result.fun), np.array(intermediate_result.x)))

        minimize(loss, part[missing], jac=True, method="L-BFGS-B", options={"maxiter": ASCENT}, callback=keep)
        # The last one, the one after half as many steps, and so on.
        step = len(passed)
        while step > 0:
            gain, values = passed[step - 1]
            part[missing] = values
            table = self.completed.copy()
            table[rows] = part
            yield gain, table
            step //= 2

    def _gain(self, c: Floats, table: Floats, rows: NDArray[np.intp]) -> tuple[float, Floats]:
        """The rate at which weight on a completion lowers the objective, and its gradient in the completion.

        The completion differs from the prior's only in ``rows``, whose coefficients and values are in ``c``
        and ``table``; all other rows have coefficient 0.
        """
        pulls = c[:, np.newaxis] * self._kernel(table) * c
        sums = pulls.sum(axis=1)
        away = table - self.completed[rows]
        near = np.exp(-self.width * (away * away).sum(axis=1))
        gain = 0.5 * float(sums.sum()) - 2.0 * self.strength * float(self.count[rows] @ (1.0 - near))
        slope = pulls @ table - sums[:, np.newaxis] * table
        slope -= 2.0 * self.strength * (self.count[rows] * near)[:, np.newaxis] * away
        return gain, 2.0 * self.width * slope

    def _line(self, now: ImputationMixture, K: Floats, Q: float) -> tuple[float, ImputationMixture]:
        """The weight of a new completion that minimises the objective, and the resulting mixture.

        The objective is convex in the weight, and its slope follows from the best decision function there;
        this finds the root of the slope.
        """
        found: dict[float, ImputationMixture] = {0.0: now}

        def slope(beta: float) -> float:
            if beta not in found:
                mixed = (1 - beta) * now.K + beta * K
                found[beta] = ImputationMixture(mixed, (1 - beta) * now.Q + beta * Q, self._decision(mixed))
            c = found[beta].decision.c
            return -0.5 * float(c @ (K - now.K) @ c) + self.strength * (Q - now.Q)

        if slope(0.0) >= 0:
            return 0.0, now
        beta = 1.0 if slope(1.0) <= 0 else float(brentq(slope, 0.0, 1.0, xtol=1e-6, rtol=1e-2))
        slope(beta)
        return beta, found[beta]

    def _reduced(self, tables: list[Floats], weights: Floats, c: Floats) -> tuple[list[Floats], Floats]:
        """At most n + 2 completions with the same scores and the same Q [D, Theorem 1]."""
        while len(tables) > len(self.X) + 2:
            columns = [np.append(self._kernel(table) @ c, [self._distance(table), 1.0]) for table in tables]
            direction = np.linalg.svd(np.array(columns).T)[2][-1]
            ratios = np.where(direction > 0, weights / np.where(direction > 0, direction, 1.0), np.inf)
            weights = weights - ratios.min() * direction
            weights[ratios.argmin()] = 0.0
            tables, weights = _pruned(tables, weights)
        return tables, weights


def _pruned(tables: list[Floats], weights: Floats) -> tuple[list[Floats], Floats]:
    kept = np.flatnonzero(weights > LEAST_WEIGHT)
    return [tables[i] for i in kept], weights[kept] / weights[kept].sum()
