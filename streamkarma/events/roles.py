"""What names are, in lines of JSON, that are no attributes: as the engine knows them."""

from __future__ import annotations

#: What a name is for; from 0 on, a value that is handed on in that place.
TARGET, WEIGHT, IGNORED, ID = -1, -3, -4, 0
