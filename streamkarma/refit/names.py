"""The learners that can be refitted, by name, without importing them."""

from __future__ import annotations

from importlib.util import find_spec

from streamkarma.errors import UsageError
from streamkarma.parameters.checks import is_word
from streamkarma.printable import shown

#: Library needed beyond this package's own dependencies, by name, also that of the extra to install it.
NAMES: dict[str, str | None] = {"lightgbm": "lightgbm", "boosting": None, "trees": None}


def parse_refits(text: str | None) -> list[str]:
    """Names from a user's comma-separated list; none for None.

    Raises
    ------
    UsageError
        For an unknown name, or a library that is not installed.

    Examples
    --------
    >>> parse_refits("trees, boosting"), parse_refits("none"), parse_refits(None)
    (['trees', 'boosting'], [], [])
    """
    if text is None or is_word(text, "none"):
        return []
    names = [part.strip() for part in text.split(",")] if isinstance(text, str) else []
    unknown = [name for name in names if name not in NAMES]
    if unknown or not names or len(set(names)) < len(names):
        raise UsageError(
            f"refit must be one or more of {', '.join(NAMES)}, separated by commas and each only once, "
            f"not {shown(text)}"
        )
    for name in names:
        if (library := NAMES[name]) is not None and find_spec(library) is None:
            raise UsageError(
                f"refit {name} needs {library}, which is not installed: pip install 'streamkarma[{name}]'"
            )
    return names
