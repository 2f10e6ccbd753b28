"""Units in which columns spread by about 1, so that a weak penalty on weights is negligible for all."""

from __future__ import annotations

import numpy as np

from streamkarma.arrays import Floats
from streamkarma.baselines.tables import moments


def unit_of(spreads: Floats) -> Floats:
    """The units, powers of 2, in which columns spread by about 1, as ``losses.STRENGTH`` assumes.

    Where the spread is 0, or between 1/16 and 16, it is 1.

    Examples
    --------
    >>> unit_of(np.array([0.0, 0.9, 0.001, 1000.0])).tolist()
    [1.0, 1.0, 0.0009765625, 1024.0]
    """
    is_far = (spreads > 0.0) & ((spreads < 1.0 / 16.0) | (spreads > 16.0))
    return np.where(is_far, np.exp2(np.round(np.log2(np.where(is_far, spreads, 1.0)))), 1.0)


def near_units(X: Floats) -> Floats:
    """Columns in units in which their values spread by about 1, without moving zero.

    Those of a learner that standardises are left as they are.
    """
    # Without zeros, a category's column is constant.
    varied = np.where(X == 0.0, np.nan, X)
    largest = np.nanmax(np.abs(varied), axis=0, initial=0.0)
    is_constant = np.nanmin(varied, axis=0, initial=np.inf) >= np.nanmax(varied, axis=0, initial=-np.inf)
    return np.asarray(X / unit_of(np.where(is_constant, largest, moments(varied)[1])))
