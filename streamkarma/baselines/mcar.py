"""The supervised test for values missing completely at random of [M, Section 16.1.2]."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import assert_all_finite, check_array, check_random_state
from sklearn.utils.validation import check_consistent_length, column_or_1d

from streamkarma.baselines.mcar_resampling import MCARTest, resampled_test, target_columns, without_attribute


def mcar_test(
    X: ArrayLike,
    y: ArrayLike | None = None,
    *,
    attribute: int | None = None,
    attributes: ArrayLike | None = None,
    given: str = "values",
    permutations: int = 999,
    random_state: Any = 0,
) -> MCARTest:
    """Test whether 'missing' predicts the label, or the values of an attribute.

    As in the lecture, 'missing' is an additional category of each attribute: a ridge regression of the target
    on it and the observed values is compared with one on the observed values alone, by leave-one-out errors.

    Parameters
    ----------
    X
        Array of shape (n, d), NaN for missing values; at least three rows.
    y
        Array of shape (n,): labels. Floats are targets of a regression; integers, strings and booleans are
        classes.
    attribute
        Instead of ``y``: index of the attribute whose values are the target, over the rows in which it is
        observed; the others predict it.
    attributes
        Array of shape (d,): index of the attribute of each column, as in ``EventCoder.attributes_``: the
        categories of a string are missing together and share one 'missing'. None, the default, if each column
        is its own.
    given
        What the model uses besides 'missing'. ``"values"``, the default, as in the lecture: the observed
        values. ``"nothing"``: to test whether missingness alone is informative about the target.
    permutations
        Number of resampled targets, 1 or more; the smallest p-value is 1 / (permutations + 1).
    random_state
        Seed of the resampling.

    Returns
    -------
    ``MCARTest``. If no column is missing in only some of the rows, or the target is constant, the statistic
    is 0 and the p-value 1.

    Raises
    ------
    ValueError
        Unless exactly one of ``y`` and ``attribute`` is given; for an unknown ``attribute`` or ``given``;
        with too few rows.

    Notes
    -----
    ``"nothing"`` also detects missingness that depends on observed values (missing at random), if the target
    depends on the same values. With ``"values"``, such a dependence goes undetected as far as it is linear in
    the values; any remaining effect indicates a dependence on *unobserved* values. Either is evidence against
    MCAR. No test can detect a dependence on missing values that leaves no trace in the target.

    The lecture calls for some supervised learner; with a linear one, every resampling is a product with the
    same matrix. It cannot detect what only a combination of attributes reveals.

    Values are standardised and imputed by their mean. This includes the 0 and 1 of categories: with 0 in all
    of them, 'missing' would be the absence of all categories, and so already be in the model of the values.

    With ``"nothing"``, targets are permuted, which is exact. With ``"values"``, the leave-one-out residuals
    of the model of the values are not permuted, but their signs are flipped at random (a wild bootstrap):
    where a value matters, rows that lack it have larger residuals, and permuting these would make p-values
    spuriously small. The p-values are asymptotic. They are somewhat too small if an attribute that nearly
    determines the target lacks a third of its values or more, and too large, with little power, if there are
    about as many columns as rows.

    References
    ----------
    [M] Mackey, STATS 306B, lecture 16.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> y = rng.integers(0, 2, 200)
    >>> X = rng.standard_normal((200, 3))
    >>> X[y == 1, 0] = np.nan  # never there when the label is 1
    >>> mcar_test(X, y).p_value
    0.001

    Missing where another attribute is large, which already contains all information about the target:

    >>> X = rng.standard_normal((200, 2))
    >>> target = X[:, 0] + rng.standard_normal(200)
    >>> X[X[:, 0] > 0.5, 1] = np.nan
    >>> mcar_test(X, target, given="nothing").p_value
    0.001
    >>> mcar_test(X, target).p_value > 0.05
    True
    """
    rows = check_array(X, dtype=np.float64, ensure_all_finite="allow-nan", ensure_min_samples=3)
    if (y is None) == (attribute is None):
        raise ValueError("mcar_test needs either labels y or the number of an attribute")
    if given not in ("values", "nothing"):
        raise ValueError(f"given must be 'values' or 'nothing', not {given!r}")
    if permutations < 1:
        raise ValueError(f"permutations must be 1 or more, not {permutations}")
    of = _attributes(attributes, rows.shape[1])
    if attribute is not None:
        rows, targets = without_attribute(rows, of, attribute)
        of = of[of != attribute]
    else:
        labels = column_or_1d(y)
        assert_all_finite(labels, input_name="y")
        check_consistent_length(rows, labels)
        targets = target_columns(labels)
    return resampled_test(rows, of, targets, given, permutations, check_random_state(random_state))


def _attributes(attributes: ArrayLike | None, d: int) -> NDArray[Any]:
    """Index of each column's attribute."""
    of = np.arange(d) if attributes is None else np.asarray(attributes)
    if of.shape != (d,):
        raise ValueError(
            f"attributes must have one entry for each of the {d} columns, not the shape {of.shape}"
        )
    return of
