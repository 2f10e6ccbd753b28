"""The number of events that KARMA needs to be within ε of the best complete-data linear model [H, Thm 1].

[H] Hazan, Livni, Mansour: Classification with Low Rank and Missing Data, ICML 2015.

λ is a lower bound on the positive eigenvalues of every Q_oo, for which [H, Lemma 2] holds: the square
of the λ of [H, Def. 1, item 4]. See ``core.theory``.
"""

from __future__ import annotations

import math
from fractions import Fraction
from numbers import Integral
from typing import Any

from streamkarma.errors import UsageError
from streamkarma.parameters.kinds import as_float
from streamkarma.printable import shown


def truncation_error(lam: float, gamma: int) -> float:
    """(1-λ)^γ/λ: the maximum distance between f^γ and f_{w,Q}, for ‖w_o‖ and ‖x_o‖ up to 1 [H, Lemma 2].

    Parameters
    ----------
    lam
        λ, above 0 and at most 1.
    gamma
        Order, 1 or more.

    Returns
    -------
    The bound, 0 or more.

    Raises
    ------
    UsageError
        A ValueError: a parameter is out of its range.

    Examples
    --------
    >>> truncation_error(0.25, 2)
    2.25
    """
    lam = _regularity(lam)
    return math.pow(1.0 - lam, as_float(_whole("gamma", gamma))) / lam


def sufficient_order(epsilon: float, L: float, lam: float) -> int:
    """γ(ε): the smallest integer not below log(2L/(λε))/λ, and at least 1 [H, Thm 1].

    With it, the ``truncation_error`` costs at most ε/2 in the loss, and the other half of ε is left for
    learning from a sample.

    Parameters
    ----------
    epsilon
        ε, the excess loss allowed, above 0.
    L
        Lipschitz constant of the loss, above 0.
    lam
        λ, above 0 and at most 1.

    Returns
    -------
    The order.

    Raises
    ------
    UsageError
        A ValueError: a parameter is out of its range.

    Examples
    --------
    >>> sufficient_order(epsilon=0.1, L=1, lam=0.5)
    8
    """
    lam, epsilon, L = _regularity(lam), _positive("epsilon", epsilon), _positive("L", L)
    # The quotient may overflow, its logarithm does not.
    logarithm = math.log(2.0) + math.log(L) - math.log(lam) - math.log(epsilon)
    return max(1, math.ceil(Fraction(logarithm) / Fraction(lam)))


def feature_dimension(d: int, gamma: int) -> int:
    """Γ = d + d² + … + d^γ: the number of features of φ_γ, one for each sequence [H, Thm 2].

    Parameters
    ----------
    d
        Attributes, 1 or more.
    gamma
        Order, 1 or more.

    Returns
    -------
    The number of features.

    Raises
    ------
    UsageError
        A ValueError: a parameter is out of its range.

    Examples
    --------
    >>> feature_dimension(3, 2)
    12
    """
    d, gamma = _whole("d", d), _whole("gamma", gamma)
    return gamma if d == 1 else (d ** (gamma + 1) - d) // (d - 1)


def sample_size(epsilon: float, delta: float, d: int, L: float, lam: float) -> int:
    """L² Γ(ε)² log(1/δ) / ε², rounded up: events for a loss within ε with probability 1 - δ [H, Thm 1].

    The theorem gives the order of this number but not its constant, which is 1 here. Γ(ε) is the number of
    features of order γ(ε).

    Parameters
    ----------
    epsilon
        ε, above 0.
    delta
        δ, between 0 and 1.
    d
        Attributes, 1 or more.
    L
        Lipschitz constant of the loss, above 0.
    lam
        λ, above 0 and at most 1.

    Returns
    -------
    The number of events.

    Raises
    ------
    UsageError
        A ValueError: a parameter is out of its range.

    Examples
    --------
    >>> f"{sample_size(epsilon=0.5, delta=0.05, d=20, L=1, lam=0.5):,}"
    '135,961,348,735,776'
    """
    if not 0.0 < as_float(delta) < 1.0:
        raise UsageError(f"delta must be between 0 and 1, not {shown(delta)}")
    features = feature_dimension(d, sufficient_order(epsilon, L, lam))
    ratio = Fraction(as_float(L)) / Fraction(as_float(epsilon))
    return math.ceil((ratio * features) ** 2 * Fraction(-math.log(as_float(delta))))


def _regularity(lam: Any) -> float:
    if not 0.0 < as_float(lam) <= 1.0:
        raise UsageError(f"lam must be above 0 and at most 1, not {shown(lam)}")
    return as_float(lam)


def _positive(name: str, value: Any) -> float:
    if not 0.0 < as_float(value) < math.inf:
        raise UsageError(f"{name} must be above 0, not {shown(value)}")
    return as_float(value)


def _whole(name: str, value: Any) -> int:
    """``value`` as a Python integer, since NumPy's would overflow."""
    is_whole = isinstance(value, Integral) or as_float(value).is_integer()
    if not is_whole or value < 1:
        raise UsageError(f"{name} must be a whole number from 1 on, not {shown(value)}")
    return int(value)
