"""A baseline fitted for a loss, in hindsight or held out.

If the baseline's machine minimises the loss being compared, its scores are used unchanged. In hindsight it is
then fitted almost without regularisation: it is the best of its class. Held out, it is regularised as anyone
would who has to predict new events: every fit chooses its C, by the loss being compared, on quarters held out
of its own rows. In classification, the scores of any other baseline are calibrated by the affine map (one per
column) with the smallest loss on the same rows (held out: on the other folds), so that a support vector
machine is not penalised for having no probabilities; scores beyond those of these rows count as the outermost
of them. In regression, and for the hinge loss with more than two classes, they are used unchanged.

A class without rows in a fit has no scores of its own. In hindsight no row needs them; held out, it is scored
as the rarest class that could have remained unseen.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from streamkarma.arrays import Floats
from streamkarma.baselines.base import WeightedClassifier, WeightedRegressor
from streamkarma.baselines.imputed import imputer_named
from streamkarma.baselines.machines import Decided, Linear, Machine
from streamkarma.baselines.registry import Entry
from streamkarma.regret.calibration import Calibration
from streamkarma.regret.losses import STRENGTH, pointwise_loss

FOLDS = 5

#: The machine that minimises each loss; the multiclass hinge has its own.
MACHINES = {"logistic": "logistic", "hinge": "svm", "squared": "ridge"}
HINGE_OF_SEVERAL = "crammer-singer"

#: The values of C that a held-out fit chooses from: in small steps where few rows have their best, and up to
#: almost no regularisation, which is best for many.
GRID = (1e-3, 1e-2, 3e-2, 0.1, 0.3, 1.0, 10.0, STRENGTH)

#: A fitted baseline: from rows to scores of shape (n, m).
Scores = Callable[[Floats], Floats]

#: How far the scores of a class without rows are below the others, in hindsight.
NEVER = 1e3


class Fit:
    """One baseline, fitted for a loss; see the module docstring.

    Parameters
    ----------
    entry
        Its entry in the registry.
    task, loss
        As in ``hindsight.evaluate_baseline``.
    attributes
        The attribute of each column.
    columns
        Scores per row.
    """

    def __init__(
        self, entry: Entry, task: str, loss: str, attributes: NDArray[np.int64], columns: int
    ) -> None:
        self.entry, self.task, self.loss, self.columns = entry, task, loss, columns
        known = entry.make(task).get_params()
        self.matched = "machine" in known and loss in MACHINES
        self.settings: dict[str, Any] = {}
        #: Those of held-out fits that differ.
        self.held_out_settings: dict[str, Any] = {}
        if "machine" in known:
            # With the hinge loss, the last takes by far the longest, and is hardly better than the others.
            self.held_out_settings["C"] = GRID[:-1] if loss == "hinge" else GRID
        if "scale" in known:
            # Events are already standardised by the learner; complete vectors are not.
            self.settings["scale"] = entry.oracle
        if "attributes" in known:
            self.settings["attributes"] = attributes
        if self.matched:
            # Deletion is fitted to only part of the rows, so it cannot be the best of its class on all of
            # them.
            if entry.name == "zero":
                # The constant feature becomes an unpenalised intercept, which makes it the best of its class.
                self.settings["imputer"] = imputer_named("zero")
            several = task == "multiclass" and loss == "hinge"
            self.settings["machine"] = HINGE_OF_SEVERAL if several else MACHINES[loss]
            self.settings["C"] = None if entry.stem == "Deleted" else STRENGTH
        if "intercept" in known:
            # A comparator does best on centred targets.
            self.settings["intercept"] = True

    def hindsight(self, X: Floats, y: Floats, weights: Floats | None = None) -> Floats:
        """Scores of the rows it is fitted to; ``weights`` of their losses, None for 1 each."""
        raw = self._raw(X, y, weights)(X)
        return self._complete(self._link(raw, y, weights)(raw), raw, NEVER)

    def linear(self) -> tuple[Floats | None, float]:
        """Weights and intercept of the last fit, for binary tasks and linear machines; else None."""
        # Chained equations have several machines, and no single weight vector.
        machine = getattr(self.model, "machine_", None)
        if machine is None or not self.matched or self.task != "binary":
            return None, 0.0
        match machine.columns[0]:
            case Linear(w, b):
                return w, b - float(w @ machine.centre)
            case Decided(classifier):
                w = classifier.coef_[0]
                return w, float(classifier.intercept_[0]) - float(w @ machine.centre)
        return None, 0.0

    def held_out(self, X: Floats, y: Floats, weights: Floats | None = None) -> Floats | None:
        """Scores of each row from a fit without its fold; None if there are too few rows."""
        if len(y) < 2 * FOLDS:
            return None
        fold = self._folds(y)
        raw = np.empty((len(y), self.columns))

        def of(rows: NDArray[np.bool_]) -> Floats | None:
            return None if weights is None else weights[rows]

        for number in range(FOLDS):
            rest, part = fold != number, fold == number
            raw[part] = self._raw(X[rest], y[rest], of(rest), held_out=True)(X[part])
        held = np.empty_like(raw)
        for number in range(FOLDS):
            # Calibrated on held-out scores, because those of the training rows are too good.
            rest, part = fold != number, fold == number
            scores = self._link(raw[rest], y[rest], of(rest))(raw[part])
            # Laplace's rule: as likely as if one additional row had been of an unseen class.
            held[part] = self._complete(scores, raw[part], float(np.log1p(rest.sum())))
        return held

    def _folds(self, y: Floats) -> NDArray[np.intp]:
        """The fold of each row, at random, with each class spread evenly over the folds.

        Otherwise a fit lacks just those labels of which its fold has too many. The calibration, which sees
        the scores of all folds, would learn to infer labels from that.
        """
        order = np.random.RandomState(0).permutation(len(y))
        if self.task != "regression":
            order = order[np.argsort(y[order], kind="stable")]
        folds = np.empty(len(y), np.intp)
        folds[order] = np.arange(len(y)) % FOLDS
        return folds

    def _raw(self, X: Floats, y: Floats, weights: Floats | None, held_out: bool = False) -> Scores:
        """Fit the baseline, weighted if it supports weights; returns a function that computes its scores."""
        settings = {**self.settings, **self.held_out_settings} if held_out else self.settings
        self.model = model = self.entry.make(self.task, **settings)
        if held_out and (self.matched or self.task == "regression"):
            # Other scores of classes are calibrated, and say nothing about the loss before that.
            model.criterion = partial(pointwise_loss, self.loss)
        targets = y if self.task == "regression" else y.astype(np.int64)
        if weights is not None and isinstance(model, (WeightedClassifier, WeightedRegressor)):
            model.fit(X, targets, weights)
        else:
            model.fit(X, targets)
        if self.task == "regression":
            return lambda rows: np.asarray(model.predict(rows))[:, np.newaxis]
        return lambda rows: self._by_class(np.asarray(model.decision_function(rows)), model.classes_)

    def _by_class(self, scores: Floats, classes: NDArray[Any]) -> Floats:
        """Scores in the order of all classes, infinite for classes that the fit did not have."""
        if self.task == "binary":
            only = np.inf if classes[0] == 1 else -np.inf
            return scores[:, np.newaxis] if len(classes) == 2 else np.full((len(scores), 1), only)
        if scores.ndim == 1:
            two = np.column_stack([-scores / 2, scores / 2])
            scores = two if len(classes) == 2 else scores[:, np.newaxis]
        every = np.full((len(scores), self.columns), -np.inf)
        every[:, classes] = scores
        return every

    def _complete(self, scores: Floats, raw: Floats, odds: float) -> Floats:
        """Fill in the scores of classes that the fit did not have.

        Parameters
        ----------
        scores, raw
            Scores with and without calibration, shape (n, m); ``raw`` is infinite for missing classes.
        odds
            The log-odds against such a class in the logistic loss. In the hinge loss the margin is 1.
        """
        unknown = np.isinf(raw)
        if not unknown.any():
            return scores
        below = odds if self.loss == "logistic" else 1.0
        if self.columns == 1:
            return np.where(unknown, np.sign(raw) * below, scores)
        others = np.where(unknown, -np.inf, scores)
        highest = others.max(axis=1, keepdims=True)
        if self.loss == "logistic":
            highest = highest + np.log(np.exp(others - highest).sum(axis=1, keepdims=True))
        return np.where(unknown, highest - below, others)

    def _link(self, scores: Floats, y: Floats, weights: Floats | None) -> Scores:
        """The affine map of scores with the smallest loss, with one slope and intercept per column."""
        classes = self.loss in ("logistic", "hinge")
        if self.matched or not classes or (self.columns > 1 and self.loss == "hinge"):
            return lambda rows: rows
        finite = np.isfinite(scores)
        known = finite.any(axis=0)
        lowest = np.where(known, np.where(finite, scores, np.inf).min(axis=0), -1.0)
        highest = np.where(known, np.where(finite, scores, -np.inf).max(axis=0), 1.0)

        def sure(rows: Floats) -> Floats:
            """Scores, but none beyond those that the map is fitted to.

            Each fold chooses its own C: where that of the others is tiny, so are their scores, and the slope
            that suits these would make a score of usual size certain.
            """
            return np.clip(rows, lowest, highest)

        if self.columns > 1:
            calibration = Calibration(sure(scores), y.astype(np.intp), weights)
            return lambda rows: calibration(sure(rows))
        targets = np.where(y == 1, 1.0, -1.0)[:, np.newaxis]
        machine = Machine(MACHINES[self.loss], STRENGTH).fit(sure(scores), targets, weights)
        return lambda rows: machine.scores(sure(rows))
