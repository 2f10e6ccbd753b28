from __future__ import annotations

import json
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from streamkarma.core.theory import GAMMAS, Bound, best_gamma, best_rho, horizon
from streamkarma.regret.bound import doubled, embedding, regularity, squared_radius, subspace
from streamkarma.regret.competitor import BoundEvents, LearnerProfile, bound_terms
from tests.reference import Array, algorithm_1, explicit_features

# Loss and slope of scores with labels -1 and 1; both have the Lipschitz constant 1.
LOSSES: dict[str, tuple[Callable[[Array, Array], Array], Callable[[float, float], float]]] = {
    "hinge": (lambda f, y: np.maximum(0.0, 1.0 - y * f), lambda f, y: -y if y * f < 1.0 else 0.0),
    "logistic": (lambda f, y: np.logaddexp(0.0, -y * f), lambda f, y: -y * np.exp(-np.logaddexp(0.0, y * f))),
}

few = settings(deadline=None, max_examples=15)
seeds = st.integers(0, 2**32 - 1)
orders = st.integers(1, 4)


class Stream(NamedTuple):
    """A low-rank stream with a rival on the subspace that is right on complete vectors."""

    Q: Array
    w: Array
    full: Array
    observed: NDArray[np.bool_]
    rows: Array
    labels: Array


def low_rank(seed: int, events: int = 40, d: int = 4) -> Stream:
    rng = np.random.default_rng(seed)
    basis = np.linalg.qr(rng.standard_normal((d, int(rng.integers(1, d)))))[0]
    full = rng.standard_normal((events, basis.shape[1])) @ basis.T
    observed = rng.random((events, d)) < 0.7
    observed[:, 0] |= ~observed.any(axis=1)
    w = basis @ rng.standard_normal(basis.shape[1])
    w *= np.exp(rng.normal()) / np.linalg.norm(w)
    rows = np.where(observed, full, np.nan)
    return Stream(basis @ basis.T, w, full, observed, rows, np.where(full @ w < 0, -1.0, 1.0))


def embedded(w: Array, Q: Array, gamma: int) -> Array:
    """v in the order of ``explicit_features``: (s_1 … s_l, k) by length, the last index fastest."""
    rest = np.eye(len(Q)) - Q
    levels = [w]
    for _ in range(gamma - 1):
        levels.append((levels[-1].reshape(-1, len(w), 1) * rest).ravel())
    return np.concatenate(levels)


def rival(s: Stream, event: int) -> float:
    """f_{w,Q} by its definition."""
    o = s.observed[event]
    inverse = np.linalg.pinv(s.Q[np.ix_(o, o)], rcond=1e-8, hermitian=True)
    return float(s.w[o] @ inverse @ s.full[event, o])


def features(rows: Array, gamma: int, normalize: bool) -> Array:
    phi = np.array([explicit_features(row, gamma) for row in rows])
    return phi / np.linalg.norm(phi, axis=1, keepdims=True) if normalize else phi


def suffered(loss: str, s: Stream, gamma: int, normalize: bool, rho: float) -> float:
    """The sum of losses of Algorithm 1."""
    of, slope = LOSSES[loss]
    scores = algorithm_1(s.rows, s.labels, gamma, normalize, rho, None, slope)
    return float(of(scores[:, 0], s.labels).sum())


def bound_of(s: Stream, gamma: int, normalize: bool, rho: float | None = None) -> Bound:
    """The bound against f_{w,Q} with the stream's own w; the best ρ by default."""
    x_norm = 1.0 if normalize else np.sqrt((np.where(s.observed, s.full, 0.0) ** 2).sum(axis=1).max())
    far, B, T = squared_radius(s.rows, s.observed, gamma, normalize), embedding(s.w, s.Q, gamma), len(s.rows)
    return Bound(1.0, far, rho or best_rho(1.0, far, B, T), B, regularity(s.Q, s.observed), gamma,
                 float(np.linalg.norm(s.w)), float(x_norm), T)  # fmt: skip


def regret(loss: str, s: Stream, bound: Bound, normalize: bool) -> float:
    """Regret against f_{w,Q}, divided by the norm of the features if these are normalised."""
    theirs = np.array([rival(s, event) for event in range(len(s.rows))])
    if normalize:
        theirs /= np.linalg.norm(features(s.rows, bound.gamma, False), axis=1)
    own = suffered(loss, s, bound.gamma, normalize, bound.rho)
    return own - float(LOSSES[loss][0](theirs, s.labels).sum())


@few
@given(seeds, orders)
def test_v_is_the_truncated_series_and_b_its_squared_norm(seed: int, gamma: int) -> None:
    s = low_rank(seed, events=10)
    # Any w, on the subspace or not.
    w = np.random.default_rng(seed).standard_normal(4)
    v = embedded(w, s.Q, gamma)
    for row, o in zip(s.rows, s.observed, strict=True):
        rest = (np.eye(4) - s.Q)[np.ix_(o, o)]
        series = sum(np.linalg.matrix_power(rest, power) for power in range(gamma))
        assert v @ explicit_features(row, gamma) == pytest.approx(w[o] @ series @ row[o], abs=1e-10)
    assert embedding(w, s.Q, gamma) == pytest.approx(v @ v)
    assert v @ v <= gamma * (w @ w) * (1 + 1e-12)


@few
@given(seeds, orders)
def test_what_is_cut_off_is_small(seed: int, gamma: int) -> None:
    s = low_rank(seed, events=10)
    lam = regularity(s.Q, s.observed)
    assume(lam > 1e-3)
    v, left = embedded(s.w, s.Q, gamma), (1 - lam) ** gamma
    off = np.random.default_rng(seed).standard_normal(4)
    for event, (row, o) in enumerate(zip(s.rows, s.observed, strict=True)):
        x, w = np.linalg.norm(s.full[event]), np.linalg.norm(s.w)
        error = abs(rival(s, event) - v @ explicit_features(row, gamma)) - 1e-9
        assert error <= left * w * x
        assert error <= left / lam * np.linalg.norm(s.w[o]) * np.linalg.norm(row[o])
        # A w that is not on the subspace costs at most a factor of 1/√λ.
        other = s._replace(w=off)
        error = abs(rival(other, event) - embedded(off, s.Q, gamma) @ explicit_features(row, gamma)) - 1e-9
        assert error <= left / np.sqrt(lam) * np.linalg.norm(off[o]) * x
        assert error <= left / lam * np.linalg.norm(off[o]) * np.linalg.norm(row[o])


@pytest.mark.parametrize("normalize", [True, False])
@pytest.mark.parametrize("loss", LOSSES)
@few
@given(seeds, orders, st.floats(-6, 3), st.floats(-3, 3))
def test_regret_against_any_v(
    loss: str, normalize: bool, seed: int, gamma: int, log_rho: float, log_size: float
) -> None:
    s, rng, rho = low_rank(seed), np.random.default_rng(seed), np.exp(log_rho)
    phi = features(s.rows, gamma, normalize)
    # Labels independent of Q; one random v, and one computed from the labels.
    s = s._replace(labels=rng.choice([-1.0, 1.0], len(s.rows)))
    own = suffered(loss, s, gamma, normalize, rho)
    for v in (rng.standard_normal(phi.shape[1]), s.labels @ phi):
        v = v * np.exp(log_size) / np.linalg.norm(v)
        bound = bound_of(s, gamma, normalize, rho)._replace(B=float(v @ v))
        theirs = LOSSES[loss][0](phi @ v, s.labels).sum()
        assert own - theirs <= bound.estimation + bound.regularisation


@pytest.mark.parametrize("normalize", [True, False])
@pytest.mark.parametrize("gamma", [1, 2, 3, 4])
@few
@given(seeds, st.sampled_from(list(LOSSES)))
def test_regret_against_the_subspace(normalize: bool, gamma: int, seed: int, loss: str) -> None:
    s = low_rank(seed)
    bound = bound_of(s, gamma, normalize)
    assert regret(loss, s, bound, normalize) <= bound.total


@few
@given(seeds)
def test_a_stream_of_unknown_length(seed: int) -> None:
    s, bounds, found = low_rank(seed, events=45), [], 0.0
    starts = [t for t in range(1, 46) if horizon(t) == t]
    assert starts == [1, 2, 4, 8, 16, 32]
    for start in starts:
        epoch = slice(start - 1, start - 1 + horizon(start))
        part = s._replace(full=s.full[epoch], observed=s.observed[epoch], rows=s.rows[epoch],
                          labels=s.labels[epoch])  # fmt: skip
        bound = bound_of(part, 2, False)
        rho = best_rho(1.0, bound.squared_radius, bound.B, horizon(start))
        bounds.append(bound._replace(rho=rho))
        found += regret("hinge", part, bounds[-1], False)
    assert [bound.T for bound in bounds] == [1, 2, 4, 8, 16, 14]
    assert found <= doubled(bounds)["total"]


@few
@given(*[st.floats(0.1, 10.0)] * 3, st.integers(1, 10**6))
def test_the_best_rho(L: float, far: float, B: float, T: int) -> None:
    best = best_rho(L, far, B, T)
    bound = Bound(L, far, best, B, 0.5, 2, 1.0, 1.0, T)
    assert bound.estimation == pytest.approx(bound.regularisation)
    grid = [bound._replace(rho=best * factor).total for factor in np.geomspace(0.01, 100.0, 201)]
    assert bound.total <= min(grid) * (1 + 1e-12)


@few
@given(st.floats(0.05, 1.0), *[st.floats(0.1, 10.0)] * 3, st.integers(1, 10**9), st.floats(1.0, 20.0))
def test_the_best_gamma(lam: float, L: float, w: float, x: float, T: int, growing: float) -> None:
    def least(gamma: int) -> float:
        # The two terms in ρ are equal at the optimum: twice the geometric mean.
        squares = growing**gamma * gamma * w**2 * T * (1 + np.log(T))
        return float(2 * L * np.sqrt(squares) + L * np.exp(-lam * gamma) / lam * w * x * T)

    chosen = best_gamma(lam, L, w, x, T, lambda gamma: growing**gamma)
    assert least(chosen) <= min(map(least, GAMMAS)) * (1 + 1e-12)


def test_more_events_lower_the_bound_per_event() -> None:
    lengths = [2**k for k in range(20)]
    bounds = [Bound(1.0, 3.0, best_rho(1.0, 3.0, 2.0, T), 2.0, 0.3, 2, 1.0, 1.0, T) for T in lengths]
    assert np.all(np.diff([bound.total / bound.T for bound in bounds]) < 0)


@few
@given(seeds, st.booleans())
def test_the_subspace_is_found_from_complete_vectors(seed: int, constant: bool) -> None:
    s = low_rank(seed, events=20)
    full = np.column_stack([s.full, np.ones(20)]) if constant else s.full
    Q = subspace(full)
    np.testing.assert_allclose(full @ Q, full, atol=1e-10)
    np.testing.assert_allclose(Q @ Q, Q, atol=1e-10)
    assert np.trace(Q) == pytest.approx(np.trace(s.Q) + constant)


def test_regularity_and_reach_are_those_of_the_worst_event() -> None:
    Q = np.outer([0.6, 0.8], [0.6, 0.8])
    observed = np.array([[True, True], [True, False], [True, False], [False, False]])
    assert regularity(Q, observed) == pytest.approx(0.36)
    assert regularity(Q, observed[3:]) == regularity(np.zeros((2, 2)), observed) == 1.0
    values = np.array([[1.0, 1.0], [3.0, np.nan], [2.0, np.inf], [np.nan, np.nan]])
    assert squared_radius(values, observed, 2, False) == 18.0
    assert squared_radius(values, observed, 3, False) == 27.0
    assert squared_radius(values, observed, 2, True) == 1.0


def test_everything_is_spelled_out_in_json() -> None:
    bound = bound_of(low_rank(1), 2, False)
    said = json.loads(json.dumps(bound.as_dict()))
    assert said["total"] == said["estimation"] + said["regularisation"] + said["approximation"] == bound.total
    assert [said[name] for name in Bound._fields] == list(bound)


@few
@given(seeds, orders, st.booleans(), st.sampled_from(sorted(LOSSES)))
def test_the_ceiling_is_that_of_the_best_multiple_of_v(
    seed: int, gamma: int, normalize: bool, loss: str
) -> None:
    s = low_rank(seed)
    X = np.column_stack([s.rows, np.ones(len(s.rows))])
    Q = np.pad(s.Q, (0, 1))
    Q[-1, -1] = 1.0
    w = np.append(s.w, 0.3)
    learner = LearnerProfile(gamma, 0.2, normalize, "")
    events = BoundEvents(X, (s.labels > 0).astype(float), np.ones(40), loss, 40)
    said = bound_terms(events, Q, w, 0.0, learner)
    of, slope = LOSSES[loss]
    v, phi = embedded(w, Q, gamma), features(X, gamma, normalize)
    first_two = [
        said["estimation"] + 0.1 * 40 * c**2 * float(v @ v) + of(phi @ (c * v), s.labels).sum()
        for c in np.linspace(-2, 30, 400)
    ]
    assert said["ceiling"] <= min(first_two) + 1e-9
    assert said["ceiling"] == pytest.approx(min(first_two), rel=0.02)
    scores = algorithm_1(X, s.labels, gamma, normalize, 0.2, None, slope)
    assert of(scores[:, 0], s.labels).sum() <= said["ceiling"]
