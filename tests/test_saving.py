"""A model file is whole at every moment, can be read back, and has one writer."""

from __future__ import annotations

import errno
import fcntl
import os
import random
import stat
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier
from typing import Any
from unittest.mock import patch

import pytest

from streamkarma import ExplicitKARMAClassifier, SubspaceClassifier, SubspaceRegressor, load, save
from streamkarma.errors import ModelFileError, RunError, StreamkarmaError
from streamkarma.lock import ModelLock
from streamkarma.replacing import backup_of
from tests.conftest import Program
from tests.loops import run_of


def made(events: int = 5) -> ExplicitKARMAClassifier:
    model = ExplicitKARMAClassifier()
    for i in range(events):
        model.learn_one({"a": float(i), "b": f"n{i}"}, i % 2 == 0)
    return model


@pytest.mark.parametrize("kind", [SubspaceClassifier, SubspaceRegressor])
@pytest.mark.parametrize("forget", [1, 2, 3])
def test_a_category_that_was_all_but_forgotten_comes_back(tmp_path: Path, kind: Any, forget: float) -> None:
    rng = random.Random(0)
    model = kind(max_pairwise_coordinates=1, rank=8, forget=forget)
    records, labels = [], []
    for _ in range(3000):
        records.append({"a": rng.gauss(0.0, 1.0), "b": f"n{rng.randrange(20)}"})
        labels.append(rng.random() < 0.5 if kind is SubspaceClassifier else rng.gauss(0.0, 1.0))
    model.run(model.read(records, [True] * 3000), labels, [1.0] * 3000)
    save(model, tmp_path / "model")
    for x in ({}, {"b": "n3"}, {"a": 1.0}):
        assert load(tmp_path / "model").predict_one(x) == model.predict_one(x)


def test_what_could_not_be_read_back_is_not_saved(tmp_path: Path) -> None:
    path, model = tmp_path / "model", made()
    save(model, path)
    before = path.read_bytes()
    learned = model._pipeline.learner.arrays()
    spoilt = {name: array * float("nan") if name == "0.weights" else array for name, array in learned.items()}
    with (
        patch.object(model._pipeline.learner, "arrays", lambda: spoilt),
        pytest.raises(
            ModelFileError, match="was not saved to .*model, since it could not be read back: what"
        ),
    ):
        save(model, path)
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == ["model"]


def test_the_model_before_is_kept_and_offered(tmp_path: Path) -> None:
    path = tmp_path / "model"
    for events in (1, 2, 3):
        save(made(events), path)
    assert load(tmp_path / "model.bak").steps == 2
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(
        ModelFileError, match=f"truncated.*to restore the previous one: cp {path}.bak {path}$"
    ):
        load(path)
    backup_of(path).write_bytes(b"")
    with pytest.raises(ModelFileError, match="from a copy$"):
        load(path)


#: Replaces a file in a process that is killed at its k-th system call, for every k.
KILLED = """
import os, sys
from pathlib import Path
from streamkarma import replacing

def killing(original):
    def call(*args, **kwargs):
        global left
        left -= 1
        if not left:
            os._exit(9)
        return original(*args, **kwargs)
    return call

path, calls, code = Path(sys.argv[1]), 0, 9
while code:
    calls += 1
    child = os.fork()
    if not child:
        left = calls
        for name in ("open", "close", "link", "unlink", "replace", "fsync", "fchmod", "fdopen", "listdir"):
            setattr(os, name, killing(getattr(os, name)))
        replacing.replace(path, [b"new", b" and whole"], lambda temporary: None)
        os._exit(0)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    assert path.read_bytes() in (b"old", b"new and whole"), calls
    assert not path.with_name("model.bak").exists() or path.with_name("model.bak").read_bytes(), calls
    path.write_bytes(b"old")
assert sorted(os.listdir(path.parent)) == ["model", "model.bak"], os.listdir(path.parent)
print(calls)
"""


def test_killed_at_any_moment_there_is_a_whole_file(tmp_path: Path) -> None:
    (tmp_path / "model").write_bytes(b"old")
    done = subprocess.run([sys.executable, "-c", KILLED, str(tmp_path / "model")], capture_output=True,
                          text=True, check=False)  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) > 8


def test_without_links_the_file_before_is_copied(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any) -> None:
        raise OSError(errno.EPERM, "Operation not permitted")

    monkeypatch.setattr(os, "link", refuse)
    save(made(1), tmp_path / "model")
    save(made(2), tmp_path / "model")
    assert load(tmp_path / "model.bak").steps == 1


def test_a_model_keeps_its_mode_and_its_place(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    link, path = tmp_path / "link", tmp_path / "elsewhere" / "model"
    link.symlink_to(path)
    for mode in (0o600, 0o664):
        save(made(), link)
        assert link.is_symlink()
        path.chmod(mode)
        save(made(), link)
        assert stat.S_IMODE(path.stat().st_mode) == mode
    assert load(link).steps == 5
    assert os.listdir(tmp_path) == ["elsewhere", "link"] or os.listdir(tmp_path) == ["link", "elsewhere"]


def test_what_killed_runs_left_is_removed(tmp_path: Path) -> None:
    mine = [".model.abcdefgh.tmp", ".model.x_1y2z3w.tmp"]
    others = [".model.abc.tmp", ".model2.abcdefgh.tmp", "model.abcdefgh.tmp", ".model.ABCDEFGH.tmp"]
    for name in (*mine, *others):
        (tmp_path / name).write_bytes(b"half a mod")
    with (tmp_path / mine[0]).open("rb") as in_use:
        fcntl.flock(in_use, fcntl.LOCK_EX)
        save(made(), tmp_path / "model")
    assert sorted(os.listdir(tmp_path)) == sorted(["model", mine[0], *others])


def test_one_process_learns_with_a_model_and_others_read_it(tmp_path: Path) -> None:
    path = str(tmp_path / "model")
    save(made(), path)
    first = run_of(model=path, input=os.devnull, predictions=None, quiet=True)
    with pytest.raises(RunError, match="model is in use: another process learns with it"):
        run_of(model=path)
    with pytest.raises(RunError, match="in use"):
        ModelLock(path, shared=True)
    run_of(model=path, learn=False)
    first.execute()
    assert sorted(os.listdir(tmp_path)) == ["model", "model.bak"]
    one, other = ModelLock(path, shared=True), ModelLock(path, shared=True)
    one.release()
    with pytest.raises(RunError, match="in use"):
        ModelLock(path)
    other.release()
    ModelLock(path).release()


def test_only_those_who_coordinate_share_a_model(tmp_path: Path) -> None:
    path = str(tmp_path / "model")
    one, again = (ModelLock(path, True, "group one") for _ in range(2))
    one.release()
    with pytest.raises(
        RunError, match="model is in use by group one; wait until it ends, or give another --mo"
    ):
        ModelLock(path, True, "group two")
    again.release()
    # What is left of others does not count.
    other = ModelLock(path, True, "group two")
    with pytest.raises(RunError, match="in use by group two"):
        ModelLock(path, True, "group one")
    other.release()


def test_those_who_begin_at_the_same_time_share_a_model(tmp_path: Path) -> None:
    begin = Barrier(6)

    def share(path: Path) -> ModelLock:
        begin.wait()
        return ModelLock(str(path), True, "group one")

    with ThreadPoolExecutor(6) as threads:
        for number in range(20):
            locks = list(threads.map(share, [tmp_path / f"model {number}"] * 6))
            assert len(locks) == 6
            for lock in locks:
                lock.release()


def test_a_link_to_a_model_is_the_model(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "model")
    lock = ModelLock(str(tmp_path / "link"))
    with pytest.raises(RunError, match="in use"):
        ModelLock(str(tmp_path / "model"))
    lock.release()


def test_a_killed_process_leaves_no_lock(tmp_path: Path) -> None:
    script = "from streamkarma.lock import ModelLock as L; lock = L('model'); print(1, flush=True); input()"
    with subprocess.Popen([sys.executable, "-c", script], cwd=tmp_path, stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE) as process:  # fmt: skip
        assert process.stdout is not None
        process.stdout.readline()
        with pytest.raises(RunError, match="in use"):
            ModelLock(str(tmp_path / "model"))
        process.kill()
        process.communicate()
    ModelLock(str(tmp_path / "model")).release()


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("", "--model .* is a folder; give the path of a file"),
        ("no/model", "the folder of --model .* does not exist"),
        ("file/model", "the folder of --model .* does not exist"),
        ("pipe", "it is not a regular file"),
        ("m" * 250, "File name too long"),
        ("loop", "cannot write the model"),
    ],
)
def test_a_model_that_cannot_be_written_is_said_at_the_start(tmp_path: Path, name: str, reason: str) -> None:
    (tmp_path / "file").touch()
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "loop").symlink_to("loop")
    before = set(os.listdir(tmp_path))
    with pytest.raises(StreamkarmaError, match=reason):
        run_of(model=str(tmp_path / name))
    assert set(os.listdir(tmp_path)) == before


def test_a_file_or_folder_that_is_write_protected(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # With patched system calls, since root may write everything.
    save(made(), tmp_path / "model")
    with monkeypatch.context() as patch:
        patch.setattr(os, "access", lambda *_: False)
        with pytest.raises(ModelFileError, match="cannot write the model to .*: it is write-protected"):
            run_of(model=str(tmp_path / "model"))

    def refuse(**_: Any) -> None:
        raise OSError(errno.EROFS, "Read-only file system")

    monkeypatch.setattr("tempfile.mkstemp", refuse)
    with pytest.raises(ModelFileError, match="cannot write the model to .*: Read-only file system"):
        run_of(model=str(tmp_path / "model"))


def test_the_command_says_it_before_it_reads(streamkarma: Program, tmp_path: Path) -> None:
    done = streamkarma("learn", "--learner", "explicit", "--model", str(tmp_path), records=[{"a": 1, "y": 2}])
    assert (done.code, done.stdout) == (2, b"")
    assert done.stderr == f"streamkarma: --model {tmp_path} is a folder; give the path of a file\n"
