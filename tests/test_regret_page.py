"""The page of a regret report in a real browser: it fits, requests nothing, and shows tooltips."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from streamkarma.regret.plot import draw
from tests.browser import CHROMIUM, Page
from tests.test_plot import LONG, NAMES, report, with_two_learners

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium")

TIP = "document.querySelector('.tip')?.textContent"


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    with Page(tmp_path_factory.mktemp("browser")) as page:
        yield page


@pytest.fixture
def shown(browser: Page) -> Page:
    return browser.reset()


def opened(shown: Page, made: dict[str, Any], folder: Path, width: int = 1280, height: int = 720) -> None:
    size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 500}
    shown.order("Emulation.setDeviceMetricsOverride", **size)
    draw(made, str(folder / "p.html"))
    shown.open((folder / "p.html").as_uri())
    shown.until("document.querySelectorAll('path.curve').length")


def point(shown: Page, chart: str, curve: int, part: float = 1.0) -> None:
    """Move the pointer to the end of a curve, or to a fraction of its length."""
    end = shown.value(f"""(() => {{
        const path = document.querySelectorAll('#{chart} path.curve')[{curve}];
        const end = path.getPointAtLength({part} * path.getTotalLength());
        const {{ x, y }} = new DOMPoint(end.x, end.y).matrixTransform(path.getScreenCTM());
        return [x, y];
    }})()""")
    shown.order("Input.dispatchMouseEvent", type="mouseMoved", x=end[0] - 2, y=end[1])


def press(shown: Page, key: str) -> None:
    shown.order("Input.dispatchKeyEvent", type="keyDown", key=key, code=key)


def test_what_is_pointed_at_is_told(shown: Page, tmp_path: Path) -> None:
    made = report(NAMES[:4])
    opened(shown, made, tmp_path)
    point(shown, "regret", 0)
    told = shown.until(TIP)
    last = made["learners"]["karma"]["regret"]["full"][-1]
    assert told == f"full16,384 events: {last['regret']:.0f} ± {2 * last['standard_error']:.1f}"
    # Between the points of a curve, its nearest one is shown, whatever else is near that.
    point(shown, "regret", 3, 0.7)
    assert shown.until(TIP, lambda text: text != told).startswith("class-mean8,192 events: ")
    point(shown, "losses", 2)
    assert shown.until(TIP, lambda text: "zero" in text) == "zero, held out16,384 events: 0.458"
    shown.order("Input.dispatchMouseEvent", type="mouseMoved", x=2, y=2)
    shown.until(TIP, lambda text: text is None)
    shown.value("document.querySelector('#losses svg').focus()")
    assert shown.until(TIP) == "zero, held out16,384 events: 0.458"
    press(shown, "ArrowLeft")
    assert shown.until(TIP, lambda text: "8,192" in text) == "zero, held out8,192 events: 0.457"
    press(shown, "ArrowDown")
    assert shown.until(TIP, lambda text: "karma" in text) == "karma, last 1,0008,192 events: 0.522"
    assert shown.complaints == []
    assert [each[:5] for each in shown.requests if not each.startswith("data:")] == ["file:"]


@pytest.mark.parametrize("baselines", [1, 5, 15])
def test_verdict_bars_and_curves_are_on_one_screen(shown: Page, baselines: int, tmp_path: Path) -> None:
    opened(shown, report(NAMES[:baselines]), tmp_path)
    assert shown.value("document.querySelector('h1').textContent").startswith("karma beats")
    assert shown.value("document.querySelector('main').getBoundingClientRect().bottom") <= 720
    assert shown.value("document.querySelectorAll('#bars .bar').length") == baselines + 1


def test_axes_have_labels_that_are_alike_and_fit(shown: Page, tmp_path: Path) -> None:
    made = report(NAMES[:2])
    for row in made["learners"]["karma"]["regret"]["zero"]:
        row["regret"] *= 1e9  # as with the squared loss of prices
    opened(shown, made, tmp_path)
    for ticks, expected in (
        ([2.5, 3, 3.5, 4], ["2.5", "3.0", "3.5", "4.0"]),
        ([0, 5e8, 1e9], ["0", "0.5G", "1.0G"]),
        ([-2e12, -1e12, 0], ["-2T", "-1T", "0"]),
        ([-0.02, 0, 0.02], ["-0.02", "0", "0.02"]),
        ([2e-5, 4e-5], ["2.0e-5", "4.0e-5"]),
        ([1e30, 2e30], ["1.0e+30", "2.0e+30"]),
        ([7000], ["7,000"]),
    ):
        assert shown.value(f"labels({ticks})") == expected
    texts = "[...document.querySelectorAll('#regret svg text')]"
    assert shown.value(f"Math.min(...{texts}.map((each) => each.getBBox().x))") >= 0


def test_it_fits_a_phone(shown: Page, tmp_path: Path) -> None:
    made = report([*NAMES, *LONG], input="/a/long/path" * 9)
    opened(shown, made, tmp_path, width=390, height=800)
    assert shown.value("document.documentElement.scrollWidth") == 390


def test_drift_is_marked_and_each_learner_has_its_colour(shown: Page, tmp_path: Path) -> None:
    opened(shown, with_two_learners(), tmp_path)
    assert shown.value("document.querySelector('#losses .mark').textContent") == "8,192"
    title = "document.querySelector('#losses .drift title').textContent"
    assert shown.value(title) == "event 8,192: errors rose from 0.1 to 0.2"
    colour = "getComputedStyle(document.querySelectorAll('.learner .bar')[{}]).backgroundColor"
    assert shown.value(colour.format(0)) != shown.value(colour.format(1))


def test_names_are_text_and_no_html(shown: Page, tmp_path: Path) -> None:
    name = "</script><img src=x onerror=alert(1)>"
    made = report([name, "zero"], input=name, verdict=name)
    made["learners"][name] = made["learners"]["karma"]
    opened(shown, made, tmp_path)
    assert shown.value("document.images.length") == 0
    assert shown.value("document.querySelector('h1').textContent") == name
    assert shown.complaints == []
