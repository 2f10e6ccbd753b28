"""A label that depends on which of three blocks of attributes are observed [H, section 5.1.2].

KARMA can express it with an order of 3 or more; 0-imputation (order 1) cannot.

[H] Hazan, Livni, Mansour: Classification with Low Rank and Missing Data, ICML 2015.
"""

from __future__ import annotations

from itertools import product

import numpy as np
from numpy.typing import NDArray

from streamkarma.arrays import Floats


def block_weights(basis: Floats, weights: Floats, groups: NDArray[np.int_]) -> Floats:
    """w^A for each block A of attributes, as columns, shape (D, blocks); 0 outside the block.

    [H] requires that each block on its own allows a large-margin classifier. Here all w^A derive from the
    same w: w^A is the shortest vector with w^A·x = <w, x> on the subspace, so that its margin is that of w.
    If the block has fewer attributes than the subspace has dimensions, there is none, and w^A is the closest
    in mean square.

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

    It is the sum of w^A·x over the observed blocks, minus half of w^A·x + w^B·x for each pair of them, plus
    their sum once more if all three are observed. (The paper's second sum is read as a sum over unordered
    pairs; over ordered ones, h would be 0 whenever two blocks are observed.) The result is the output of one
    block, the mean of two, or the sum of three.

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
        Probability of each block, above 0 and at most 1, before events without any block are left out.

    Examples
    --------
    >>> target_deviation(np.array([[1.0, 1.0, 1.0]]), 1.0)
    3.0
    """
    present = np.array(list(product([False, True], repeat=3))[1:])
    chances = np.where(present, observed, 1.0 - observed).prod(axis=1)
    # For each set of observed blocks, h is linear in z, and its variance is the sum of its squared weights.
    variances = [(block_target(latent, np.tile(each, (len(latent), 1))) ** 2).sum() for each in present]
    return float(np.sqrt(chances @ np.array(variances) / chances.sum()))
