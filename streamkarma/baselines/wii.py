"""WII: a decision function and a distribution over imputations, optimised together [D].

Of all distributions over completions of the table, a finite one is optimal [D, Theorem 1];
each completion has its kernel matrix, and the machine works with their weighted mean.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from streamkarma.baselines.base import BaselineClassifier, BaselineRegressor
from streamkarma.baselines.priors import Prior, PriorBaseline, Problem
from streamkarma.baselines.progress import Progress
from streamkarma.baselines.tables import Floats
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

        self.gamma_ = Holdout(problem.Y, self._squared, rng).best(gammas, gammas[0], trial)
        everything = np.arange(len(X))
        self._prior, self.imputations_ = self._searched(problem, everything, self.gamma_, rng, progress)
        self._mean = problem.mean
        self.n_iter_ = max(len(found.objectives) for found in self.imputations_)

    def _gammas(self) -> tuple[float, ...]:
        given = tuple(float(each) for each in np.atleast_1d(np.asarray(self.gamma, dtype=np.float64)))
        if not given or not all(0 <= each < np.inf for each in given):
            raise ValueError(f"gamma is a number of 0 or more, or several to choose from; not {self.gamma}")
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
            # A search that ended early has no more steps to come.
            progress.reach(done + self.max_iter)
        return prior, found

    def _scored(self, prior: Prior, found: list[Imputations], X: Floats) -> Floats:
        points = prior.points(X)
        return np.column_stack([imputations.scores(points, self.width_) for imputations in found])

    def _scores(self, X: Floats) -> Floats:
        return self._scored(self._prior, self.imputations_, self._scaler(X)) + self._mean


class InfiniteImputationsClassifier(_WII, BaselineClassifier):
    """Weighted infinite imputations with a support vector machine.

    ``min over f and p of ½‖f‖² + C (Σ_i max(0, 1 - y_i f(x_i)) + gamma Q(p))``, with the kernel
    ``∫ K(ω) dp(ω)`` over completions ω of the table, and ``Q^sq(p) = ∫ Σ_i ‖φ(ω_i) - φ(ω̂_i)‖² dp``,
    ω̂ given by a prior imputation [D, Optimization Problem 3, sections 5.1 and 5.2]. The machine
    has an intercept. [D]'s Algorithm 1: a completion that lowers the objective is sought by
    gradient ascent (L-BFGS), first from ω̂, then from the one added last, then from random ones;
    its weight β by an exact line search; and so on, until none is found.

    Parameters
    ----------
    prior
        ``"mean"`` (each column's), ``"class-mean"`` (each column's in each class; [D]'s MeanInput
        is one of these two), ``"gauss"`` (a Gaussian by EM), ``"gmm"`` (ten spherical ones) or
        ``"meanfeat"`` (the mean in feature space, see ``MeanFeatImputer``).
    C
        Weight of losses and Q, above 0; a sequence of such, or None for 0.01 … 100, to choose from
        on random quarters held out, by the plain machine on the prior's completion. The prior
        is learned without each quarter, whose rows are completed without their labels.
    gamma
        Weight of Q against the losses, 0 or more; as it grows, the prior is all that is left. A
        sequence is chosen from on held-out quarters, after width and C. That is expensive: three
        searches for each value.
    width
        Of the RBF kernel ``exp(-width ‖x - x'‖²)``, above 0; a sequence to choose from together
        with C; None for 0.1 / d or 1 / d.
    max_iter
        Most completions added, for each column of labels. [D] saw fewer than 50, 30 to 40 on
        average, and an accuracy that settles after about 5.
    restarts
        Ascents from random completions, with values drawn from the data, where the others found
        nothing better.
    tol
        The end comes when no completion is found that lowers the objective by more than this
        share of it.
    scale
        Standardise each column by its observed values first.
    random_state
        Seed of everything drawn.
    verbose
        Print each step on standard error, and how long the rest takes at most, by the pace so far.

    Attributes
    ----------
    imputations_
        One ``Imputations`` per column of labels (one for two classes): tables, weights, the
        decision function, and the objective's course.
    C_, width_, gamma_
        Those given or chosen.
    n_iter_
        Most completions tried for a column, the prior's included.

    Notes
    -----
    [D]'s constants: ``1/η = C``, and its weight of Q is ``C · gamma`` (the losses have weight
    1/η there, Q is outside). For the regression, whose losses have weight 1 in [D],
    ``η = 1 / (2 C)``, and its weight of Q is ``gamma``.

    The labels are seen while imputing, so new rows cannot be imputed in the same way; [D] has
    complete ones only. Here they are where the prior puts them without a label. Should more than
    n + 2 completions have weight, they are reduced to so many by the argument of
    [D, Theorem 1]. Three classes or more are one against the rest, from one prior.

    Rows that are equal (those without any value, at the least) are completed alike, and learned
    from as one with their number as its weight. A support vector machine leaves open how equal
    rows share a coefficient; where a few have it all, completions promise to gain from these
    few what the others take over at once, and the algorithm stops early.

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

    The losses are ``(y_i - f(x_i))²``; otherwise as ``InfiniteImputationsClassifier``. For the
    priors that see labels, ``"class-mean"`` and ``"meanfeat"``, all rows are of one class.

    Parameters
    ----------
    prior, C, gamma, width, max_iter, restarts, tol, scale, random_state, verbose
        As in ``InfiniteImputationsClassifier``.
    intercept
        Take the mean of the targets off first, and add it to what is predicted. [D]'s kernel
        ridge regression has no intercept.
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
