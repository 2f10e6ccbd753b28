"""The baselines by short name, with their tasks and costs.

Importing this module imports none of them; ``Entry.make`` does.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

BINARY, MULTICLASS, REGRESSION = "binary", "multiclass", "regression"
_CLASSES = frozenset({BINARY, MULTICLASS})
_ALL = _CLASSES | {REGRESSION}


@dataclass(frozen=True)
class Entry:
    """One baseline.

    Parameters
    ----------
    name
        Its short name.
    summary
        A one-line description.
    source
        The paper: [H], [D], [S], [M], or the authors.
    module, stem
        The module of its classes, and the prefix of their names, ``stem + "Classifier"`` and ``stem +
        "Regressor"``.
    tasks
        Some of ``"binary"``, ``"multiclass"``, ``"regression"``.
    cost
        Complexity of ``fit``, for n rows and d columns.
    transductive
        Whether predicting learns from the rows to be predicted.
    oracle
        Whether it needs complete vectors, as rows or to know the subspace (``projection-full``, which needs
        ``subspace``).
    linear
        Whether it predicts by a linear machine with as many weights as columns, or a mean of several. Such a
        method cannot memorise, so that its loss in hindsight is meaningful; the loss of others may be 0.
    settings
        Parameters of the class that the name implies.

    Examples
    --------
    >>> REGISTRY["mcb"].cost, REGISTRY["mcb"].transductive, sorted(REGISTRY["geom"].tasks)
    ('n d²', True, ['binary', 'multiclass'])
    """

    name: str
    summary: str
    source: str
    module: str
    stem: str
    tasks: frozenset[str]
    cost: str
    transductive: bool = False
    oracle: bool = False
    linear: bool = False
    settings: dict[str, Any] = field(default_factory=dict)

    def make(self, task: str, **settings: Any) -> Any:
        """A new estimator for a task.

        Parameters
        ----------
        task
            ``"binary"``, ``"multiclass"`` or ``"regression"``.
        settings
            Parameters of the estimator, which override those implied by the name.

        Returns
        -------
        An estimator of scikit-learn's interface, not fitted yet.

        Raises
        ------
        ValueError
            For a task that it does not support.

        Examples
        --------
        >>> named("wii-mean").make("binary", C=1.0)
        InfiniteImputationsClassifier(C=1.0, prior='mean')
        """
        if task not in self.tasks:
            raise ValueError(f"{self.name} is for {', '.join(sorted(self.tasks))}, not for {task}")
        kind = "Regressor" if task == REGRESSION else "Classifier"
        made = getattr(import_module(f"streamkarma.baselines.{self.module}"), self.stem + kind)
        return made(**{**self.settings, **settings})


def _imputed(name: str, summary: str, source: str, cost: str, imputer: str) -> Entry:
    return Entry(
        name, summary, source, "imputed", "Imputed", _ALL, cost, linear=True, settings={"imputer": imputer}
    )


def _wii(prior: str, summary: str) -> Entry:
    return Entry(
        f"wii-{prior}",
        f"weighted infinite imputations, from {summary}",
        "[D]",
        "wii",
        "InfiniteImputations",
        _ALL,
        "n² d + n³",
        settings={"prior": prior},
    )


_ENTRIES = (
    _imputed("zero", "0 after normalising, linear machine (KARMA with γ = 1)", "[H]", "n d", "zero"),
    _imputed("mean", "the column's mean, linear machine", "[D], [M]", "n d", "mean"),
    Entry(
        "class-mean",
        "while training, the mean of the class, linear machine",
        "[D]",
        "imputed",
        "Imputed",
        _CLASSES,
        "n d",
        linear=True,
        settings={"imputer": "class-mean"},
    ),
    _imputed("median", "the column's median, linear machine", "[M]", "n d", "median"),
    Entry(
        "complete-case",
        "only rows with nothing missing",
        "[M]",
        "imputed",
        "Deleted",
        _ALL,
        "n d",
        linear=True,
        settings={"drop": "rows"},
    ),
    Entry(
        "feature-deletion",
        "only columns with nothing missing",
        "[M]",
        "imputed",
        "Deleted",
        _ALL,
        "n d",
        linear=True,
        settings={"drop": "columns"},
    ),
    Entry(
        "karma-batch",
        "KARMA's kernel, hinge (Crammer–Singer) or kernel ridge",
        "[H]",
        "karma",
        "BatchKARMA",
        _ALL,
        "n² d + n³",
    ),
    Entry(
        "full",
        "the oracle: linear machine on complete vectors",
        "[H]",
        "imputed",
        "FullData",
        _ALL,
        "n d",
        oracle=True,
        linear=True,
    ),
    Entry(
        "projection",
        "f_{w,Q}: subspace by iterated SVD, linear machine over it",
        "[H, Def. 2]",
        "projection",
        "Projection",
        _ALL,
        "n d² + p d³",
        linear=True,
    ),
    Entry(
        "projection-full",
        "f_{w,Q*}: the true subspace, from complete vectors",
        "[H, Def. 2]",
        "projection",
        "Projection",
        _ALL,
        "n d² + p d³",
        oracle=True,
        linear=True,
    ),
    Entry(
        "mc1",
        "matrix completion with labels, bias as a column of ones",
        "Goldberg et al. 2010",
        "completion",
        "MC1",
        _ALL,
        "n d²",
        transductive=True,
    ),
    Entry(
        "mcb",
        "matrix completion with labels, bias outside",
        "Goldberg et al. 2010",
        "completion",
        "MCB",
        _ALL,
        "n d²",
        transductive=True,
    ),
    Entry(
        "geom",
        "margin in each row's own subspace",
        "Chechik et al. 2008",
        "geom",
        "GeometricMargin",
        _CLASSES,
        "n² d",
    ),
    _imputed("gauss", "conditional mean of a Gaussian by EM, linear machine", "[D]", "n d² + p d³", "gauss"),
    _imputed("gmm", "conditional mean of ten spherical Gaussians, linear machine", "[D]", "n d", "gmm"),
    Entry(
        "meanfeat",
        "while training, nearest to the class's mean in feature space",
        "[D, Def. 1]",
        "meanfeat",
        "MeanFeat",
        _ALL,
        "n² d + n³",
    ),
    _wii("mean", "the mean"),
    _wii("class-mean", "the mean of each class"),
    _wii("gauss", "a Gaussian"),
    _wii("gmm", "ten spherical Gaussians"),
    _wii("meanfeat", "the mean in feature space"),
    Entry(
        "genrbf",
        "RBF kernel between Gaussian points",
        "[S, Thm 3.1]",
        "genrbf",
        "GenRBF",
        _CLASSES,
        "n² d² + p² d³",
    ),
    Entry(
        "mice",
        "multiple imputation by chained equations",
        "[S]",
        "chained",
        "ChainedEquations",
        _ALL,
        "m n d³",
        linear=True,
    ),
    _imputed(
        "iterated-regression",
        "each column regressed on the others, until settled",
        "[M]",
        "n d³",
        "regression",
    ),
    Entry(
        "knn",
        "nearest neighbours over what both rows have",
        "[M]",
        "neighbors",
        "PairwiseNeighbors",
        _ALL,
        "n² d",
    ),
    _imputed("svd", "iterated SVD, uncentred and unscaled", "[M]", "n d²", "svd"),
    _imputed("interpolation", "between neighbouring rows, in their order", "[M]", "n d", "interpolation"),
    Entry(
        "trees", "random forest, 'missing' as a value", "[M]", "trees", "MissingValueTrees", _ALL, "n log n d"
    ),
)

#: All baselines by name, in the order of the documentation. p is the number of missingness patterns, m the
#: number of imputations.
REGISTRY: dict[str, Entry] = {entry.name: entry for entry in _ENTRIES}


def named(name: str) -> Entry:
    """The baseline of that name.

    Parameters
    ----------
    name
        A name in ``REGISTRY``.

    Returns
    -------
    The baseline.

    Raises
    ------
    ValueError
        For an unknown name; the message lists the known ones.

    Examples
    --------
    >>> named("mcb").transductive
    True
    """
    if name not in REGISTRY:
        raise ValueError(f"no baseline is called {name!r}; there are {', '.join(REGISTRY)}")
    return REGISTRY[name]
