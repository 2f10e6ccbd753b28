"""Compression of models relative to a base model, with which they mainly share names."""

from __future__ import annotations

from functools import partial

import zstandard

from streamkarma.errors import ModelFileError

#: A model of 3 MB takes some hundredths of a second and shrinks to a fifth. Level 3 takes longer and saves 4
#: % more.
_LEVEL = 1
#: Bounds of the compressor's window and hash table, as logarithms.
_WINDOW, _PLACES = (10, 27), (14, 20)
#: Bytes unpacked at a time, so that a wrong length cannot allocate more memory than there is content.
_PIECE = 1 << 20


class Packing:
    """Packs models that were trained from the same base.

    Parameters
    ----------
    base
        The bytes of the base.
    most
        Maximum length of a model, in bytes.
    """

    def __init__(self, base: bytes, most: int = 1 << 30) -> None:
        self._base = base
        self._most = most
        self._words = zstandard.ZstdCompressionDict(base, dict_type=zstandard.DICT_TYPE_RAWCONTENT)

    def pack(self, content: bytes) -> bytes:
        """Compress a model."""
        parameters = zstandard.ZstdCompressionParameters.from_level(
            _LEVEL,
            # The window must span the content and the whole base, and the hash table must index the base
            # finely.
            window_log=_bits(len(content) + len(self._base), *_WINDOW),
            hash_log=_bits(len(self._base) // 4, *_PLACES),
        )
        compressor = zstandard.ZstdCompressor(compression_params=parameters, dict_data=self._words)
        return compressor.compress(content)

    def unpack(self, packed: bytes, name: str) -> bytes:
        """Decompress a model; ``name`` is its name in messages.

        Raises
        ------
        ModelFileError
            If it was not packed with this base, is too long, or is not a model.
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
    """The number of bits of ``size``, within bounds."""
    return min(max(size.bit_length(), least), most)
