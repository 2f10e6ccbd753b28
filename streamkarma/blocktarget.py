"""A label that depends on which of three blocks of attributes are observed [H, section 5.1.2].

KARMA can express it with an order of 3 or more, 0-imputation (order 1) cannot.

[H] Hazan, Livni, Mansour: Classification with Low Rank and Missing Data, ICML 2015.
"""

from __future__ import annotations

from itertools import product

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def block_weights(basis: Floats, weights: Floats, groups: NDArray[np.int_]) -> Floats:
    """w^A for each block A of attributes, as columns, shape (D, blocks); 0 outside the block.

    [H] asks that each block by itself allows a classifier of large margin. Here all w^A stem from
    one w: w^A is the shortest with w^A·x = <w, x> on the subspace, and then its margin is that of
    w. If the block has fewer attributes than the subspace has dimensions there is none, and w^A is
    the closest in the mean square.

    Parameters
    ----------
    basis, weights
        Q of shape (D, R), and w of shape (D,).
    groups
        Shape (D,): the block of each attribute, 0, 1, …

    Examples
    --------
    >>> block_weights(np.array([[1.0], [2.0]]), np.array([1.0, 1.0]), np.array([0, 1])).tolist()
    [[3.0, 0.0], [0.0, 1.5]]
    """
    found = np.zeros((len(basis), groups[-1] + 1))
    for block in range(groups[-1] + 1):
        inside = groups == block
        found[inside, block] = np.linalg.lstsq(basis[inside].T, basis.T @ weights, rcond=None)[0]
    return found


def block_target(outputs: Floats, present: NDArray[np.bool_]) -> Floats:
    """h(x_o) of [H, section 5.1.2] for each event, shape (n,).

    Of the blocks that are observed it is the sum of all w^A·x, less half of w^A·x + w^B·x for each
    two of them, and if all three are observed their sum once more. (The paper's second sum is read as
    one over unordered pairs: over ordered ones, h would be 0 wherever two blocks are observed.) So
    it is the output of one block, the mean of two, the sum of three.

    Parameters
    ----------
    outputs
        Shape (n, 3): w^A·x of each block.
    present
        Shape (n, 3): whether it is observed.

    Examples
    --------
    >>> outputs = np.array([[1.0, 2.0, 6.0]] * 3)
    >>> block_target(outputs, np.array([[True, False, False], [True, True, False], [True] * 3])).tolist()
    [1.0, 1.5, 9.0]
    """
    part = np.array([0.0, 1.0, 0.5, 1.0])[present.sum(axis=1)]
    return np.asarray(part * np.where(present, outputs, 0.0).sum(axis=1))


def target_deviation(latent: Floats, observed: float) -> float:
    """The standard deviation of h over a stream.

    Parameters
    ----------
    latent
        Shape (R, 3): w^A of each block as weights on z, which is standard normal.
    observed
        Probability of each block, above 0 and at most 1, before those events are left out that
        have none.

    Examples
    --------
    >>> target_deviation(np.array([[1.0, 1.0, 1.0]]), 1.0)
    3.0
    """
    present = np.array(list(product([False, True], repeat=3))[1:])
    chances = np.where(present, observed, 1.0 - observed).prod(axis=1)
    # For each observed set h is linear in z, and the sum of its squared weights is its variance.
    variances = [(block_target(latent, np.tile(each, (len(latent), 1))) ** 2).sum() for each in present]
    return float(np.sqrt(chances @ np.array(variances) / chances.sum()))
