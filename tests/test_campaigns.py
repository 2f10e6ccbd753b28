"""The campaigns in their short form, and the page that lists them."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.broker import UnavailableError
from tests.campaigns import campaigns, row_of

PAGE = Path(__file__).parents[1] / "docs" / "robustness.md"
MODULES = campaigns()
#: Has its own broker and kills at random moments; test_crashes.py kills at the worst ones by default.
SLOW = "kills_on_a_broker"


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.slow) if name == SLOW else name for name in MODULES]
)
def test_short_form(name: str, tmp_path: Path) -> None:
    try:
        MODULES[name].run(MODULES[name].SHORT, 0, tmp_path)
    except UnavailableError as error:
        if os.environ.get("STREAMKARMA_TEST_KAFKA_REQUIRED"):
            raise
        pytest.skip(f"no Kafka to test with: {error}")


@pytest.mark.parametrize("name", MODULES)
def test_the_documentation_lists_it(name: str) -> None:
    row = row_of(name, MODULES[name])
    assert row in PAGE.read_text().splitlines(), f"{PAGE} lacks this row, or has an older one:\n{row}"
