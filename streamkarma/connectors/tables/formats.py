"""The format of a file, from its name."""

from __future__ import annotations

from streamkarma.parameters.words import FORMATS

_ENDINGS = {
    "csv": "csv",
    "tsv": "tsv",
    "tab": "tsv",
    "parquet": "parquet",
    "pq": "parquet",
    "arrow": "arrow",
    "feather": "arrow",
}
PACKED = (".gz", ".zst")


def format_of(path: str) -> str:
    """One of FORMATS, by the ending without that of compression; ``json`` if it is not known.

    Examples
    --------
    >>> format_of("a.csv.GZ"), format_of("b.Parquet"), format_of("c.jsonl"), format_of("-")
    ('csv', 'parquet', 'json', 'json')
    """
    name = path.lower()
    for ending in PACKED:
        name = name.removesuffix(ending)
    kind = _ENDINGS.get(name.rpartition(".")[2], "json")
    assert kind in FORMATS
    return kind
