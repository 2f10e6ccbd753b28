"""A real Apache Kafka for the tests: one node, KRaft, only on the loopback interface.

Maven downloads its jars from Maven Central (``pom.xml`` beside this file) to the user's cache folder. It has
two listeners: one without authentication, and one with a password, by PLAIN or SCRAM.
"""

from __future__ import annotations

import os
import random
import shutil
import signal
import socket
import subprocess
import sys
import time
import uuid
from base64 import urlsafe_b64encode
from contextlib import suppress
from hashlib import sha256
from pathlib import Path

from tests.jvm import BRIEF, Archive, cache

HERE = Path(__file__).parent
#: How long a broker may take to answer; the machines may be busy.
PATIENCE = 60.0
USER, PASSWORD = "reader", "open sesame"

_SETTINGS = """
process.roles=broker,controller
node.id=1
controller.quorum.voters=1@127.0.0.1:{controller}
listeners=PLAIN://127.0.0.1:{plain},LOCKED://127.0.0.1:{locked},CONTROLLER://127.0.0.1:{controller}
advertised.listeners=PLAIN://127.0.0.1:{plain},LOCKED://127.0.0.1:{locked}
listener.security.protocol.map=PLAIN:PLAINTEXT,LOCKED:SASL_PLAINTEXT,CONTROLLER:PLAINTEXT
controller.listener.names=CONTROLLER
inter.broker.listener.name=PLAIN
listener.name.locked.sasl.enabled.mechanisms=PLAIN,SCRAM-SHA-256
listener.name.locked.plain.sasl.jaas.config=\
org.apache.kafka.common.security.plain.PlainLoginModule required user_{user}="{password}";
listener.name.locked.scram-sha-256.sasl.jaas.config=\
org.apache.kafka.common.security.scram.ScramLoginModule required;
log.dirs={folder}/data
auto.create.topics.enable=false
offsets.topic.replication.factor=1
offsets.topic.num.partitions=4
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
transaction.state.log.num.partitions=4
share.coordinator.state.topic.replication.factor=1
share.coordinator.state.topic.min.isr=1
group.initial.rebalance.delay.ms=0
group.min.session.timeout.ms=1000
log.retention.check.interval.ms=1000
transaction.abort.timed.out.transaction.cleanup.interval.ms=500
broker.session.timeout.ms=2000
broker.heartbeat.interval.ms=300
log.segment.delete.delay.ms=100
"""


class UnavailableError(Exception):
    """No broker can be started here; the message says why and what to do."""


class Broker:
    """A broker that can be stopped and restarted with its data.

    Parameters
    ----------
    folder
        The folder for its data and its log.
    """

    def __init__(self, folder: Path) -> None:
        ports = {name: free_port() for name in ("plain", "locked", "controller")}
        #: Address of the listener without authentication.
        self.address = f"127.0.0.1:{ports['plain']}"
        #: Address of the listener that requires USER and PASSWORD.
        self.locked_address = f"127.0.0.1:{ports['locked']}"
        self._port = ports["plain"]
        self._log = folder / "broker.log"
        self._archive = Archive("test-broker", jars().name)
        self._java = ["java", "-Xms256m", "-Xmx512m", *BRIEF, "-cp", f"{jars()}/*"]
        self._settings = folder / "server.properties"
        self._settings.write_text(_SETTINGS.format(folder=folder, user=USER, password=PASSWORD, **ports))
        cluster = urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")
        # One in 64 of these ids begins with a dash; as a separate argument it would be an option.
        tool = ["kafka.tools.StorageTool", "format", f"--cluster-id={cluster}", "-c", str(self._settings)]
        tool.append(f"--add-scram=SCRAM-SHA-256=[name={USER},password={PASSWORD}]")
        command = [*self._java, *self._archive.used, *tool]
        subprocess.run(command, check=True, capture_output=True, timeout=PATIENCE)
        self._process: subprocess.Popen[bytes] | None = None
        self._restarted = False

    def start(self) -> None:
        """Start the broker unless it is running, and wait until it answers."""
        if self._process is not None:
            return
        # It makes up for itself after several starts: a broker stopped once is likely to be stopped again.
        archive = self._archive.used or (self._archive.made if self._restarted else [])
        options = [*archive, "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn"]
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(
                [*self._java, *options, "kafka.Kafka", str(self._settings)], stdout=log, stderr=log
            )
        deadline = time.monotonic() + PATIENCE
        while not _answers(self._port):
            if self._process.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError(f"the broker did not start:\n{self.log()[-2000:]}")
            time.sleep(0.05)

    def log(self) -> str:
        """Its log so far."""
        return self._log.read_text()

    def stop(self, hard: bool = False) -> None:
        """Shut it down, or kill it if ``hard``."""
        if self._process is not None:
            self._process.send_signal(signal.SIGKILL if hard else signal.SIGTERM)
            self._process.wait(PATIENCE)
            self._process, self._restarted = None, True
            self._archive.keep()


def free_port() -> int:
    """A port that is currently free.

    It is not an ephemeral port, from 32,768 on: one of those might be taken before the broker binds to it.
    """
    chance = random.SystemRandom()
    while True:
        port = chance.randrange(16_384, 32_768)
        with socket.socket() as s, suppress(OSError):
            s.bind(("127.0.0.1", port))
            return port


def jars(pom: str = "pom.xml", name: str = "test-broker") -> Path:
    """The folder with the broker's jars, or those of another ``pom``, which are downloaded if necessary.

    Raises
    ------
    UnavailableError
        If Java or Maven is missing, or Maven could not download them.
    """
    missing = [tool for tool in ("java", "mvn") if shutil.which(tool) is None]
    if missing:
        raise UnavailableError(
            f"{' and '.join(missing)} not found; install them or set STREAMKARMA_TEST_KAFKA"
        )
    version = sha256((HERE / pom).read_bytes()).hexdigest()[:12]
    folder = cache() / f"{name}-{version}"
    if not folder.is_dir():
        # Renamed when complete, so that an interrupted run leaves nothing incomplete.
        partial = folder.with_name(f"{folder.name}.{os.getpid()}")
        goal = ["dependency:copy-dependencies", f"-DoutputDirectory={partial}"]
        done = subprocess.run(
            ["mvn", "-q", "-B", "-f", str(HERE / pom), *goal],
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode != 0:
            shutil.rmtree(partial, ignore_errors=True)
            raise UnavailableError(f"Maven could not fetch {name}: {done.stdout[-500:]}")
        try:
            partial.replace(folder)
        except OSError:
            # Another process that downloaded them at the same time was faster.
            shutil.rmtree(partial)
            if not folder.is_dir():
                raise
    return folder


def _answers(port: int) -> bool:
    with socket.socket() as s:
        return s.connect_ex(("127.0.0.1", port)) == 0


if __name__ == "__main__":
    # For manual use: run a broker in a folder until interrupted.
    _folder = Path(sys.argv[1])
    _folder.mkdir(parents=True, exist_ok=True)
    _broker = Broker(_folder.absolute())
    _broker.start()
    print(_broker.address, _broker.locked_address, flush=True)
    _ends = {signal.SIGINT, signal.SIGTERM}
    # Not before the broker was started, because it would inherit the mask.
    signal.pthread_sigmask(signal.SIG_BLOCK, _ends)
    signal.sigwait(_ends)
    _broker.stop()
