"""The live table, as it appears on a screen."""

from __future__ import annotations

import io
import json
import os
import re
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streamkarma.runtime import live
from streamkarma.runtime.live import Live, RunStatus, sparkline

BLOCKS = "▁▂▃▄▅▆▇█"
WIDE = 100
START = RunStatus(
    12345, 1.5, 0.4123, "logistic", ("error rate", 0.182), 512, 512, {}, {"svd": 0.0301, "zero": -0.4}
)

numbers = st.floats(allow_nan=False)
counts = st.integers(0, 10**9)
names = st.text("abcdefgh ", min_size=1, max_size=40)
standings = st.builds(
    RunStatus,
    counts,
    st.floats(0, 1e6),
    st.none() | st.floats(),
    names,
    st.none() | st.tuples(names, st.floats()),
    st.none() | counts,
    st.none() | counts,
    st.dictionaries(names, st.floats(0, 1), max_size=4),
    st.dictionaries(names, numbers, max_size=4),
)


class Terminal(io.StringIO):
    """A terminal that records what is written to it, and can be disconnected."""

    broken: Exception | None = None

    def isatty(self) -> bool:
        super().isatty()  # raises if closed
        return True

    def write(self, text: str) -> int:
        if self.broken is not None:
            raise self.broken
        return super().write(text)

    def frames(self) -> int:
        return self.getvalue().count("events ")

    def screen(self) -> list[str]:
        """The visible lines, down to that of the cursor."""
        lines, row, column = [""], 0, 0
        for token in re.findall(r"\x1b\[[A-Z]|[\r\n]|[^\x1b\r\n]+|\x1b", self.getvalue()):
            if token == "\x1b[A":
                row = max(row - 1, 0)
            elif token in "\r\n":
                row, column = row + (token == "\n"), 0
                lines += [""] * (row + 1 - len(lines))
            elif token in ("\x1b[K", "\x1b[J"):
                lines[row] = lines[row][:column]
                lines = lines[: row + 1] if token == "\x1b[J" else lines
            else:
                assert "\x1b" not in token
                lines[row] = lines[row][:column].ljust(column) + token + lines[row][column + len(token) :]
                column += len(token)
        return lines


@pytest.fixture(autouse=True)
def _term(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")


def opened(columns: int = WIDE) -> tuple[Live, Terminal]:
    terminal = Terminal()
    table = Live.of(terminal, lambda: columns)
    assert table is not None
    return table, terminal


class TestSparkline:
    @given(st.lists(numbers, max_size=300), st.integers(-1, 60))
    def test_has_a_block_for_each_value_or_bin(self, values: list[float], width: int) -> None:
        line = sparkline(values, width)
        assert len(line) == max(0, min(len(values), width))
        assert set(line) <= set(BLOCKS)

    @given(st.lists(numbers, max_size=300), st.integers(1, 60))
    def test_goes_up_where_the_values_do(self, values: list[float], width: int) -> None:
        rising = [BLOCKS.index(block) for block in sparkline(sorted(values), width)]
        falling = [BLOCKS.index(block) for block in sparkline(sorted(values, reverse=True), width)]
        assert all(a <= b for a, b in pairwise(rising))
        assert all(a >= b for a, b in pairwise(falling))

    @given(numbers, st.integers(1, 300), st.integers(1, 60))
    def test_a_flat_line_is_low(self, value: float, n: int, width: int) -> None:
        assert set(sparkline([value] * n, width)) == {"▁"}

    def test_uses_all_heights(self) -> None:
        assert sparkline(range(8), 8) == BLOCKS
        assert sparkline([0, 2, 3, 5], 2) == "▁█"


class TestTable:
    def test_what_it_says(self) -> None:
        table, terminal = opened()
        table.show(START, 10.0)
        table.show(START._replace(events=14345, loss=0.3, errors=("error rate", 0.1)), 11.0)
        assert terminal.screen() == [
            "events            14,345   2,000/s",
            "loss              0.3000   █▁" + " " * 38 + "   logistic, mean so far",
            "error rate        0.1000   █▁",
            "vectors       512 of 512",
            "regret      best 0.0301 against svd   worst -0.4000 against zero   (per event)",
            "",
        ]

    def test_what_is_not_known_is_left_out(self) -> None:
        table, terminal = opened()
        table.show(RunStatus(10, 2.0, None, "squared", None, 3, None, {}, {}), 0.0)
        assert terminal.screen() == ["events                10   5/s", "vectors                3", ""]

    def test_one_baseline_is_neither_best_nor_worst(self) -> None:
        table, terminal = opened()
        table.show(START._replace(regret={"svd": 0.25}), 0.0)
        assert terminal.screen()[-2] == "regret      0.2500 against svd   (per event)"

    @given(st.lists(st.tuples(standings, st.floats(0, 2), st.integers(0, 120)), min_size=1, max_size=12))
    def test_there_is_one_and_it_fits(self, shown: list[tuple[RunStatus, float, int]]) -> None:
        terminal, now, columns = Terminal("$ streamkarma learn\n"), 0.0, WIDE
        terminal.seek(0, io.SEEK_END)
        table = Live(terminal, lambda: columns)
        for standing, pause, columns in shown:
            now, before = now + pause, terminal.frames()
            table.show(standing, now)
            command, *lines, last = terminal.screen()
            assert (command, last) == ("$ streamkarma learn", "")
            assert 1 <= len(lines) <= 8
            if columns > 10 and terminal.frames() > before:
                assert [line[:7] for line in lines].count("events ") == 1
                assert max(map(len, lines)) < columns

    @given(st.lists(st.floats(0, 1), min_size=1, max_size=60))
    def test_five_times_a_second_at_most(self, pauses: list[float]) -> None:
        (table, terminal), now, drawn = opened(), 0.0, list[float]()
        for pause in pauses:
            now, before = now + pause, terminal.frames()
            due = table.due(now)
            table.show(START, now)
            assert terminal.frames() - before == due
            drawn += [now] * due
        assert all(b - a >= 0.2 for a, b in pairwise(drawn))
        assert now - drawn[-1] < 0.2

    @given(st.lists(st.sampled_from(["show", "clear", "say"]), max_size=30))
    def test_other_lines_stay_whole(self, actions: list[str]) -> None:
        (table, terminal), said = opened(), list[str]()
        for n, action in enumerate(actions):
            if action == "show":
                table.show(START, n * 0.07)
                assert len(terminal.screen()) == len(said) + 6
            else:
                table.clear()
                assert terminal.screen() == [*said, ""]
            if action == "say":
                said.append(f"checkpoint {n}")
                terminal.write(f"checkpoint {n}\n")
        assert terminal.screen()[: len(said)] == said

    def test_closing_draws_what_was_held_back(self) -> None:
        table, terminal = opened()
        for events in range(1, 9):
            table.show(START._replace(events=events), events / 1000)
        table.close()
        at_the_end = terminal.getvalue()
        assert terminal.screen()[0].startswith("events                 8 ")
        assert at_the_end.endswith("\n")
        table.close()
        table.show(START, 9.0)
        table.clear()
        assert terminal.getvalue() == at_the_end

    def test_closing_puts_nothing_back(self) -> None:
        table, terminal = opened()
        table.show(START, 0.0)
        table.show(START, 0.1)
        table.clear()
        table.close()
        assert terminal.screen() == [""]

    def test_the_rate_is_that_of_late(self) -> None:
        table, terminal = opened()
        for second in range(40):  # a thousand a second for a while, then ten
            events = 1000 * second if second < 20 else 20000 + 10 * (second - 20)
            table.show(START._replace(events=events, seconds=second), float(second))
        assert terminal.screen()[0].endswith("   10/s")

    @settings(max_examples=10)
    @given(st.integers(1, 3000))
    def test_the_history_is_bounded_and_spans_the_run(self, n: int) -> None:
        history = live._History()
        for value in range(n):
            history.add(value)
        assert len(history.points) < 240
        assert len(history.points) >= min(n, 120)
        assert history.points == sorted(history.points)
        assert history.points[0] <= n / 120
        assert history.points[-1] >= n - 1 - n / 40


class TestTrouble:
    @pytest.mark.parametrize("error", [BrokenPipeError(), OSError(5, "gone"), ValueError("closed")])
    @pytest.mark.parametrize("then", ["show", "clear", "close"])
    def test_a_terminal_that_is_gone(self, error: Exception, then: str) -> None:
        table, terminal = opened()
        table.show(START, 0.0)
        table.show(START, 0.1)
        terminal.broken = error
        {"show": lambda: table.show(START, 1.0), "clear": table.clear, "close": table.close}[then]()
        terminal.broken = None
        table.show(START, 2.0)
        table.clear()
        table.close()
        assert terminal.frames() == 1
        assert not table.due(3.0)

    def test_a_closed_stream(self) -> None:
        table, terminal = opened()
        terminal.close()
        table.show(START, 0.0)
        table.close()
        assert Live.of(terminal) is None

    def test_no_terminal(self, monkeypatch: pytest.MonkeyPatch) -> None:
        assert Live.of(io.StringIO()) is None
        assert Live.of(None) is None
        monkeypatch.setenv("TERM", "dumb")
        assert Live.of(Terminal()) is None

    def test_a_terminal_without_blocks(self) -> None:
        class Old(Terminal):
            encoding = "ascii"

        terminal = Old()
        Live(terminal, lambda: 80).show(START, 0.0)
        assert terminal.getvalue().isascii()
        assert "logistic, mean so far" in terminal.screen()[1]

    def test_its_width_is_asked_of_itself(self) -> None:
        assert live._columns_of(Terminal()) == 80
        pty = pytest.importorskip("pty", reason="not on Windows")
        fcntl = pytest.importorskip("fcntl", reason="not on Windows")
        termios = pytest.importorskip("termios", reason="not on Windows")
        leader, follower = pty.openpty()
        with open(leader, "rb"), open(follower, "w") as stream:
            assert live._columns_of(stream) == 80  # its width is unknown
            fcntl.ioctl(follower, termios.TIOCSWINSZ, b"\x18\0\x2c\0\0\0\0\0")
            assert live._columns_of(stream) == 44


def test_a_run_with_a_table_comes_to_its_end_where_reports_are_due(tmp_path: Path) -> None:
    pty = pytest.importorskip("pty", reason="not on Windows")
    events, rows = tmp_path / "events.jsonl", tmp_path / "rows.jsonl"
    events.write_text("".join(json.dumps({"x": k % 7, "y": k % 2}) + "\n" for k in range(100)))
    command = [sys.executable, "-m", "streamkarma", "learn", events, "--learner", "explicit"]
    command += ["--report-every", "10", "--predictions", rows]
    screen, terminal = pty.openpty()
    try:
        subprocess.run(command, stdout=subprocess.DEVNULL, stderr=terminal, check=True, timeout=60)
    finally:
        os.close(terminal)
        os.close(screen)
    assert len(rows.read_text().splitlines()) == 100
