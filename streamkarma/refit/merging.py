"""Refits of merged models: those that have seen the most events are kept.

Samples cannot be combined: it is unknown which of their events are from the common base. So the merged model
has the sample, the trees and the schedule of one of them, translated to its own names and classes.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from streamkarma._engine import Translation
from streamkarma.arrays import Arrays, part_of, with_prefix
from streamkarma.core.learner import ANY
from streamkarma.events.reservoir import TARGET
from streamkarma.refit.ensemble import Ensemble
from streamkarma.refit.refits import Refits

State = tuple[dict[str, Any], Arrays]

#: In place of a new index, for what was dropped.
_DROPPED = 0xFFFFFFFF


class _Translated(NamedTuple):
    """Old indices of coordinates or attributes, ascending, and their new ones."""

    before: NDArray[np.int64]
    after: NDArray[np.int64]

    def at(self, indices: NDArray[Any]) -> NDArray[np.intp]:
        return np.searchsorted(self.before, indices)


def merge(refits: Sequence[Refits], translations: Sequence[Translation]) -> None:
    """Copy into the first the state of the one that has seen the most events.

    Parameters
    ----------
    refits
        Those of the base, and of the parts that continued from it.
    translations
        How the encoder of each translates to the merged one.
    """
    states = [
        _translated(each.state(), translation) for each, translation in zip(refits, translations, strict=True)
    ]
    refits[0].restore(*max(states, key=_rank), ANY)


def relabel(refits: Refits, places: Sequence[int]) -> None:
    """Renumber each class ``c`` as ``places[c]``."""
    header, arrays = refits.state()
    table = np.array(places)
    for number in range(len(header["samples"])):
        facts = arrays[f"{number}.facts"]
        facts[:, TARGET] = table[facts[:, TARGET].astype(np.int64)]
    for name in _fitted(header):
        _put(arrays, name, _relabelled(_ensemble(arrays, name), table))
    refits.restore(header, arrays, ANY)


def _rank(state: State) -> tuple[int, bytes]:
    """Rank by the number of events; ties are broken by the contents."""
    header, arrays = state
    digest = hashlib.sha256()
    for name in sorted(arrays):
        digest.update(np.ascontiguousarray(arrays[name]).tobytes())
    return header["samples"][0]["events"], digest.digest()


def _translated(state: State, translation: Translation) -> State:
    """A state translated to the names of the merged model."""
    header, arrays = state
    known = header["indices"]
    maps: dict[str, _Translated] = {}
    following = known["next"]
    for kind, news in (("attributes", translation.attributes), ("coordinates", translation.coordinates)):
        stored = [arrays[name] for name in arrays if name.endswith(f".{kind}")]
        maps[kind] = index_map = _index_map(dict(known[kind]), news, stored, following)
        following = max(following, int(index_map.after.max(initial=0)) + 1)
    for number in range(len(header["samples"])):
        _translate_sample(arrays, f"{number}.", maps)
    for name in _fitted(header):
        _put(arrays, name, _translated_ensemble(_ensemble(arrays, name), maps))
    return {**header, "indices": {"next": following, "attributes": [], "coordinates": []}}, arrays


def _index_map(
    lasting: dict[int, int],
    news: NDArray[np.uint32],
    stored: list[NDArray[Any]],
    following: int,
) -> _Translated:
    """Map indices: those of the encoder to its new ones, evicted ones to ones never used."""
    moved = {lasting.get(old, old): new for old, new in enumerate(news.tolist()) if new != _DROPPED}
    before = np.unique(np.concatenate([each.astype(np.int64) for each in stored]))
    after = []
    for index in before.tolist():
        if index not in moved:
            moved[index] = following
            following += 1
        after.append(moved[index])
    return _Translated(before, np.array(after, np.int64))


def _translate_sample(arrays: Arrays, prefix: str, maps: dict[str, _Translated]) -> None:
    for kind, index_map in maps.items():
        arrays[prefix + kind] = index_map.after[index_map.at(arrays[prefix + kind])].astype(np.int32)


def _translated_ensemble(ensemble: Ensemble, maps: dict[str, _Translated]) -> Ensemble:
    """The translated trees, with columns in ascending order again."""
    index_map, owners = maps["coordinates"], maps["attributes"]
    at = index_map.at(ensemble.coordinates)
    order = np.argsort(index_map.after[at])
    place = np.argsort(order)
    inner = ensemble.left >= 0
    column = np.where(inner, ensemble.feature, 0)
    return ensemble._replace(
        coordinates=index_map.after[at][order],
        attributes=owners.after[owners.at(ensemble.attributes)][order],
        feature=np.where(inner, place[column], ensemble.feature).astype(np.int32),
    )


def _relabelled(ensemble: Ensemble, places: NDArray[np.int64]) -> Ensemble:
    """The trees with renumbered classes, in ascending order again."""
    classes = places[ensemble.classes]
    order = np.argsort(classes)
    if len(classes) == 2 and order[0] == 1:
        # The output for the second of two is minus that for the first or, for shares, the rest of 1.
        whole = 1.0 if ensemble.are_shares[0] else 0.0
        ensemble = ensemble._replace(base=whole - ensemble.base, unit=-ensemble.unit)
    elif ensemble.value.shape[1] > 1:
        ensemble = ensemble._replace(
            base=ensemble.base[order], value=np.ascontiguousarray(ensemble.value[:, order])
        )
    elif len(classes) > 2:
        outputs = np.argsort(order)[ensemble.outputs].astype(np.int32)
        ensemble = ensemble._replace(base=ensemble.base[order], outputs=outputs)
    return ensemble._replace(classes=classes[order])


def _fitted(header: dict[str, Any]) -> list[str]:
    return [name for name, events in header["fitted"].items() if events]


def _ensemble(arrays: Arrays, name: str) -> Ensemble:
    return Ensemble.restored(part_of(arrays, f"{name}."))


def _put(arrays: Arrays, name: str, ensemble: Ensemble) -> None:
    arrays.update(with_prefix(f"{name}.", ensemble.state()))
