"""The roles of names in JSON lines that are not attributes, as coded by the engine."""

from __future__ import annotations

#: Codes of roles; from 0 on, the index among the values that are passed through.
TARGET, WEIGHT, IGNORED, ID = -1, -3, -4, 0
