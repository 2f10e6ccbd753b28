"""Synthetic messages of devices, each with only the values that have just changed.

The sensors of a device follow a random walk that reverts to the device's own level: an Ornstein-Uhlenbeck
process in time, with ``RANK`` dimensions common to all sensors. A message reports the current values of a few
sensors. The others have moved since their last report by only the fraction ``GLIDE`` of the way to the
current walk. So earlier values of a device are worth remembering, though less so the older they are.

The label depends on a sum f over the *complete* state with known weights, so that the loss due to missing
values is known. f has a variance of about 1, to which the products of two sensors contribute the share
``PRODUCTS``, and the sensors on their own the rest.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

from streamkarma.arrays import Floats, Ints
from streamkarma.errors import UsageError
from streamkarma.parameters.checks import check_fields
from streamkarma.synthetic.labels import CHUNK, Task, check_is_not_multiclass, check_noise, in_rows, labels
from streamkarma.synthetic.population import PERIOD

#: Shares of a sensor's variance due to its device's level, and to the common dimensions.
LEVEL, SHARED = 0.1, 0.3
#: Number of common dimensions of the sensors.
RANK = 3
#: Relaxation time in seconds, after which the autocorrelation of a walk is 1/e.
RELAXATION = 6 * 3_600
#: How far a sensor that is not reported has moved from its last report to the walk, as a fraction.
GLIDE = 0.1
#: Maximum number of sensors in a message, which has at least one.
REPORTED = 3
#: The share of products of two sensors in the variance of f.
PRODUCTS = 0.1
#: The log-odds of the label are SHARPNESS * f.
SHARPNESS = 10.0
#: The start of the stream, and the mean number of seconds between messages.
START, PAUSE = np.datetime64("2026-01-05T00:00:00", "s"), 10
#: Some devices report more often than others: the standard deviation of the logarithm of their rates.
UNEVENNESS = 0.5
#: Mean duration of a silence, in seconds.
SILENCE = 12 * 3_600


class DeviceSpec(NamedTuple):
    """The specification of a stream of devices.

    Parameters
    ----------
    devices
        Number of devices at any time, 1 or more.
    sensors
        Number of sensors of each device, 1 or more.
    gaps
        The share of time that a device is silent: at least 0, below 1.
    turnover
        The share of devices that are replaced by new ones within 10,000 messages.
    drift
        How fast the weights drift: within 10,000 messages, their correlation with the earlier weights falls
        by the factor exp(-drift).
    noise
        Probability of a flipped label, between 0 and 1; in regression, the standard deviation of the noise
        added to a label of variance 1.
    task
        Kind of label: 0/1 with log-odds ``SHARPNESS * f``, or the number f.
    seed
        The same seed gives the same stream.
    """

    devices: int = 300
    sensors: int = 10
    gaps: float = 0.1
    turnover: float = 0.02
    drift: float = 0.01
    noise: float = 0.0
    task: Task = "binary"
    seed: int = 0


def check(plan: DeviceSpec) -> DeviceSpec:
    """Return ``plan``, or raise UsageError if it is invalid."""
    check_fields(plan, {"task": get_args(Task)})
    for name in ("devices", "sensors"):
        if getattr(plan, name) < 1:
            raise UsageError(f"{name} must be 1 or more, not {getattr(plan, name)}")
    if not 0.0 <= plan.gaps < 1.0:
        raise UsageError(f"gaps must be at least 0 and below 1, not {plan.gaps}")
    for name in ("turnover", "drift"):
        if not 0.0 <= getattr(plan, name) < float("inf"):
            raise UsageError(f"{name} must be 0 or more, not {getattr(plan, name)}")
    check_noise(plan.noise, plan.task)
    check_is_not_multiclass("devices", plan.task)
    return plan


def device_records(plan: DeviceSpec, events: int, full: bool = False) -> Iterator[dict[str, Any]]:
    """The messages of a stream as JSON objects.

    Parameters
    ----------
    plan
        The specification.
    events
        Number of messages; each stream is a prefix of the longer ones.
    full
        Add the complete state as ``full``, and the knowledge of an oracle: ``"oracle": {"probability": …}``
        of the label 1, or in regression ``"oracle": {"mean": …}``.

    Returns
    -------
    An iterator over the messages, each as a dict.

    Raises
    ------
    UsageError
        A ValueError: the specification is invalid.

    Examples
    --------
    >>> for record in device_records(DeviceSpec(seed=1), events=3):
    ...     print(record)
    {'device': 'd70', 'ts': '2026-01-05T00:00:02Z', 's6': 9.488, 'y': 0}
    {'device': 'd108', 'ts': '2026-01-05T00:00:05Z', 's6': 4.447, 'y': 0}
    {'device': 'd48', 'ts': '2026-01-05T00:00:30Z', 's1': -45.796, 's5': -35.906, 'y': 1}
    """
    source = _Source(check(plan))
    yield from in_rows(lambda: source.columns(full), events)


class _Devices:
    """The current devices: each place has a device, and later its successors.

    Parameters
    ----------
    plan
        The specification.
    parts
        The loadings of the sensors on the independent standard normal variables behind a state.
    rng
        The generator for all draws.
    """

    def __init__(self, plan: DeviceSpec, parts: Floats, rng: np.random.Generator) -> None:
        size, (sensors, width) = plan.devices, parts.shape
        self._plan, self._parts, self._rng, self._born = plan, parts, rng, 0
        self.names = np.empty(size, dtype=object)
        self._often, self._silent = np.empty(size), np.empty(size, dtype=bool)
        self._levels, self._walks = np.empty((2, size, width))
        self._reported = np.empty((size, sensors))
        self._seen = np.empty(size, dtype=np.int64)
        self._replace(np.arange(size), 0)
        self._silent[:] = rng.random(size) < plan.gaps

    def draw(self, count: int) -> Ints:
        """Draw places of devices that are not silent, unless all are."""
        often = np.where(self._silent, 0.0, self._often) if not self._silent.all() else self._often
        up_to = np.cumsum(often)
        chosen = np.searchsorted(up_to, self._rng.random(count) * up_to[-1], side="right")
        return np.asarray(np.minimum(chosen, len(up_to) - 1))

    def states(self, places: Ints, seconds: Ints, reported: NDArray[np.bool_]) -> Floats:
        """The states of these devices at these times, in order."""
        steps = self._rng.standard_normal((len(places), self._walks.shape[1]))
        states = np.empty(reported.shape)
        for i, (place, second) in enumerate(zip(places.tolist(), seconds.tolist(), strict=True)):
            kept = math.exp((int(self._seen[place]) - second) / RELAXATION)
            self._walks[place] = kept * self._walks[place] + math.sqrt(1.0 - kept * kept) * steps[i]
            self._seen[place] = second
            now, before = self._now(place), self._reported[place]
            before[reported[i]] = now[reported[i]]
            states[i] = before + GLIDE * (now - before)
        return states

    def age(self, events: int, second: int) -> None:
        """Advance by this many messages: some devices fall silent or wake, some are replaced."""
        gaps, size = self._plan.gaps, len(self.names)
        waking = -math.expm1(-events * PAUSE / SILENCE)
        # As many devices fall silent as wake.
        chance = np.where(self._silent, waking, min(waking * gaps / (1.0 - gaps), 1.0))
        self._silent ^= self._rng.random(size) < chance
        leaving = min(self._rng.poisson(min(self._plan.turnover * events / PERIOD, 1.0) * size), size)
        self._replace(self._rng.choice(size, leaving, replace=False), second)

    def _now(self, places: Any) -> Floats:
        """The current positions of these devices' walks."""
        hidden = math.sqrt(LEVEL) * self._levels[places] + math.sqrt(1.0 - LEVEL) * self._walks[places]
        return np.asarray(hidden @ self._parts.T)

    def _replace(self, places: Ints, second: int) -> None:
        """Put new devices in these places."""
        count = len(places)
        self.names[places] = [f"d{number}" for number in range(self._born, self._born + count)]
        self._born += count
        self._often[places] = np.exp(UNEVENNESS * self._rng.standard_normal(count))
        self._silent[places] = False
        for each in (self._levels, self._walks):
            each[places] = self._rng.standard_normal((count, each.shape[1]))
        self._reported[places] = self._now(places)
        self._seen[places] = second


class _Source:
    """Generates messages, CHUNK at a time."""

    def __init__(self, plan: DeviceSpec) -> None:
        self._plan, self._seconds = plan, 0
        # Each part has its own generator, so that options for one do not change the others.
        devices, units, self._turning, self._times, self._reports, self._labels = np.random.default_rng(
            plan.seed
        ).spawn(6)
        common = units.standard_normal((plan.sensors, RANK))
        common /= np.linalg.norm(common, axis=1, keepdims=True)
        own = np.eye(plan.sensors)
        self._parts = np.hstack([math.sqrt(SHARED) * common, math.sqrt(1.0 - SHARED) * own])
        self._devices = _Devices(plan, self._parts, devices)
        self._means = np.round(units.normal(0.0, 50.0, plan.sensors), 1)
        self._deviations = np.round(np.exp(units.normal(1.0, 1.0, plan.sensors)), 2)
        self._linear = self._turning.standard_normal(plan.sensors)
        #: Weights of pairs of sensors, above the diagonal.
        self._pairs = self._turning.standard_normal((plan.sensors, plan.sensors))

    def columns(self, full: bool) -> dict[str, list[Any]]:
        """The next CHUNK messages, by name, with None for missing values."""
        places, reported = self._devices.draw(CHUNK), self._draw_reported()
        seconds = self._seconds + np.cumsum(self._times.geometric(1.0 / PAUSE, CHUNK))
        self._seconds = int(seconds[-1])
        states = self._devices.states(places, seconds, reported)
        label, expected = labels(
            self._output(states), SHARPNESS, self._plan.noise, self._plan.task, self._labels
        )
        names = [f"s{i}" for i in range(self._plan.sensors)]
        values = np.round(self._means + self._deviations * states, 3).tolist()
        times = np.datetime_as_string(START + seconds, unit="s").tolist()
        columns: dict[str, list[Any]] = {
            "device": self._devices.names[places].tolist(),
            "ts": [f"{time}Z" for time in times],
        }
        for i, name in enumerate(names):
            columns[name] = [
                row[i] if there else None for row, there in zip(values, reported[:, i].tolist(), strict=True)
            ]
        columns["y"] = label
        if full:
            kind = "mean" if self._plan.task == "regression" else "probability"
            columns["full"] = [dict(zip(names, row, strict=True)) for row in values]
            columns["oracle"] = [{kind: value} for value in expected]
        self._devices.age(CHUNK, self._seconds)
        self._turn()
        return columns

    def _draw_reported(self) -> NDArray[np.bool_]:
        """Which sensors the messages carry."""
        order = self._reports.random((CHUNK, self._plan.sensors)).argsort(axis=1).argsort(axis=1)
        return np.asarray(order < self._reports.integers(1, REPORTED + 1, (CHUNK, 1)))

    def _turn(self) -> None:
        """Let the weights drift."""
        kept = math.exp(-self._plan.drift * CHUNK / PERIOD)
        step = math.sqrt(1.0 - kept * kept)
        for weights in (self._linear, self._pairs):
            weights *= kept
            weights += step * self._turning.standard_normal(weights.shape)

    def _output(self, states: Floats) -> Floats:
        """F, the sum of the parts."""
        linear = states @ self._linear / np.linalg.norm(self._linear @ self._parts)
        weights = np.triu(self._pairs, 1)
        weights = weights + weights.T
        if not weights.any():
            return np.asarray(linear)  # a single sensor has no pairs
        # The mean and the variance of a quadratic form of normal variables.
        spread = weights @ self._parts @ self._parts.T
        products = ((states @ weights) * states).sum(axis=1) - np.trace(spread)
        products /= np.sqrt(2.0 * np.trace(spread @ spread))
        return np.asarray(np.sqrt(1.0 - PRODUCTS) * linear + np.sqrt(PRODUCTS) * products)
