"""A profile as one self-contained page: pictures and tables, in light and dark mode."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from streamkarma.pages import escaped
from streamkarma.profile import pictures, table

_PAGE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<style>
:root {{ --ink: #1c2230; --soft: #5d6675; --paper: #fff; --gap: #e9ecf1;
  --there: #33506e; --accent: #c2410c; --plus: #1d5fa8; --minus: #b3261e; color-scheme: light dark }}
@media (prefers-color-scheme: dark) {{ :root {{ --ink: #e6e9ef; --soft: #9aa4b5; --paper: #14181f;
  --gap: #262d39; --there: #8fb3d9; --accent: #fb923c; --plus: #6ea8e6; --minus: #f2857d }} }}
body {{ font: 15px/1.45 system-ui, sans-serif; color: var(--ink); background: var(--paper); margin: 2em auto;
  max-width: 66em; padding: 0 1em }}
h1 {{ font-size: 1.5em; margin-bottom: .2em; overflow-wrap: anywhere }}
h2 {{ font-size: 1.1em; margin: 1.8em 0 .3em }}
.verdict {{ font-size: 1.1em }}
p, li {{ overflow-wrap: anywhere }}
.note {{ color: var(--soft); margin: .2em 0 .6em }}
svg {{ display: block; width: 100%; min-width: 44em; height: auto; font-size: 11px }}
svg text {{ fill: var(--ink) }}
.gap {{ fill: var(--gap) }} .there {{ fill: var(--there) }}
.plus {{ fill: var(--plus) }} .minus {{ fill: var(--minus) }}
.frame {{ fill: none; stroke: var(--gap) }} .line {{ fill: none; stroke: var(--there); stroke-width: 1.5 }}
.mark {{ stroke: var(--accent); stroke-width: 2.5; fill: none }}
.wide {{ overflow-x: auto }}
table {{ border-collapse: collapse; font-size: 85%; width: 100% }}
th, td {{ text-align: left; padding: .2em .8em .2em 0; white-space: nowrap;
  border-bottom: 1px solid var(--gap) }}
td:last-child {{ white-space: normal; overflow-wrap: anywhere; min-width: 14em }}
.bar, .bar span {{ display: inline-block; height: .6em; background: var(--gap); vertical-align: middle }}
.bar {{ width: 6em; line-height: 0 }} .bar span {{ background: var(--there) }}
pre {{ background: var(--gap); padding: .8em 1em; white-space: pre-wrap; overflow-wrap: anywhere }}
</style>
</head>
<body>
<h1>{title}</h1>
<p class="verdict">{verdict}.</p>
{sections}
</body>
</html>
"""
#: Maximum numbers of attributes and of patterns in the tables.
_ATTRIBUTES, _PATTERNS = 300, 12


def page(profile: Mapping[str, Any]) -> str:
    """The page."""
    sections = [
        _section("Look at", _items(table.suspicious(profile)), ""),
        _section(
            "What is observed",
            pictures.matrix(profile),
            "Events from top to bottom, in the order of the stream; dark is observed. On the right, how many "
            "attributes an event has.",
        ),
        _section(
            "What is missing together",
            pictures.heat_map(profile),
            "Correlation of missingness: blue where two attributes are missing together, red where one is "
            "observed when the other is missing.",
        ),
        _section("Commonest patterns", _patterns(profile), ""),
        _section(
            "Over time",
            pictures.trends(profile),
            "Share observed, from 0 to 100 %, over the events; a mark where it changes.",
        ),
        _section("Known from earlier events of the entity", _items(table.remembered(profile)), ""),
        _section("Changes", _items(table.changes(profile)), ""),
        _section("Missing completely at random?", _items(table.tests(profile)), ""),
        _section(
            "Attributes",
            _attributes(profile),
            "Alone: by how much the attribute alone reduces the label's uncertainty.",
        ),
        _section("Learn with", f"<pre>{escaped(profile['command'])}</pre>{_items(profile['why'])}", ""),
    ]
    return _PAGE.format(
        title=escaped(f"Profile of {profile['input']}"),
        verdict=escaped(table.verdict(profile)),
        sections="\n".join(filter(None, sections)),
    )


def _section(title: str, content: str, note: str) -> str:
    if not content:
        return ""
    note_html = f'<p class="note">{escaped(note)}</p>' if note else ""
    return f'<h2>{escaped(title)}</h2>\n{note_html}<div class="wide">{content}</div>'


def _items(lines: Sequence[str]) -> str:
    return f"<ul>{''.join(f'<li>{escaped(line)}</li>' for line in lines)}</ul>" if lines else ""


def _patterns(profile: Mapping[str, Any]) -> str:
    rows = [
        [_bar(each["share"]), f"{each['events']:,}", escaped(table.pattern(each["missing"], profile, 12))]
        for each in profile["patterns"]["commonest"][:_PATTERNS]
    ]
    return _table(["share", "events", "missing"], rows)


def _attributes(profile: Mapping[str, Any]) -> str:
    label = profile["label"]
    rows = [_row(f"{label['name']} (label)", label)] if label["observed"] else []
    rows += [_row(name, seen) for name, seen in list(profile["attributes"].items())[:_ATTRIBUTES]]
    left = len(profile["attributes"]) - _ATTRIBUTES
    more = f"<p>… {left:,} more</p>" if left > 0 else ""
    return _table(["attribute", "kind", "observed", "distinct", "alone", "values"], rows) + more


def _row(name: str, seen: Mapping[str, Any]) -> list[str]:
    distinct = f"{'' if seen['distinct_exact'] else 'about '}{seen['distinct']:,}"
    alone = _bar(seen["alone"]) if "alone" in seen else ""
    return [escaped(name), seen["kind"], _bar(seen["share"]), distinct, alone, escaped(table.values(seen))]


def _bar(value: float) -> str:
    return f'<span class="bar"><span style="width:{100 * value:.1f}%"></span></span> {table.share(value)}'


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table of cells that are already escaped."""
    top = "".join(f"<th>{each}</th>" for each in head)
    body = "".join(f"<tr>{''.join(f'<td>{cell}</td>' for cell in row)}</tr>" for row in rows)
    return f"<table><tr>{top}</tr>{body}</table>"
