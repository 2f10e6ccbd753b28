"""What to do with input that is not JSON lines."""

from __future__ import annotations

from collections.abc import Sequence

from streamkarma.connectors.tables.dialect import is_table

#: Number of first lines that are looked at.
_FIRST = 20


def remedy(reason: str, values: Sequence[bytes | str]) -> str:
    """What to do if the first records look like another format; empty if they do not.

    Parameters
    ----------
    reason
        Where the first rejected record was, and why it was rejected.
    values
        The first records.

    Examples
    --------
    >>> remedy("line 1: not JSON: expected value", [b"a,b", b"1,2"])
    '; a table needs --format csv'
    >>> remedy("line 1: expected an object, not an array", [b'[{"a": 1}]'])
    "; each line must be one JSON object: jq -c . converts objects, jq -c '.[]' arrays of objects"
    >>> remedy("clicks[0]@7: not JSON: expected value", [b"a,b", b"1,2"])
    ''
    """
    if "expected an object, not an array" in reason or "EOF while parsing" in reason:
        return "; each line must be one JSON object: jq -c . converts objects, jq -c '.[]' arrays of objects"
    lines = [value if isinstance(value, str) else value.decode(errors="replace") for value in values[:_FIRST]]
    if reason.startswith("line ") and "not JSON" in reason and is_table(lines):
        return "; a table needs --format csv"
    return ""
