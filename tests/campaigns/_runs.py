"""Runs of ``learn``, with options of every kind chosen at random, and the records for them."""

from __future__ import annotations

import random
from typing import Any, NamedTuple

from streamkarma.runtime.explaining import ExplanationLimits
from streamkarma.runtime.plan import Plan
from tests.campaigns._streams import Case, any_case

LOSSES: dict[str, dict[bool, list[str]]] = {
    "karma": {True: ["absolute", "huber", "epsilon_insensitive"], False: ["hinge", "squared_hinge"]},
    "auto": {True: ["absolute"], False: []},
}
#: Number and text of the same entity, and one with a long name.
ENTITIES: list[list[Any]] = [
    ["u1", "u2"],
    [1, 2, 3, "1", 1.0],
    [f"e{i}" for i in range(12)],
    ["x" * 30, True, 1],
]
#: More than the 32 from which on labels are counted by word.
WORDS = ["ab", "the", "quick", "brown", "fox", "jumps", "over", "grün", *(f"word{n}" for n in range(40))]


class Run(NamedTuple):
    """A plan, and what its records are made of.

    Attributes
    ----------
    plan
        The plan, without a model.
    case
        Its learner and the attributes of its stream.
    entities
        The entities; empty if their past is not remembered.
    has_texts
        Whether records also have words, tags and times.
    """

    plan: Plan
    case: Case
    entities: list[Any]
    has_texts: bool

    def record(self, rng: random.Random, number: int) -> dict[str, Any]:
        """A record without a label; ``number`` is that of the event."""
        record = {"id": number, **self.case.record(rng)}
        if self.plan.fields.get("id") is None and self.plan.pending:
            del record["id"]
        if self.entities and rng.random() < 0.95:
            record["who"] = rng.choice([*self.entities, *self.entities, None])
        if "time" in self.plan.fields:
            record["ts"] = rng.choice([*(1000.0 + number + late for late in (0, 0, 0, -5, 3)), "bad", None])
        if "weight" in self.plan.fields:
            record["w"] = rng.choice([1, 1, 0.25, 4, 0])
        return record | self._texts(rng)

    def _texts(self, rng: random.Random) -> dict[str, Any]:
        if not self.has_texts or rng.random() < 0.3:
            return {}
        when = f"2024-0{rng.randrange(1, 10)}-1{rng.randrange(10)}T0{rng.randrange(10)}:00:00Z"
        words = [rng.choice(WORDS) for _ in range(rng.randrange(1, 9))]
        return {"msg": " ".join(words), "tags": words[:3], "when": when}


def any_run(rng: random.Random) -> Run:
    """A run with a learner, a task and options of every kind."""
    case = any_case(rng)
    entities = rng.choice(ENTITIES) if rng.random() < 0.4 else []
    waiting = rng.choice([0, 0, 3, 30])
    fields = _fields(rng, waiting, entities)
    options = {**case.options, **_bounds(rng), **_costs(rng, case), **_loss(rng, case)}
    if entities:
        options |= _memory(rng, timed="time" in fields)
    if case.learner == "auto" and rng.random() < 0.1:
        options["refit"] = rng.choice(["boosting", "trees"])
    # These end a run whose labels turn out to be of another task.
    told = options.keys() & {"class_weight", "threshold", "loss"}
    regret = rng.choice(["none", "none", "zero", "mean,complete-case"])
    plan = Plan(
        task=_kind(case) if told else case.task,
        learner=case.learner,
        options=options,
        fields=fields,
        unlabelled=rng.choice([None, None, "ignore"]),
        pending=waiting or None,
        pending_seconds=rng.choice([None, 15.0]) if waiting else None,
        share_label=rng.choice([None, "off"]) if waiting and entities else None,
        regret=regret,
        # Too small for all events, or large enough.
        regret_memory=None if regret == "none" else rng.choice([20, 500]),
        drift=rng.random() < 0.5,
        explaining=ExplanationLimits(3) if rng.random() < 0.1 else None,
    )
    return Run(plan, case, entities, has_texts=rng.random() < 0.2)


def _fields(rng: random.Random, waiting: int, entities: list[Any]) -> dict[str, Any]:
    fields: dict[str, Any] = {}
    # A label may also be addressed to an entity alone.
    if (waiting and not entities) or rng.random() < 0.3:
        fields["id"] = "id"
    if rng.random() < 0.3:
        fields["weight"] = "w"
    if rng.random() < 0.3:
        fields["time"] = "ts"
    if ignored := [name for name in ("b", "who") if rng.random() < 0.2]:
        fields["ignore"] = tuple(ignored)
    return fields


def _bounds(rng: random.Random) -> dict[str, Any]:
    """What all learners have."""
    each: dict[str, Any] = {
        "forget": rng.choice([1.0, 20.0]),
        "coverage": rng.choice([0.5, 0.9]),
        "max_attributes": rng.choice([1, 3, 6]),
        "max_coordinates": rng.choice([1, 4, 9]),
    }
    return {name: value for name, value in each.items() if rng.random() < 0.2}


def _costs(rng: random.Random, case: Case) -> dict[str, Any]:
    if not case.labels:
        return {}
    each: dict[str, Any] = {
        "class_weight": rng.choice(["balanced", {str(case.labels[0]).lower(): 3.0}]),
        "threshold": rng.choice(["balanced", 0.3] if len(case.labels) == 2 else ["balanced"]),
    }
    return {name: value for name, value in each.items() if rng.random() < 0.2}


def _loss(rng: random.Random, case: Case) -> dict[str, Any]:
    losses = LOSSES.get(case.learner, {}).get(not case.labels, [])
    return {"loss": rng.choice(losses)} if losses and rng.random() < 0.3 else {}


def _memory(rng: random.Random, timed: bool) -> dict[str, Any]:
    """What is remembered of entities."""
    each: dict[str, Any] = {
        "carry": rng.choice(["off", "last"]),
        "carry_for": rng.choice([0.5, 5.0, 30.0]),
        "carry_labels": False,
        "max_entities": rng.choice([1, 2, 5]),
    }
    chosen = {name: value for name, value in each.items() if rng.random() < 0.4}
    return {"entity": "who", **({"time": "ts"} if timed else {}), **chosen}


def _kind(case: Case) -> str:
    if not case.labels:
        return "regression"
    return "binary" if len(case.labels) == 2 else "multiclass"
