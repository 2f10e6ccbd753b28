"""The multiclass support vector machine of Crammer and Singer (2001).

``min over W of ½‖W‖² + Σ_i C_i max(0, 1 + max_{c ≠ y_i} w_c·z_i - w_{y_i}·z_i)``, without an
intercept; a constant feature replaces it, as in [H]. scikit-learn's solver is liblinear's dual
coordinate ascent.
"""

from __future__ import annotations

import warnings

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import LinearSVC

from streamkarma.arrays import Floats

#: The tolerance of the ascent, and its maximum number of rounds.
TOL = 1e-5
ROUNDS = 10_000

#: Eigenvalues of a kernel matrix below this fraction of the largest are rounding errors.
LEAST = 1e-12


def crammer_singer(
    Z: Floats, codes: NDArray[np.intp], classes: int, C: float, weights: Floats | None = None
) -> Floats:
    """The weights W of the classes, shape (d, classes).

    Parameters
    ----------
    Z
        Array of shape (n, d), finite.
    codes
        Array of shape (n,): the class of each row, from 0. A class without a row has weights 0.
    classes
        Number of classes, three or more, at least two of which have rows.
    C
        Weight of the losses, above 0, multiplied by ``weights``, shape (n,), for each row.

    Examples
    --------
    >>> W = crammer_singer(np.eye(3), np.array([0, 1, 2]), 3, 10.0)
    >>> W.round(3).tolist()
    [[0.667, -0.333, -0.333], [-0.333, 0.667, -0.333], [-0.333, -0.333, 0.667]]
    """
    there, known = np.unique(codes, return_inverse=True)
    W = np.zeros((Z.shape[1], classes))
    machine = LinearSVC(
        multi_class="crammer_singer", C=C, fit_intercept=False, tol=TOL, max_iter=ROUNDS, random_state=0
    )
    with warnings.catch_warnings():
        # A fit that has not fully converged is kept, as in the holdout.
        warnings.simplefilter("ignore", ConvergenceWarning)
        coef = machine.fit(Z, known, sample_weight=weights).coef_
    # For two classes, scikit-learn keeps only the difference.
    W[:, there] = coef.T if len(coef) > 1 else np.column_stack([-coef[0] / 2, coef[0] / 2])
    return W


def crammer_singer_kernel(
    K: Floats, codes: NDArray[np.intp], classes: int, C: float, weights: Floats | None = None
) -> Floats:
    """Crammer and Singer's machine for a kernel matrix ``K`` of shape (n, n).

    Returns the coefficients A of shape (n, classes), where the scores are ``K @ A``; the parameters are those
    of ``crammer_singer``.
    """
    values, vectors = np.linalg.eigh(K)
    kept = values > LEAST * max(float(values[-1]), 0.0)
    roots, vectors = np.sqrt(values[kept]), vectors[:, kept]
    # Any Z with Z Z' = K works: its rows are the images φ(z_i) in a basis of their span.
    W = crammer_singer(vectors * roots, codes, classes, C, weights)
    return np.asarray(vectors @ (W / roots[:, np.newaxis]))
