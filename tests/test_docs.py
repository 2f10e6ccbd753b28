"""README.md and docs/ name only files, headings, options and names that exist."""

from __future__ import annotations

import ast
import json
import os
import re
import shlex
import struct
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from functools import partial
from importlib import import_module
from itertools import chain
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import click
import pytest

from streamkarma.cli import cli

ROOT = Path(__file__).parents[1]
README = ROOT / "README.md"
PAGES = [README, *sorted((ROOT / "docs").glob("*.md"))]
PICTURES = ROOT / "examples" / "pictures"

BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"!?\[[^\]]*\]\(([^)\s]+)\)")
INSTALL = "python3 -m venv .venv && . .venv/bin/activate && pip install -q "
#: Options of programs that are not part of this repository.
FOREIGN = {"--build", "--hypothesis-profile", "--volumes"}

by_page = pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)


def blocks(page: Path, *languages: str) -> list[str]:
    """The code blocks of a page in one of the languages."""
    return [code for language, code in BLOCK.findall(page.read_text()) if language in languages]


def prose(page: Path) -> str:
    """A page without its code blocks."""
    return BLOCK.sub("", page.read_text())


def links(page: Path) -> list[str]:
    """Targets of the links and pictures of a page, but not those on the web."""
    return [target for target in LINK.findall(prose(page)) if not re.match(r"[a-z]+:", target)]


def anchors(page: Path) -> set[str]:
    """The anchors that GitHub gives to the headings of a page."""
    seen: Counter[str] = Counter()
    found = set()
    for heading in re.findall(r"^#+ (.*)$", prose(page), re.MULTILINE):
        text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading)
        slug = re.sub(r"[^\w\- ]", "", text.strip().lower()).replace(" ", "-")
        found.add(f"{slug}-{seen[slug]}" if seen[slug] else slug)
        seen[slug] += 1
    return found


def resolve(page: Path, target: str) -> tuple[Path, str]:
    """The file and the anchor that a link points to."""
    name, _, anchor = unquote(target).partition("#")
    return ((page.parent / name).resolve() if name else page), anchor


def command_lines() -> Iterator[tuple[str, list[str]]]:
    """Every call of streamkarma in a code block or in inline code, with its page."""
    for page in PAGES:
        whole = [*blocks(page, "sh"), *re.findall(r"`(streamkarma [^`]+)`", prose(page))]
        for line in "\n".join(whole).replace("\\\n", " ").splitlines():
            lexer = shlex.shlex(line, posix=True, punctuation_chars="|&;<>")
            lexer.whitespace_split = True
            call: list[str] = []
            for word in [*lexer, ";"]:
                if word[0] not in "|&;":
                    call.append(word)
                    continue
                if call[:1] == ["streamkarma"]:
                    redirect = next((at for at, each in enumerate(call) if each[0] in "<>"), len(call))
                    yield page.name, call[1:redirect]
                call = []


def options() -> set[str]:
    """Every long option of the command line and of the examples."""
    found = {
        name
        for command in [cli, *cli.commands.values()]
        for param in command.get_params(click.Context(command))
        for name in [*param.opts, *param.secondary_opts]
    }
    for example in (ROOT / "examples").glob("*.py"):
        found.update(re.findall(r'"(--[a-z-]+)"', example.read_text()))
    return found | FOREIGN


@by_page
def test_links_and_anchors_exist(page: Path) -> None:
    for target in links(page):
        file, anchor = resolve(page, target)
        assert file.exists(), target
        assert file.is_relative_to(ROOT), target
        assert not anchor or anchor in anchors(file), target


@by_page
def test_a_page_has_one_title_and_headings_of_their_own(page: Path) -> None:
    text = prose(page)
    assert text.startswith("# ")
    assert len(re.findall(r"^# ", text, re.MULTILINE)) == 1
    headings = re.findall(r"^#+ .*$", text, re.MULTILINE)
    assert len(set(headings)) == len(headings)


def test_every_page_is_linked_from_the_readme() -> None:
    assert set(PAGES) <= {README, *(resolve(README, target)[0] for target in links(README))}


def test_the_readme_is_short_and_begins_with_one_landscape_picture() -> None:
    text = README.read_text()
    assert len(text.splitlines()) <= 200
    [picture] = [target for target in links(README) if target.endswith(".png")]
    assert text.index(picture) < text.index("\n## ")
    width, height = struct.unpack(">II", (ROOT / picture).read_bytes()[16:24])
    assert width >= 2 * height


def test_every_picture_is_small_and_shown() -> None:
    displayed = {
        resolve(page, target)[0] for page in PAGES for target in links(page) if target.endswith(".png")
    }
    assert displayed == {*PICTURES.iterdir(), *(ROOT / "docs/pictures").glob("*.png")}
    assert max(picture.stat().st_size for picture in displayed) < 200_000


def test_the_first_picture_is_that_of_the_table(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "examples"))
    overview: Any = import_module("overview_picture")
    text = overview.FIGURES.read_text()
    drawn = json.dumps(overview.errors(text)).encode()
    assert drawn in (PICTURES / "overview.png").read_bytes(), "run examples/overview_picture.py again"
    titles = [axes.get_xlabel() for axes in overview.figure(text).axes]
    assert titles == [f"{stream}, {overview.events(text, stream)} events" for stream in overview.TITLES]


def test_command_lines_use_options_that_exist() -> None:
    calls = list(command_lines())
    assert {args[0] for _, args in calls} == set(cli.commands)
    for page, (name, *args) in calls:
        command = cli.commands[name]
        context = click.Context(command)
        try:
            values, *_ = command.make_parser(context).parse_args(args)
            for param in command.params:
                if param.name in values and isinstance(param, click.Option):
                    param.type_cast_value(context, values[param.name])
        except click.UsageError as error:
            raise AssertionError(f"{page}: streamkarma {name} {shlex.join(args)}: {error.message}") from None


@by_page
def test_options_in_the_text_exist(page: Path) -> None:
    named = {
        name for code in re.findall(r"`([^`]+)`", prose(page)) for name in re.findall(r"--[a-z-]+", code)
    }
    assert not named - options()


@by_page
def test_programs_in_the_text_exist(page: Path) -> None:
    for name in re.findall(r"\b(?:examples|tests|docker)/[\w./-]*\w", page.read_text()):
        assert (ROOT / name).exists(), name


@by_page
def test_python_code_imports_names_that_exist(page: Path) -> None:
    for code in blocks(page, "python"):
        for node in ast.walk(ast.parse(code)):
            if isinstance(node, ast.ImportFrom):
                module = import_module(str(node.module))
                assert all(hasattr(module, alias.name) for alias in node.names)


def test_the_commands_of_the_readme_are_one_line_each() -> None:
    commands = [line for line in README.read_text().splitlines() if line.startswith(INSTALL)]
    assert [command.removeprefix(INSTALL).split(" && ")[0] for command in commands] == [".", "-e '.[dev]'"]
    assert "streamkarma learn" in commands[0]
    assert commands[1].endswith(" && pytest")


def test_the_first_command_of_the_readme_gives_the_output_that_stands_there_twice(tmp_path: Path) -> None:
    line = next(each for each in README.read_text().splitlines() if each.startswith(INSTALL))
    command = line.removeprefix(f"{INSTALL}. && ")
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path}
    run = partial(subprocess.run, ["bash", "-c", command], cwd=tmp_path, env=environment, text=True)
    first, second = (run(capture_output=True, check=True) for _ in range(2))
    assert first.stdout == second.stdout

    [sample] = blocks(README, "json")
    expected_rows = [json.loads(row) for row in sample.splitlines()]
    for row, expected in zip(first.stdout.splitlines()[-len(expected_rows) :], expected_rows, strict=True):
        # Other processors may round differently.
        assert json.loads(row) == {
            name: pytest.approx(value, rel=1e-6) if isinstance(value, float) else value
            for name, value in expected.items()
        }
    [table] = blocks(README, "text")
    lines = [line for line in table.splitlines() if line.strip() != "…"]
    assert not set(lines) - set(first.stderr.splitlines()), "README.md shows another closing table"


def test_the_commands_of_the_page_on_explanations_give_what_stands_there(tmp_path: Path) -> None:
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    [session] = blocks(ROOT / "docs/explain.md", "console")
    for part in session.split("\n$ "):
        command, _, expected = part.removeprefix("$ ").partition("\n")
        done = subprocess.run(
            ["bash", "-o", "pipefail", "-c", command],
            cwd=tmp_path,
            env={**os.environ, "PATH": path},
            text=True,
            capture_output=True,
            check=True,
        )
        assert shortened(done.stdout) == shortened(expected), "docs/explain.md shows other output"


def shortened(output: str) -> list[list[str]]:
    """The words and numbers of each line, numbers to two digits: other processors may round differently."""
    row = re.sub(r'(?<="score":)(-?[\d.]+),.*?(?="c)', r"\1,", output.replace(",…,", ","))
    return [
        [
            f"{float(word):.2f}" if re.fullmatch(r"-?\d+\.\d+", word) else word
            for word in re.findall(r"[\w.-]+", line)
        ]
        for line in row.strip().splitlines()
    ]


def test_packages_import_only_what_stands_below_them() -> None:
    """The table of docs/inside.md lists the packages from the top down."""
    table = next(
        part for part in (ROOT / "docs" / "inside.md").read_text().split("\n\n") if "| package |" in part
    )
    rooms = [re.findall(r"`(\w+)`", row) for row in re.findall(r"^\| (`.+?`) \|", table, re.MULTILINE)]
    package = ROOT / "streamkarma"
    modules = {path.stem for path in package.glob("*.py")} - {"__init__", "__main__"}
    assert {path.parent.name for path in package.glob("*/__init__.py")} | modules | {"engine"} == set(
        chain.from_iterable(rooms)
    )
    above: set[str] = set()
    for room in rooms:
        for name in room:
            for path in [package / f"{name}.py", *(package / name).rglob("*.py")]:
                assert not imported(path) & above, path
        # The crate is imported by another name.
        above |= {"_engine" if name == "engine" else name for name in room}


def imported(path: Path) -> set[str]:
    """The parts of this package that a file imports from, if there is such a file."""
    code = ast.parse(path.read_text()) if path.exists() else ast.Module([], [])
    nodes = [node for node in ast.walk(code) if isinstance(node, ast.ImportFrom)]
    names = {f"{node.module}.{each.name}" for node in nodes for each in node.names}
    return {name.split(".")[1] for name in names if name.startswith("streamkarma.")}
