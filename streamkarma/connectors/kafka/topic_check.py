"""Attach to topics: the learner on Kafka, for weeks, whatever happens to it."""

from __future__ import annotations

import difflib
import tempfile
import time
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

from kafka import KafkaAdminClient, KafkaConsumer, TopicPartition, errors
from kafka.admin import MemberToRemove

from streamkarma.connectors.jsonlines.sink import check_writable
from streamkarma.connectors.kafka.connection import SetbackError, Trouble, connect, understood
from streamkarma.connectors.kafka.journal import positions_state
from streamkarma.connectors.kafka.reader import Worker
from streamkarma.connectors.kafka.source import Attachment, Job
from streamkarma.errors import RunError
from streamkarma.lock import ModelLock
from streamkarma.runtime.destinations import Destinations, check_distinct
from streamkarma.runtime.plan import Plan
from streamkarma.runtime.run import Progress
from streamkarma.runtime.signals import StopSignal

#: After a signal the process ends within so long, even if the brokers have gone: what is on
#: disk and in the topics is right at any moment.
GRACE_SECONDS = 8.0
#: Setbacks in a row, without a commit between them, after which there is no use in trying.
MOST_SETBACKS = 6
#: On a pipe the predictions may be all that is wanted; a service is started again some day.
_NO_MODEL = (
    "no --model: what is learned is lost at the end, and the next start goes on at the group's offsets"
)
#: Once the brokers were there, they are waited for until a signal comes.
_FOREVER = float("inf")


class Attach:
    """A run on topics.

    Parameters
    ----------
    plan
        What to run; its input counts for nothing.
    at
        On which topics.
    """

    def __init__(self, plan: Plan, at: Attachment) -> None:
        self._plan = plan
        self._at = at
        self._stop = StopSignal(grace=GRACE_SECONDS)

    def execute(self) -> int:
        """Run to the end that was asked for, a signal, or a reader that has gone.

        Returns
        -------
        The exit code: 0, or 130 or 143 after a signal.

        Raises
        ------
        StreamkarmaError
            If the run cannot go on. What was committed is kept.
        """
        plan = self._plan
        with ExitStack() as stack:
            check_distinct({"--model": plan.model, "--predictions": plan.predictions,
                            "--dead-letters": plan.dead_letters, "--summary": plan.summary})  # fmt: skip
            check_writable(plan.summary)
            trouble = stack.enter_context(Trouble())
            stack.enter_context(self._stop.installed())
            path = plan.model
            if path is not None:
                # Of two that attach with it the older gives way; learn would not.
                stack.callback(ModelLock(path, shared=True).release)
            else:
                path = str(Path(stack.enter_context(tempfile.TemporaryDirectory())) / "model.karma")
            files = Destinations(plan, stack)
            dead = self._at.dead_letter_topic
            kept = (
                "--dead-letter-topic keeps them all" if dead is None else f"all of them are in topic {dead}"
            )
            job = Job(plan, self._at, path, files, trouble, self._stop, Progress(plan, kept))
            if plan.model is None:
                job.say(_NO_MODEL)
            self._worker = Worker(job)
            ignored_before = self._worker.session.ignored_before
            job.progress.begin(self._worker.session)
            try:
                self._look_around(job)
            except InterruptedError:
                return 128 + int(self._stop.number or 0)
            try:
                self._work(job)
                job.progress.over()
                self._worker.session.wait_until(job.stopped)
                self._worker.session.compare()
            except InterruptedError:
                pass
            finally:
                session = self._worker.session
                session.ignored_before = ignored_before
                session.leave()
                job.progress.close(session, stack, **self._more(job))
        if self._stop.number is not None:
            return 128 + self._stop.number
        job.progress.check_use()
        return 0

    def _work(self, job: Job) -> None:
        """Work, and after each setback begin again from what is safe."""
        while True:
            try:
                self._worker.work()
                self._resign(job)
                return
            except SetbackError as setback:
                job.setbacks += 1
                if job.setbacks > MOST_SETBACKS:
                    raise RunError(f"{job.setbacks} attempts in a row failed: {setback}") from setback
                job.say(f"setback: {setback}; going on from the last commit")
                self._worker.session.leave()
                job.begin_again()
                self._pause(0.25 * 2**job.setbacks)
                self._worker = Worker(job)

    def _resign(self, job: Job) -> None:
        """Leave the group for good, so that its other processes need not wait for this one.

        A member with a name is kept a place, which is right for a crash, and wrong for an end;
        but if the name was given by the user, so was the wish to keep the place.
        """
        if self._plan.model is None or job.settings.get("group_instance_id") is not None:
            return
        with suppress(errors.KafkaError):
            admin = KafkaAdminClient(**job.settings.admin(bootstrap_timeout_ms=2000))
            try:
                admin.remove_group_members(self._at.group, [MemberToRemove(group_instance_id=job.instance)])
            finally:
                admin.close()

    def _pause(self, seconds: float) -> None:
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            if self._stop.has_come():
                raise InterruptedError
            time.sleep(0.05)

    def _look_around(self, job: Job) -> None:
        """See whether the brokers and the topics are there, and where these end."""

        def make(milliseconds: int) -> Any:
            arguments = job.settings.consumer(isolation_level="read_committed")
            arguments.pop("group_instance_id", None)
            return KafkaConsumer(
                **{**arguments, "bootstrap_timeout_ms": milliseconds, "allow_auto_create_topics": False}
            )

        patience = self._at.connect_timeout
        consumer = connect(make, job.settings, job.trouble, patience, job.say, job.stopped)
        try:
            there = consumer.topics()
            labels = () if job.topics.labels is None else (job.topics.labels,)
            for name in (*job.topics.names, *labels, *sorted(job.topics.avoid)):
                if name not in there:
                    near = difflib.get_close_matches(name, sorted(there), 1, 0.8)
                    hint = f"; did you mean {near[0]}?" if near else "; create it, or check --brokers"
                    raise RunError(f"there is no topic {name}{hint}")
            matching = job.topics.matching(there)
            if not matching:
                job.say(f"no topic matches {job.topics.pattern} yet; waiting for one")
            if self._at.until_end:
                partitions = [
                    TopicPartition(name, number)
                    for name in (*matching, *labels)
                    for number in consumer.partitions_for_topic(name)
                ]
                if not partitions:
                    raise RunError(f"no topic matches {job.topics.pattern}: there is no end to read to")
                job.ends = consumer.end_offsets(partitions)
        except errors.KafkaError as error:
            raise RunError(str(understood(error))) from error
        finally:
            consumer.close(autocommit=False, timeout_ms=1000)
        job.patience = _FOREVER

    def _more(self, job: Job) -> dict[str, Any]:
        """What the summary says beside what every summary says."""
        kafka = {
            "group": self._at.group,
            "positions": positions_state(self._worker.positions),
            "replayed": job.replayed,
            "lost": job.lost,
            "recreated": sorted(job.recreated),
            "tombstones": job.tombstones,
        }
        return {"kafka": kafka}
