"""WII: a decision function and a distribution over imputations, optimised together [D].

Among all distributions over completions of the table, a finite one is optimal [D, Theorem 1]. Each completion
has a kernel matrix, and the machine uses their weighted mean.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from streamkarma.arrays import Floats
from streamkarma.baselines.base import BaselineClassifier, BaselineRegressor
from streamkarma.baselines.priors import Prior, PriorBaseline, Problem
from streamkarma.baselines.progress import Progress
from streamkarma.baselines.tuning import REPEATS, Choice, Holdout
from streamkarma.baselines.wii_search import Imputations, Search


class _WII(PriorBaseline):
    def __init__(
        self,
        prior: str = "gauss",
        C: Choice = None,
        gamma: float | Sequence[float] = 1.0,
        width: Choice = None,
        max_iter: int = 50,
        restarts: int = 1,
        tol: float = 1e-5,
        scale: bool = True,
        random_state: Any = 0,
        verbose: bool = False,
    ) -> None:
        self.prior = prior
        self.C = C
        self.gamma = gamma
        self.width = width
        self.max_iter = max_iter
        self.restarts = restarts
        self.tol = tol
        self.scale = scale
        self.random_state = random_state
        self.verbose = verbose

    def _learn(self, X: Floats, Y: Floats, weights: Floats | None) -> None:
        gammas = self._gammas()
        rng = self._rng()
        problem = self._problem(X, Y, rng)
        self._choose_kernel(problem, rng)
        trials = REPEATS * len(gammas) if len(gammas) > 1 else 0
        progress = Progress(self._say, (trials + 1) * Y.shape[1] * self.max_iter, "steps done at most")

        def trial(gamma: float, rest: NDArray[Any], quarter: NDArray[Any]) -> Floats:
            prior, found = self._searched(problem, rest, gamma, rng, progress)
            return self._scored(prior, found, problem.X[quarter])

        holdout = Holdout(problem.Y, self._squared, rng, criterion=self.criterion)
        self.gamma_ = holdout.best(gammas, gammas[0], trial)
        everything = np.arange(len(X))
        self._prior, self.imputations_ = self._searched(problem, everything, self.gamma_, rng, progress)
        self._mean = problem.mean
        self.n_iter_ = max(len(found.objectives) for found in self.imputations_)

    def _gammas(self) -> tuple[float, ...]:
        given = tuple(float(each) for each in np.atleast_1d(np.asarray(self.gamma, dtype=np.float64)))
        if not given or not all(0 <= each < np.inf for each in given):
            raise ValueError(
                f"gamma must be a number of 0 or more, or several to choose from, not {self.gamma}"
            )
        return given

    def _searched(
        self,
        problem: Problem,
        rows: NDArray[Any],
        gamma: float,
        rng: np.random.RandomState,
        progress: Progress,
    ) -> tuple[Prior, list[Imputations]]:
        """The prior learned from some rows, and the search on them for each column of targets."""
        prior = problem.prior(self.prior, self.width_, rows)
        found = []
        for y in problem.Y[rows].T:
            done = progress.done
            search = Search(
                problem.X[rows],
                y,
                prior.completed,
                squared=self._squared,
                C=self.C_,
                gamma=gamma,
                width=self.width_,
                rng=rng,
            )
            found.append(search.run(self.max_iter, self.restarts, self.tol, progress.step))
            # A search that ended early skips its remaining steps.
            progress.reach(done + self.max_iter)
        return prior, found

    def _scored(self, prior: Prior, found: list[Imputations], X: Floats) -> Floats:
        points = prior.points(X)
        return np.column_stack([imputations.scores(points, self.width_) for imputations in found])

    def _scores(self, X: Floats) -> Floats:
        return self._scored(self._prior, self.imputations_, self._scaler(X)) + self._mean


class InfiniteImputationsClassifier(_WII, BaselineClassifier):
    """Weighted infinite imputations with a support vector machine.

    ``min over f and p of ½‖f‖² + C (Σ_i max(0, 1 - y_i f(x_i)) + gamma Q(p))``, with the kernel ``∫ K(ω)
    dp(ω)`` over completions ω of the table, and ``Q^sq(p) = ∫ Σ_i ‖φ(ω_i) - φ(ω̂_i)‖² dp``, where ω̂ is a
    prior imputation [D, Optimization Problem 3, sections 5.1 and 5.2]. The machine has an intercept. [D]'s
    Algorithm 1 repeatedly looks for a completion that lowers the objective, by gradient ascent (L-BFGS),
    first from ω̂, then from the completion added last, then from random ones, and finds its weight β by an
    exact line search, until there is none.

    Parameters
    ----------
    prior
        ``"mean"`` (column means), ``"class-mean"`` (column means per class; [D]'s MeanInput is one of these
        two), ``"gauss"`` (a Gaussian by EM), ``"gmm"`` (ten spherical ones) or ``"meanfeat"`` (the mean in
        feature space, see ``MeanFeatImputer``).
    C
        Weight of the losses and Q, above 0; a sequence, or None for 0.01 … 100, to choose from on random
        held-out quarters, with the plain machine on the prior's completion. The prior is learned without each
        quarter, whose rows are completed without their labels.
    gamma
        Weight of Q against the losses, 0 or more; with a large gamma only the prior is left. The best of a
        sequence is chosen on held-out quarters, after width and C, which is expensive: three searches for
        each value.
    width
        Width of the RBF kernel ``exp(-width ‖x - x'‖²)``, above 0; a sequence to choose from together
        with C; None for 0.1 / d or 1 / d.
    max_iter
        Maximum number of completions added for each column of labels. [D] saw fewer than 50, 30 to 40 on
        average, with an accuracy that stabilises after about 5.
    restarts
        Number of ascents from random completions, with values drawn from the data, if the others found
        nothing better.
    tol
        The search ends when no completion lowers the objective by more than this fraction.
    scale
        Standardise each column by its observed values first.
    random_state
        Seed of everything drawn.
    verbose
        Print each step on standard error, with an upper estimate of the remaining time.

    Attributes
    ----------
    imputations_
        One ``Imputations`` per column of labels (one for two classes): tables, weights, the decision
        function, and the objective at each step.
    C_, width_, gamma_
        The values given or chosen.
    n_iter_
        Largest number of completions tried for a column, including the prior's.

    Notes
    -----
    In the constants of [D], ``1/η = C``, and the weight of Q is ``C · gamma`` (there the losses have weight
    1/η, and Q is outside). In the regression, whose losses have weight 1 in [D], ``η = 1 / (2 C)``, and the
    weight of Q is ``gamma``.

    The imputation uses labels, so new rows cannot be imputed in the same way; in [D] they are complete. Here
    the prior imputes them without a label. If more than n + 2 completions have weight, they are reduced to
    that number by the argument of [D, Theorem 1]. Three classes or more are handled one against the rest,
    with one prior.

    Equal rows (at least all rows without any value) are completed alike, and learned as one row with their
    number as its weight. A support vector machine does not determine how equal rows share a coefficient; if a
    few have all of it, a completion appears to gain from these few what the others immediately take over, and
    the algorithm stops early.

    References
    ----------
    [D] Dick, Haider, Scheffer: Learning from Incomplete Data with Infinite Imputations,
    ICML 2008.

    Examples
    --------
    >>> X = np.array([[1.0, np.nan], [2.0, 1.0], [-1.0, -1.0], [np.nan, -2.0]])
    >>> model = InfiniteImputationsClassifier("mean", C=1.0).fit(X, [1, 1, 0, 0])
    >>> model.predict([[1.5, np.nan]])
    array([1])
    """


class InfiniteImputationsRegressor(_WII, BaselineRegressor):
    """Weighted infinite imputations with kernel ridge regression.

    The losses are ``(y_i - f(x_i))²``; otherwise as ``InfiniteImputationsClassifier``. For the priors that
    use labels, ``"class-mean"`` and ``"meanfeat"``, all rows count as one class.

    Parameters
    ----------
    prior, C, gamma, width, max_iter, restarts, tol, scale, random_state, verbose
        As in ``InfiniteImputationsClassifier``.
    intercept
        Subtract the mean of the targets first, and add it to the predictions. [D]'s kernel
        ridge regression has no intercept.

    Examples
    --------
    >>> X = np.array([[1.0, 1.0], [2.0, np.nan], [-1.0, -1.0], [np.nan, -2.0]])
    >>> model = InfiniteImputationsRegressor("mean", C=1e3, gamma=1.0).fit(X, [2.0, 4.0, -2.0, -4.0])
    >>> model.predict([[1.0, 1.0]]).round(1)
    array([2.])
    """

    def __init__(
        self,
        prior: str = "gauss",
        C: Choice = None,
        gamma: float | Sequence[float] = 1.0,
        width: Choice = None,
        max_iter: int = 50,
        restarts: int = 1,
        tol: float = 1e-5,
        scale: bool = True,
        intercept: bool = False,
        random_state: Any = 0,
        verbose: bool = False,
    ) -> None:
        super().__init__(prior, C, gamma, width, max_iter, restarts, tol, scale, random_state, verbose)
        self.intercept = intercept
