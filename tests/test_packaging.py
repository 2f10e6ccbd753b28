"""What can be checked of the workflows and their results without running them."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parents[1]
WORKFLOWS: dict[str, dict[Any, Any]] = {
    path.stem: yaml.safe_load(path.read_text()) for path in (ROOT / ".github/workflows").glob("*.yml")
}
#: YAML 1.1 reads the word as a boolean.
ON = True
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
CARGO = tomllib.loads((ROOT / "streamkarma/engine/Cargo.toml").read_text())


def uses(job: dict[str, Any], action: str) -> list[dict[str, Any]]:
    """The inputs that a job passes to an action, once for each step that uses it."""
    return [step.get("with", {}) for step in job["steps"] if step.get("uses", "").startswith(f"{action}@")]


def test_wheels_are_built_for_every_system_on_a_machine_that_can_run_them() -> None:
    jobs = WORKFLOWS["wheels"]["jobs"]
    machines = {each["target"]: each["runner"] for each in jobs["wheel"]["strategy"]["matrix"]["include"]}
    systems = {"linux": "ubuntu", "apple": "macos", "windows": "windows"}
    for target, runner in machines.items():
        assert runner.startswith(next(own for name, own in systems.items() if name in target)), target
    assert {(target.split("-")[0], next(s for s in systems if s in target)) for target in machines} == {
        ("x86_64", "linux"), ("aarch64", "linux"), ("x86_64", "apple"), ("aarch64", "apple"),
        ("x86_64", "windows"),
    }  # fmt: skip
    assert "--release" in uses(jobs["wheel"], "PyO3/maturin-action")[0]["args"]
    assert uses(jobs["sdist"], "PyO3/maturin-action")[0]["command"] == "sdist"


def test_one_wheel_serves_all_versions_of_python() -> None:
    least = re.fullmatch(r">=3\.(\d+)", PYPROJECT["project"]["requires-python"])
    assert least is not None
    assert f"abi3-py3{least[1]}" in CARGO["dependencies"]["pyo3"]["features"]


def test_only_a_tag_releases_and_only_a_release_publishes() -> None:
    wheels = WORKFLOWS["wheels"]
    assert "branches" not in wheels[ON]["push"]
    release, publish = wheels["jobs"]["release"], wheels["jobs"]["publish"]
    for job in (release, publish):
        assert "github.event_name == 'push'" in job["if"]
    assert set(release["needs"]) == {"wheel", "sdist"}
    assert publish["needs"] == "release"
    assert "vars.PUBLISH" in publish["if"]
    assert list(publish["permissions"]) == ["id-token"]


@pytest.mark.parametrize("name", WORKFLOWS)
def test_a_workflow_only_reads_and_needs_no_secret(name: str) -> None:
    assert WORKFLOWS[name]["permissions"] == {"contents": "read"}
    assert "secrets." not in str(WORKFLOWS[name])


def test_ci_runs_what_anybody_can_run() -> None:
    (job,) = WORKFLOWS["ci"]["jobs"].values()
    assert job["steps"][-1]["run"] == ".ci/run"


def test_the_readme_names_the_rust_that_the_engine_needs() -> None:
    assert f"Rust](https://rustup.rs) {CARGO['package']['rust-version']}" in (ROOT / "README.md").read_text()
