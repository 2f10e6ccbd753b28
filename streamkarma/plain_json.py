"""Values as JSON, with integers of any size: orjson supports only 64 bits."""

from __future__ import annotations

import json
from typing import Any

import orjson


def dumps(value: Any) -> bytes:
    """A value as JSON.

    Examples
    --------
    >>> dumps({"id": 2**70, "é": [1.0, "b"]}).decode()
    '{"id":1180591620717411303424,"é":[1.0,"b"]}'
    """
    try:
        return orjson.dumps(value)
    except TypeError:
        return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()
