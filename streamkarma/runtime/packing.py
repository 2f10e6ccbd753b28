"""Compression of models: what one shares with its base model is left out, above all names."""

from __future__ import annotations

from functools import partial

import zstandard

from streamkarma.errors import ModelFileError

#: A model of 3 MB takes some hundredths of a second, and is a fifth as long afterwards. Level 3 takes longer
#: for 4 % less.
_LEVEL = 1
#: Bounds of the logarithms of how far the packer looks back, and of how many places it remembers there.
_WINDOW, _PLACES = (10, 27), (14, 20)
#: So much is unpacked at a time, so that no more memory is taken than there is content.
_PIECE = 1 << 20


class Packing:
    """Packs models that went on from the same base.

    Parameters
    ----------
    base
        The bytes of the base.
    most
        Maximum length of contents, in bytes.
    """

    def __init__(self, base: bytes, most: int = 1 << 30) -> None:
        self._base = base
        self._most = most
        self._words = zstandard.ZstdCompressionDict(base, dict_type=zstandard.DICT_TYPE_RAWCONTENT)

    def pack(self, content: bytes) -> bytes:
        """A model's bytes, packed."""
        parameters = zstandard.ZstdCompressionParameters.from_level(
            _LEVEL,
            # The whole base is to be within reach from the content's end, and to be known in detail.
            window_log=_bits(len(content) + len(self._base), *_WINDOW),
            hash_log=_bits(len(self._base) // 4, *_PLACES),
        )
        compressor = zstandard.ZstdCompressor(compression_params=parameters, dict_data=self._words)
        return compressor.compress(content)

    def unpack(self, packed: bytes, name: str) -> bytes:
        """The bytes of the model that was packed; ``name`` is what it is called in messages.

        Raises
        ------
        ModelFileError
            If it was not packed with this base, is longer than it may be, or is something else.
        """
        pieces, length = [], 0
        decompressor = zstandard.ZstdDecompressor(dict_data=self._words)
        try:
            with decompressor.stream_reader(packed) as reader:
                for piece in iter(partial(reader.read, _PIECE), b""):
                    pieces.append(piece)
                    length += len(piece)
                    if length > self._most:
                        raise ModelFileError(f"{name} is too long for a model")
            if length != zstandard.frame_content_size(packed):
                raise ModelFileError(f"{name} cannot be unpacked: a part of it is missing")
        except zstandard.ZstdError as error:
            raise ModelFileError(f"{name} cannot be unpacked: {error}") from error
        return b"".join(pieces)


def _bits(size: int, least: int, most: int) -> int:
    """How many bits a number up to a size has, within bounds."""
    return min(max(size.bit_length(), least), most)
