"""What goes with a batch of events keeps step with it."""

from __future__ import annotations

from streamkarma import KARMAClassifier
from streamkarma.runtime.fields import Taken
from streamkarma.runtime.gathered import Gathered


def test_complete_vectors_stay_beside_their_events() -> None:
    g = Gathered(KARMAClassifier().batch())
    assert g.extend([{"a": 1.0}], [None], None, 0, False) == 1
    assert g.full == []
    g.batch.append({"a": 2.0}, False)
    g.append(None, None, Taken(None, 1.0, {"a": 2.0}), 1, None)
    assert g.extend([{"a": 3.0}], [None], None, 2, False) == 1
    given = [Taken(None, 1.0, None), Taken(None, 1.0, {"a": 5.0})]
    assert g.extend([{"a": 4.0}, {"a": 5.0}], [None, None], given, 3, False) == 2
    assert g.full == [None, {"a": 2.0}, None, None, {"a": 5.0}]
    assert len(g.labels) == len(g.full)
