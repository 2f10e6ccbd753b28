"""Are values missing completely at random? The tests of ``baselines.mcar`` on a sample of the stream."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from streamkarma.arrays import Floats
from streamkarma.baselines.mcar_resampling import MCARTest, resampled_test, target_columns, without_attribute
from streamkarma.profile.summaries import squarable

#: Maximum rows, attributes, and categories of each; permutations of the targets; attributes used as targets.
ROWS, _ATTRIBUTES, _CATEGORIES, _PERMUTATIONS, _TARGETS = 1000, 50, 8, 499, 6
#: Significance level, divided by the number of tests.
LEVEL = 0.05


def tests(
    rows: Sequence[Mapping[str, Any]], names: Sequence[str], labels: Sequence[Any] | None
) -> list[dict[str, Any]]:
    """Run the tests.

    Parameters
    ----------
    rows
        Events.
    names
        Attributes to test, the most important first.
    labels
        Labels of the events, floats or classes; None if there are none.

    Returns
    -------
    For each test what is predicted (``of``: the label or an attribute), whether by missingness alone or
    ``beyond`` the observed values, the statistic and the p-value.
    """
    names = names[:_ATTRIBUTES]
    X, of = coded(rows, names)
    missing = [any(name not in row for row in rows) for name in names]
    if not any(missing) or len(rows) < 10:
        return []
    found = []
    if labels is not None and len(set(labels)) > 1:
        y = np.array(labels)
        y = squarable(y) if y.dtype == np.float64 else y
        for given in ("nothing", "values"):
            found.append(_row("the label", given, _tested(X, of, target_columns(y), given)))
    for at, name in enumerate(names[:_TARGETS]):
        others = [each for j, each in enumerate(missing) if j != at]
        if sum(name in row for row in rows) >= 10 and any(others):
            having, targets = without_attribute(X, of, at)
            found.append(_row(name, "nothing", _tested(having, of[of != at], targets, "nothing")))
    for each in found:
        each["significant"] = each["p_value"] <= max(LEVEL / len(found), 1.0 / (_PERMUTATIONS + 1))
    return found


def _tested(X: Floats, of: NDArray[np.int64], targets: Floats, given: str) -> MCARTest:
    return resampled_test(X, of, targets, given, _PERMUTATIONS, np.random.RandomState(0))


def _row(of: str, given: str, result: MCARTest) -> dict[str, Any]:
    return {
        "of": of,
        "beyond": given == "values",
        "statistic": result.statistic,
        "p_value": result.p_value,
    }


def coded(rows: Sequence[Mapping[str, Any]], names: Sequence[str]) -> tuple[Floats, NDArray[np.int64]]:
    """Rows as numbers, NaN for missing values, and the attribute of each column.

    Each of the most frequent categories has a column of 0 and 1.

    Examples
    --------
    >>> X, of = coded([{"a": 1.5, "b": "x"}, {"b": "y"}], ["a", "b"])
    >>> X.tolist(), of.tolist()
    ([[1.5, 1.0, 0.0], [nan, 0.0, 1.0]], [0, 1, 1])
    """
    columns, of = [], []
    for at, name in enumerate(names):
        values = [row.get(name) for row in rows]
        texts = Counter(value for value in values if isinstance(value, str))
        if any(isinstance(value, (int, float)) for value in values):
            numbers = [float(v) if isinstance(v, (int, float)) else np.nan for v in values]
            columns.append(squarable(np.array(numbers)).tolist())
            of.append(at)
            continue
        # Lists, and attributes that no row has: one column, observed or missing.
        for text, _ in texts.most_common(_CATEGORIES) or [("", 0)]:
            columns.append([np.nan if v is None else float(v == text) for v in values])
            of.append(at)
    return np.array(columns, np.float64).T, np.array(of, np.int64)
