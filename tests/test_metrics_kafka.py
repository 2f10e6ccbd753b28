"""Metrics of a topic, on a real broker."""

from __future__ import annotations

import signal
from urllib.error import HTTPError, URLError
from urllib.request import urlopen

import pytest

from tests.broker import free_port
from tests.cluster import Cluster, events, spread, until
from tests.watched import samples


@pytest.mark.parametrize(("answers", "shares"), [(True, False), (False, False), (True, True)])
def test_what_a_topic_has_metrics_of_is_told(cluster: Cluster, answers: bool, shares: bool) -> None:
    source, output, port = cluster.topic("in", 2), cluster.topic("out"), free_port()
    given = events(300)
    cluster.put(source, spread(given, 2))
    # Nobody can read these: they are no lag.
    cluster.abort(source, events(12))
    there = ["--output-topic", output] if answers else []
    there += ["--share", cluster.name("share"), "--task", "binary"] if shares else ["--model", "m"]
    found: dict[tuple[str, ...], float] = {}

    def committed() -> bool:
        try:
            with urlopen(f"http://127.0.0.1:{port}/metrics") as answer:
                found.update(samples(answer.read()))
        except (HTTPError, URLError):
            return False
        answered = found.get(("streamkarma_commit_latency_seconds_count",)) == len(given)
        return answered and [*lag().values()] == [0.0, 0.0]

    def lag() -> dict[tuple[str, ...], float]:
        return {key[1:]: value for key, value in found.items() if key[0] == "streamkarma_lag_records"}

    with cluster.start(source, *there, "--metrics", str(port)) as running:
        until(committed, running)
        running.send_signal(signal.SIGTERM)
        running.communicate(timeout=60)
    assert found["streamkarma_ready",] == 1
    assert lag().keys() == {("0", source), ("1", source)}
    transactions = found["streamkarma_transaction_duration_seconds_count",]
    assert (transactions > 0) == answers
    assert 0 <= found["streamkarma_checkpoint_age_seconds",] < 60
    assert (("streamkarma_checkpoint_bytes",) in found) != shares
