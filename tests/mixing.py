"""The mixture of experts by its definition, event by event: a reference for tests of the engine."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
from scipy import optimize, stats
from scipy.special import expit as sigmoid

from streamkarma.core.mixture import Mixture
from streamkarma.core.sgd import Sgd
from streamkarma.events.block import Block
from tests.reference import Array
from tests.test_support import block_of

LIMIT = np.log(1e6 - 1)
#: The fixed share: weight that is redistributed equally to all members with every event.
SHARE = 1e-3


def softmax(logits: Array) -> Array:
    powers = np.exp(logits - logits.max(axis=-1, keepdims=True))
    return powers / powers.sum(axis=-1, keepdims=True)


class Newton:
    """Online Newton steps by their definition, with the inverse of the covariance."""

    def __init__(self, start: Array, loose: float | Array, first: float | Array | None = None) -> None:
        self.at, self.loose = np.array(start, float), loose
        self.covariance = (loose if first is None else first) * np.eye(len(start))

    def step(self, x: Array, slope: float, curved: float, drift: float = 1e-5) -> None:
        self.covariance = np.linalg.inv(np.linalg.inv(self.covariance) + curved * np.outer(x, x))
        self.at = self.at - slope * self.covariance @ x
        self.covariance += drift * (self.loose * np.eye(len(x)) - self.covariance)

    def step_logit(self, x: Array, slope: float, weight: float, drift: float = 1e-5) -> None:
        """A step on the log loss of a logit; an implicit step if the logit is far off."""
        miss, variance = abs(slope), weight * x @ self.covariance @ x
        if miss > 0.5:
            odds = np.log((1 - miss) / miss)
            ends = odds, odds + variance
            miss = sigmoid(
                -optimize.brentq(lambda end: end - odds - variance * sigmoid(-end), *ends, xtol=1e-14)
            )
        curved = weight * miss * (1 - miss)
        # ``step`` uses the covariance after its update; this makes up for it.
        ahead = 1 + curved * variance / weight if abs(slope) > 0.5 else 1
        self.step(x, weight * np.copysign(miss, slope) * ahead, curved, drift)


def moved(chances: Array, weight: float = 1.0) -> float:
    """The share that is redistributed after an event with these predicted probabilities."""
    bits = -np.sum(chances * np.log2(chances))
    return float(SHARE * np.clip(bits, 0.01, 1) * min(weight, 1))


def share(shares: Array, likelihoods: Array, given: float = SHARE, weight: float = 1.0) -> Array:
    after = shares * likelihoods**weight
    return (1 - given) * after / after.sum() + given / len(shares)


class Completeness:
    """The correction of the blend for an event's number of values, and for how certain they make it."""

    def __init__(self) -> None:
        self.means, self.variances, self.adjusting = np.zeros(2), np.zeros(2), Newton(np.zeros(4), 0.1)

    def away(self, observed: Array, t: int) -> Array:
        known = (t >= 10) & (self.variances >= 1e-9)
        return np.where(
            known, np.clip((observed - self.means) / np.sqrt(self.variances + ~known), -3, 3), 0.0
        )

    def adjusted(self, said: float, away: Array) -> tuple[float, float]:
        """The adjusted log-odds, and the factor applied."""
        stretch = max(1 + self.adjusting.at[2:] @ away / 4, 0.1)
        return self.adjusting.at[:2] @ away + stretch * said, stretch

    def learn(self, observed: Array, t: int, said: float, step: Callable[[Newton, Array], None]) -> None:
        away, rate = self.away(observed, t), 1 / min(t + 1, 1000)
        if away.any():
            step(self.adjusting, np.array([*away, *(away * said / 4)]))
            self.adjusting.at[2:] = np.clip(self.adjusting.at[2:], -1, 1)
        off = observed - self.means
        self.means += rate * off
        self.variances = (1 - rate) * (self.variances + rate * off**2)


class Relevance:
    """How much missing values leave open, by the attributes' contributions; exact to the last bit."""

    def __init__(self) -> None:
        self.said, self.total = [0.0, 0], 0.0
        self.products: dict[int, list[Any]] = defaultdict(lambda: [0.0, 0])
        self.squares: dict[int, list[Any]] = defaultdict(lambda: [0.0, 0])

    @staticmethod
    def add(mean: list[Any], value: float) -> None:
        mean[1] += 1
        mean[0] += (value - mean[0]) / min(mean[1], 1000)

    def open(self, event: Block) -> float:
        observed = sum(self.squares[attribute][0] for attribute in event.attributes.tolist())
        left = 1 - observed / self.total if self.total > 0 else 0.0
        return math.sqrt(left) if left > 1e-9 else 0.0

    def learn(self, event: Block, said: float) -> None:
        self.add(self.said, said)
        away = said - self.said[0]
        items = zip(event.attributes.tolist(), event.coordinates.tolist(), event.values.tolist(), strict=True)
        for attribute, coordinate, value in items:
            self.add(self.products[coordinate], value * away)
            part, before = self.products[coordinate][0] * value, self.squares[attribute][0]
            self.add(self.squares[attribute], part * part)
            self.total += self.squares[attribute][0] - before


def silent(regression: bool) -> Sgd:
    """An expert that stays at 0, or at most 1e-290 away."""
    return Sgd(regression, eta=1e-300)


def mixture_of_scores(experts: int, regression: bool = False, half_life: float = 0.0) -> Mixture:
    """The mixture of the scores of external experts, and of one expert of its own, which is silent."""
    return Mixture({"silent": silent(regression)}, regression, experts, half_life, recent=False)


def with_silent(scores: Array) -> Array:
    """The scores of all experts of such a mixture."""
    return np.concatenate([np.zeros_like(scores[:1]), scores])


def mix(
    mixture: Mixture, scores: Array, labels: Array, weights: Array | None = None, events: Block | None = None
) -> tuple[Array, Array]:
    """Mix scores of shape (E, T, C), and learn how to; events without any values unless they are given."""
    count = len(labels)
    empty = np.zeros(count, np.int32)
    events = Block(np.arange(count + 1), empty, empty, np.ones(count)) if events is None else events
    weights = np.ones(count) if weights is None else weights
    return mixture.run(events, labels, weights, external_scores=scores)


def left_open(rows: Array, said: Array) -> Array:
    """What each event leaves open, given the log-odds predicted for it."""
    relevance, found = Relevance(), []
    for row, logit in zip(rows, said, strict=True):
        event = block_of(row[None])
        found.append(relevance.open(event))
        relevance.learn(event, logit)
    return np.array(found)


def within_reach(mixed: Array, before: Sequence[Array]) -> Array:
    """Predicted numbers, each as far beyond the targets before it as these reach at most, if there are 32."""
    bounded = mixed.copy()
    for number, targets in zip(bounded, before, strict=True):
        if len(targets) >= 32:
            margin = targets.max() - targets.min()
            number[0] = min(max(number[0], targets.min() - margin), targets.max() + margin)
    return bounded


def relative(weights: Array) -> Array:
    """Weights divided by the mean of those up to and including each, where it is above 1."""
    means = np.cumsum(weights) / np.arange(1, len(weights) + 1)
    return np.asarray(weights / np.maximum(means, 1.0))


def with_laplace(chances: Array, labels: Array, weights: Array) -> Array:
    """Probabilities of +1; a class that has had no label keeps the one of Laplace's rule of succession."""
    negative, positive = (
        np.concatenate([[0.0], np.cumsum(np.where(labels > 0, is_positive, not is_positive) * weights)[:-1]])
        for is_positive in (False, True)
    )
    least = np.where((positive == 0) & (negative > 0), 1 / (negative + 2), 0.0)
    most = np.where((negative == 0) & (positive > 0), 1 - 1 / (positive + 2), 1.0)
    return np.clip(chances, least, most)


def two_classes(scores: Array, labels: Array, weights: Array, observed: Array) -> tuple[Array, Array, Array]:
    """The probability of +1 in a mixture for two classes, before each event is learned.

    Also the probabilities that each member gave to the true class, and the members' shares afterwards.
    """
    experts = len(scores)
    squares, shares = np.ones(experts), np.full(experts + 1, 1 / (experts + 1))
    own, blend = (
        [Newton(np.zeros(3), np.array([4, 0.3, 0.7]), np.array([4, 0.05, 0.1])) for _ in scores],
        Newton(np.full(experts, 1 / experts), 0.2),
    )
    completeness, (mixed, likelihoods, after) = Completeness(), ([], [], [])
    for t, (label, weight) in enumerate(zip(labels > 0, relative(weights), strict=True)):
        drift = max(1e-5, 3 / (t + 10) ** 2)
        squares += (np.minimum(scores[:, t] ** 2, 100 * np.maximum(squares, 1)) - squares) / min(t + 2, 1000)
        z = np.clip(scores[:, t] / np.sqrt(squares), -30, 30)
        start, features = (
            np.minimum(1, np.sqrt(squares)),
            np.array([z, z / (0.1 + abs(z)), np.ones(experts)]).T,
        )
        logits = [start[e] * z[e] + own[e].at @ features[e] for e in range(experts)]
        logits = np.clip(logits, -LIMIT, LIMIT)
        blended = blend.at @ logits
        adjusted, stretch = completeness.adjusted(blended, completeness.away(observed[t], t))
        members = sigmoid(np.clip([*logits, adjusted], -LIMIT, LIMIT))
        mixed.append(shares @ members)
        likelihoods.append(members if label else 1 - members)
        both = np.array([mixed[-1], 1 - mixed[-1]])
        shares = share(shares, likelihoods[-1], moved(both, weight), weight)
        after.append(shares)
        slopes = members - label
        blend.step_logit(stretch * logits, slopes[-1], weight, drift)
        step = partial(Newton.step_logit, slope=slopes[-1], weight=weight, drift=drift)
        completeness.learn(observed[t], t, blended, step)
        for e, each in enumerate(own):
            each.step_logit(features[e], slopes[e], weight, drift)
            each.at[:2] = np.maximum(each.at[:2], [-start[e], 0])
    return (
        with_laplace(np.array(mixed), labels, relative(weights)),
        np.array(likelihoods),
        np.array(after),
    )


def several_classes(scores: Array, labels: Array) -> Array:
    """The same for several classes: shape (T, C)."""
    experts, _, classes = scores.shape
    squares, shares = np.ones(experts), np.full(experts + 1, 1 / (experts + 1))
    own, blend = (
        [Newton(np.zeros(3), np.array([4, 0.3, 1]), np.array([4, 0.05, 1])) for _ in scores],
        Newton(np.full(experts, 1 / experts), 0.1),
    )
    offsets, slack, mixed = np.zeros((experts, classes)), np.full((experts, classes), 0.1), []
    for t, label in enumerate(labels.astype(int)):
        drift = max(1e-5, 3 / (t + 10) ** 2)
        centred = scores[:, t] - scores[:, t].mean(axis=1, keepdims=True)
        pairs = [np.mean([(s[i] - s[j]) ** 2 for i in range(classes) for j in range(i)]) for s in centred]
        squares += (np.minimum(pairs, 100 * np.maximum(squares, 1)) - squares) / min(t + 2, 1000)
        z, start = centred / np.sqrt(squares)[:, None], np.minimum(1, np.sqrt(squares))
        rivals = [[np.delete(row, c).max() for c in range(classes)] for row in z]
        features = np.array([z, (z - rivals) / (0.1 + abs(z - rivals)) / 2, z / (0.25 + abs(z))])
        at = np.array([each.at + np.array([start[e], 0, 0]) for e, each in enumerate(own)])
        logits = np.einsum("ek,kec->ec", at, features) + offsets
        logits = np.maximum(logits - logits.max(axis=1, keepdims=True), -LIMIT)
        blended = blend.at @ logits
        members = softmax(np.array([*logits, np.maximum(blended, blended.max() - LIMIT)]))
        mixed.append(shares @ members)
        shares = share(shares, members[:, label], moved(mixed[-1]))
        slopes = members - np.eye(classes)[label]
        blend.step(logits @ slopes[-1], 1, 1, drift)
        for e, each in enumerate(own):
            each.step(features[:, e] @ slopes[e], 1, 1, drift)
            each.at = np.maximum(each.at, [-start[e], 0, 0])
        each_curved = np.abs(slopes[:-1]) * np.maximum(np.abs(slopes[:-1]), 1 - np.abs(slopes[:-1]))
        slack = 1 / (1 / slack + each_curved)
        offsets -= slack * slopes[:-1]
        slack += drift * (0.7 - slack)
    return np.array(mixed)


class Scales:
    """The distribution of residuals in regression: the weights of several scales."""

    def __init__(self) -> None:
        self.each, self.weights = 4.0 ** (1 - np.arange(10)), np.full(10, 0.001)
        self.weights[1] += 0.99

    def typical(self) -> float:
        return float(np.exp(self.weights @ np.log(self.each)))

    def judge(self, residuals: Array, shares: Array) -> Array:
        """The density that each member gave to the target, before the weights are updated."""
        densities = stats.t(4, scale=self.each[:, None]).pdf(residuals)
        likelihoods: Array = self.weights @ densities
        self.weights = share(self.weights, densities @ shares, 0.01)
        return likelihoods


def numbers(scores: Array, targets: Array, observed: Array) -> Array:
    """The mean of a mixture in regression, before each event is learned."""
    experts, square = len(scores), 1.0
    shares, scales = np.full(experts + 1, 1 / (experts + 1)), Scales()
    own = [Newton(np.array([1.0, 0.0]), 0.01) for _ in scores]
    blend, completeness, mixed = Newton(np.full(experts, 1 / experts), 0.1), Completeness(), []
    for t, target in enumerate(targets):
        unit = np.sqrt(square)
        features = np.array([scores[:, t] / unit, np.ones(experts)]).T
        means = np.array([each.at @ x for each, x in zip(own, features, strict=True)])
        blended = blend.at @ means
        adjusted, stretch = completeness.adjusted(blended, completeness.away(observed[t], t))
        members = np.array([*means, adjusted])
        mixed.append(unit * shares @ members)
        scale = scales.typical()
        precision = max(0.1 / scale**2, 1)
        slopes = precision * np.clip(members - target / unit, -5 * scale, 5 * scale)
        shares = share(shares, scales.judge(members - target / unit, shares))
        square += (min(target**2, 100 * max(square, 1)) - square) / (min(t + 1, 1000) + 1)
        blend.step(stretch * means, slopes[-1], precision)
        step = partial(Newton.step, slope=slopes[-1], curved=precision)
        completeness.learn(observed[t], t, blended, step)
        for each, x, slope in zip(own, features, slopes, strict=False):
            each.step(x, slope, precision)
            each.at[0] = max(each.at[0], 0)
    return np.array(mixed)


def by_last_errors(kind: str, said: Array, labels: Array) -> Array:
    """The final predictions of a mixture that corrects ``said``, of shape (T, C), by its last errors.

    For two classes the probability of +1, for several that of each class, otherwise the number. The root mean
    square of the targets is taken to be 1, as if they were standardised.
    """
    classes, kept = said.shape[1], 0.5 ** (1 / np.array([0.5, 2, 8, 32]))
    loose = {"two": [1.0] * 4 + [0.3] * 5, "several": [0.25] * 4 + [0.3] * 5, "number": [0.1] * 6}[kind]
    own, shares = Newton(np.zeros(len(loose)), np.array(loose)), np.array([0.9, 0.1])
    residuals, means, squared_scale, last, mixed = np.zeros((4, classes)), np.zeros((4, classes)), 1.0, [], []
    for t, label in enumerate(labels):
        drift = 1e-5 if kind == "number" else max(1e-5, 3 / (t + 11) ** 2)
        x = np.array([*residuals, *means, said[t] / 4])
        if kind == "number":
            lags = [np.clip(target - said[t], -10, 10) for target in (*last, *[said[t, 0]] * 2)[:2]]
            x, true = np.array([*residuals, *lags])[:, 0], np.array([label])
            members = np.array([said[t], said[t] + own.at @ x])
        elif kind == "two":
            x, true = x[:, 0], np.array([float(label > 0)])
            members = sigmoid(np.array([said[t], np.clip(said[t] + own.at @ x, -LIMIT, LIMIT)]))
        else:
            true, members = (
                np.eye(classes)[int(label)],
                np.array([softmax(said[t]), softmax(said[t] + own.at @ x)]),
            )
        mixed.append(shares @ members)
        if kind == "number":
            scale, precision = np.sqrt(squared_scale), max(1 / squared_scale, 1)
            shares = share(shares, stats.t(4, scale=scale).pdf(members[:, 0] - label))
            counted = 5 / (4 / (mixed[-1][0] - label) ** 2 + 1 / squared_scale)
            squared_scale += (counted - squared_scale) / (min(t + 1, 500) + 1)
            own.step(x, precision * np.clip(members[1, 0] - label, -5 * scale, 5 * scale), precision, drift)
        elif kind == "two":
            both = np.array([*mixed[-1], 1 - mixed[-1][0]])
            shares = share(shares, np.abs(1 - true - members[:, 0]), moved(both))
            own.step_logit(x, members[1, 0] - true[0], 1, drift)
        else:
            shares = share(shares, members[:, int(label)], moved(mixed[-1]))
            own.step(x @ (members[1] - true), 1, 1, drift)
        residuals += (1 - kept)[:, None] * (np.clip(true - members[0], -10, 10) - residuals)
        means += (1 - kept)[:, None] * ((2 * true - 1 if kind == "two" else true) - means)
        last = [label, *last[:1]]
    if kind == "two":
        return with_laplace(np.array(mixed)[:, 0], labels, np.ones(len(labels)))[:, None]
    return np.array(mixed)
