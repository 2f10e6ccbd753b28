"""The command: the same from lines of JSON and tables, in text, as JSON and as a page."""

from __future__ import annotations

import json
import random
import re
import signal
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.cluster import Cluster, Record
from tests.conftest import Program

RNG = random.Random(0)
ROWS: list[dict[str, Any]] = []
for t in range(2500):
    row = {"a": RNG.gauss(0, 1), "b": RNG.randrange(5), "town": RNG.choice(["Linz", "Wien <b>&", 'q"'])}
    row = {name: value for name, value in row.items() if RNG.random() < 0.7}
    if "a" in row and RNG.random() < 0.5:
        row.pop("b", None)
    if t > 1200:
        row.pop("town", None)
    ROWS.append({**row, "y": RNG.randrange(2)})
NAMES = ["a", "b", "town", "y"]


def test_the_tests_of_missingness_need_no_scikit_learn(tmp_path: Path) -> None:
    # Importing it takes longer than the rest of most runs.
    code = (
        "import sys; from streamkarma.cli import main\n"
        "sys.argv = ['streamkarma', 'profile', '--json']\n"
        "try: main()\n"
        "except SystemExit as end: assert not end.code\n"
        "assert not {'pandas', 'scipy', 'sklearn'} & set(sys.modules)"
    )
    given = b"".join(json.dumps(row).encode() + b"\n" for row in ROWS)
    done = subprocess.run(
        [sys.executable, "-c", code], input=given, capture_output=True, check=True, cwd=tmp_path
    )
    assert json.loads(done.stdout)["tests"]


class Page(HTMLParser):
    """The content of a page: open elements, and all attributes."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.text = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs
        if tag not in ("meta", "br"):
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


def profile(streamkarma: Program, *args: str, **how: Any) -> dict[str, Any]:
    done = streamkarma("profile", *args, "--json", **how)
    assert done.code == 0, done.stderr
    return json.loads(done.stdout)


def without_names(found: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in found.items() if name not in ("input", "command")}


def write_tables(folder: Path) -> None:
    cells = [
        [json.dumps(row[n]) if n in row and n != "town" else row.get(n, "") for n in NAMES] for row in ROWS
    ]
    quoted = [['"' + each.replace('"', '""') + '"' for each in line] for line in cells]
    (folder / "t.csv").write_text("\n".join(map(",".join, [NAMES, *quoted])), newline="")
    pq.write_table(
        pa.Table.from_pylist([{n: row.get(n) for n in NAMES} for row in ROWS]), folder / "t.parquet"
    )


def test_a_table_has_the_profile_of_its_rows_of_json(streamkarma: Program, tmp_path: Path) -> None:
    write_tables(tmp_path)
    expected = profile(streamkarma, records=ROWS)
    # Names come in the order of the columns, or in that of the first events.
    order = list(expected["attributes"])
    for name in ("t.csv", "t.parquet"):
        found = profile(streamkarma, name)
        assert sorted(found["attributes"]) == sorted(order)
        assert found["attributes"] == expected["attributes"]
        for part in ("events", "label", "missing", "changes", "suspicious", "matrix"):
            assert found[part] == expected[part], part
    assert expected["changes"][0]["attribute"] == "town"
    assert abs(expected["changes"][0]["event"] - 1202) < 20


def test_what_entities_would_fill_in(streamkarma: Program, tmp_path: Path) -> None:
    rows = [{"device": f"d{t % 3}", "ab"[t % 2]: t, "y": t % 5 > 2} for t in range(60)]
    done = streamkarma("profile", "--entity", "device", "--html", "p.html", records=rows)
    assert done.code == 0, done.stderr
    said = done.stdout.decode()
    assert "3 entities (device), in 100 % of the events: 1.7 % of the values missing" in said
    assert "--entity device" in said
    assert "Known from earlier events of the entity" in (tmp_path / "p.html").read_text()
    done = streamkarma("profile", "--entity", "y", records=rows)
    assert (done.code, done.stdout) == (2, b"")
    assert done.stderr == "streamkarma: --target and --entity are both y; name another attribute\n"


@pytest.mark.parametrize("left_out", [("--ignore", "device"), ("--id", "device")])
def test_the_entity_may_be_left_out(streamkarma: Program, left_out: tuple[str, str]) -> None:
    rows = [{"device": f"d{t % 3}", "ab"[t % 2]: t, "y": t % 5 > 2} for t in range(60)]
    found = profile(streamkarma, "--entity", "device", *left_out, records=rows)
    assert sorted(found["attributes"]) == ["a", "b"]
    assert (found["entity"]["distinct"], found["entity"]["share"]) == (3, 1.0)
    assert {"--entity device", " ".join(left_out)} <= set(re.findall(r"--\w+ \w+", found["command"]))


def test_the_page_asks_nobody_for_anything(streamkarma: Program, tmp_path: Path) -> None:
    rows = [{**row, "<script>alert(1)</script>": "<img src=x>", "\x00\u202e": 1} for row in ROWS]
    assert streamkarma("profile", "--html", "p.html", records=rows).code == 0
    text = (tmp_path / "p.html").read_text()
    page = Page(text)
    assert not page.open
    assert not {"script", "img", "link", "iframe", "object"} & set(page.tags)
    assert not {"src", "href", "srcset"} & {name for name, _ in page.attributes}
    assert not re.search(r"https?:|url\(|@import", text.replace("http-equiv", ""))
    assert page.tags.count("svg") == 3
    assert "Wien <b>&" in page.text
    assert "streamkarma learn - --model my.karma --target y" in page.text
    assert len(text) < 300_000


def test_text_for_people(streamkarma: Program) -> None:
    done = streamkarma("profile", records=[*ROWS, [1], {"a": 1e400}])
    lines = done.stdout.decode().splitlines()
    assert lines[0].startswith("2,502 events, 3 attributes, ") or lines[0].startswith(
        "2,500 events, 3 attributes"
    )
    assert "2 records that cannot be used" in lines[0]
    assert "first rejected: line 2501: " in done.stderr
    assert any(line.startswith("town ") and " category " in line for line in lines)
    assert "  streamkarma learn - --model my.karma --target y" in lines


def test_what_is_left_out_and_what_is_missing_is_passed_on(streamkarma: Program) -> None:
    rows = [
        {"a": "gone" if t % 2 else 1.5 + t % 5, "b": t, "who": f"u{t}", "label": t // 2 % 2}
        for t in range(200)
    ]
    options = ["--target", "label", "--id", "who", "--ignore", "b", "--na", "gone"]
    found = profile(streamkarma, *options, records=rows)
    assert list(found["attributes"]) == ["a"]
    assert found["attributes"]["a"]["share"] == 0.5
    assert found["command"].endswith("--target label --ignore b --na gone --id who")


def test_quiet_is_quiet_where_standard_output_is_taken(streamkarma: Program) -> None:
    assert "town" in streamkarma("profile", "--json", records=ROWS).stderr
    assert streamkarma("profile", "--json", "--quiet", records=ROWS).stderr == ""
    page = streamkarma("profile", "--html", "-", "--quiet", records=ROWS)
    assert (page.stdout[:9], page.stderr) == (b"<!DOCTYPE", "")
    both = streamkarma("profile", "--html", "-", "--json", records=ROWS)
    assert (both.code, both.stdout) == (2, b"")
    assert b"town" in streamkarma("profile", "--quiet", records=ROWS).stdout


def test_equal_streams_have_equal_profiles(streamkarma: Program) -> None:
    first, second = (streamkarma("profile", "--json", records=ROWS).stdout for _ in range(2))
    assert first == second


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["--html", "no/where.html"], "the folder of --html no/where.html does not exist"),
        (["t.csv", "--json", "t.csv"], "INPUT and --json are the same file"),
        (["--brokers", "localhost:1"], "with --brokers, INPUT is a topic"),
        (["none.csv"], "cannot read none.csv"),
    ],
)
def test_what_cannot_be_done_is_said_in_a_line(
    streamkarma: Program, tmp_path: Path, args: list[str], message: str
) -> None:
    (tmp_path / "t.csv").write_text("a,y\n1,0\n")
    done = streamkarma("profile", *args)
    assert done.code in (1, 2)
    assert done.stderr.startswith(f"streamkarma: {message}")


def test_at_a_signal_it_says_what_it_has_seen() -> None:
    command = [sys.executable, "-m", "streamkarma", "profile"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(b'{"a":1,"y":0}\n' * 100_000)
        process.stdin.flush()
        process.send_signal(signal.SIGINT)
        assert b" events, 1 attributes" in process.stdout.read() or process.wait() == 130
    assert process.returncode == 130


def test_a_topic_is_read_to_its_end_by_nobody(cluster: Cluster) -> None:
    topic = cluster.topic("profiled", 3)
    records = [
        Record(json.dumps(row).encode(), t % 3, f"p{t % 5}".encode(), [], 1_700_000_000_000 + t)
        for t, row in enumerate(ROWS)
    ]
    cluster.put(topic, [*records, Record(None, key=b"k"), Record(b"{bad")])
    command = [sys.executable, "-m", "streamkarma", "profile", topic, "--brokers", cluster.address, "--json"]
    command += ["--with-key", "who", "--entity", "who"]
    done = subprocess.run(command, capture_output=True, timeout=60, check=True)
    found = json.loads(done.stdout)
    assert (found["events"], found["rejected"]) == (2500, 1)
    # Records of all partitions come in the order of their times.
    assert abs(found["changes"][0]["event"] - 1202) < 20
    assert found["command"].startswith(f"streamkarma attach {topic} --brokers {cluster.address} --group ")
    assert " --with-key who " in found["command"]
    # The key of a record may name its entity.
    assert (found["entity"]["distinct"], found["entity"]["share"]) == (5, 1.0)
    assert " --entity who" in found["command"]
    missing = subprocess.run(
        [*command[:4], "nowhere", *command[5:]], capture_output=True, timeout=60, check=False
    )
    assert missing.returncode == 1
    assert b"there is no topic nowhere" in missing.stderr


def test_names_of_a_stream_do_not_steer_the_terminal(streamkarma: Program) -> None:
    records = [{"wind\x1b[2J\nwarning: x": t % 3, "y": "\x1b]0;z\x07" if t % 2 else "b"} for t in range(40)]
    streamkarma("learn", "--learner", "explicit", "--no-predictions", "--model", "m.karma", records=records)
    for command in (["profile"], ["explain", "m.karma"], ["inspect", "m.karma"], ["learn", "--target", "z"]):
        given = records if command[0] in ("profile", "learn") else []
        done = streamkarma(*command, records=given)
        text = ("" if command[0] == "learn" else done.stdout.decode()) + done.stderr
        assert "wind\\x1b[2J" in text
        assert "\x1b" not in text
        assert "\nwarning: x" not in text


def test_a_label_that_is_always_the_same_is_pointed_out(streamkarma: Program) -> None:
    done = streamkarma("profile", records=[{"a": t, "y": True} for t in range(5)])
    assert (
        "5 events, 1 attribute, 0 % of the values missing; the label y (1 class) in 100 %"
        in done.stdout.decode()
    )
    assert "every label is true: there is nothing to learn" in done.stdout.decode()


def test_numbers_that_are_texts_are_named_and_not_left_out(streamkarma: Program) -> None:
    rows = [{"price": f"${t},{t:03}", "share": f"{t % 37}%", "x": t % 5, "y": t % 2} for t in range(1, 200)]
    done = streamkarma("profile", records=rows)
    text = done.stdout.decode()
    assert "  price: numbers as texts, 199 values have currency signs, such as '$1,001'; write plain" in text
    assert "  share: numbers as texts, 199 values have per cent signs, such as '1%'; write plain" in text
    assert "--ignore" not in text
    label = streamkarma("profile", "--target", "share", records=rows).stdout.decode()
    assert "- the labels look like numbers, but 199 values have per cent signs, such as '1%'" in label


def test_that_every_record_was_rejected_is_the_reason(streamkarma: Program, tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("a,y\n1,2,3\n4,5,6\n")
    text = streamkarma("profile", "t.csv").stdout.decode()
    assert "  - every record was rejected, the first because: row 1: has 3 fields, not 2" in text
    assert "no event has y" not in text
    assert "--target y" in text
    (tmp_path / "t.txt").write_text("a,y\n1,2\n4,5\n")
    text = streamkarma("profile", "t.txt").stdout.decode()
    assert "because: line 1: not JSON: expected value; a table needs --format csv" in text
