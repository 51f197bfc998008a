"""The bytes of a Spark event log, plain or compressed as Spark does it. Spark writes standard zstd,
but LZ4 and Snappy in the block formats of lz4-java and snappy-java.
"""

from __future__ import annotations

import gzip
import struct
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Final

ZSTD: Final = b"\x28\xb5\x2f\xfd"
GZIP: Final = b"\x1f\x8b"
LZ4: Final = b"LZ4Block"
SNAPPY: Final = b"\x82SNAPPY\x00"
LZF: Final = b"ZV"

_LZ4_HEADER: Final = struct.Struct("<8sBiii")  # magic, token, compressed, whole, checksum
_LZ4_RAW: Final = 0x10
_SNAPPY_HEADER: Final = 16
_MOST: Final = 1 << 25
"""The most bytes of one block: what lz4-java writes at most, and far more than Spark uses."""


class CompressionError(ValueError):
    """The bytes do not match their header."""


def log_files(path: Path) -> list[Path]:
    """Return the files of a log, in order: the file itself, or those in the folder of a rolling
    log.
    """
    if not path.is_dir():
        return [path]
    found = (p for p in path.iterdir() if p.name.startswith("events_"))
    return sorted(found, key=lambda p: (len(p.name.split("_")[1]), p.name))


def plain(data: bytes) -> bytes:
    """Return a log's text. Raises CompressionError."""
    import cramjam  # imported only for compressed logs

    try:
        if data.startswith(ZSTD):
            return bytes(cramjam.zstd.decompress(data))
        if data.startswith(GZIP):
            return gzip.decompress(data)
        if data.startswith(LZ4):
            return b"".join(_lz4_blocks(data))
        if data.startswith(SNAPPY):
            return b"".join(_snappy_blocks(data))
        if data.startswith(LZF):
            raise CompressionError("compressed with lzf, expected zstd, lz4, snappy or gzip")
    except (cramjam.DecompressionError, OSError, EOFError, struct.error, zlib.error) as error:
        raise CompressionError(str(error)) from error
    return data


def _lz4_blocks(data: bytes) -> Iterator[bytes]:
    import cramjam

    at = 0
    while at < len(data):
        magic, token, length, whole, _ = _LZ4_HEADER.unpack_from(data, at)
        at += _LZ4_HEADER.size
        block = data[at : at + length]
        if magic != LZ4 or length < 0 or len(block) < length or not 0 <= whole <= _MOST:
            raise CompressionError(f"a damaged LZ4 block at byte {at - _LZ4_HEADER.size}")
        at += length
        if whole:  # an empty block ends a stream, after which another may begin
            raw = token & 0xF0 == _LZ4_RAW
            yield block if raw else bytes(cramjam.lz4.decompress_block(block, output_len=whole))


def _snappy_blocks(data: bytes) -> Iterator[bytes]:
    import cramjam

    at = 0
    while at < len(data):
        if data.startswith(SNAPPY, at):  # a stream's header, with versions in it
            at += _SNAPPY_HEADER
            continue
        (length,) = struct.unpack_from(">i", data, at)
        block = data[at + 4 : at + 4 + length]
        if length < 0 or len(block) < length:
            raise CompressionError(f"a damaged Snappy block at byte {at}")
        if cramjam.snappy.decompress_raw_len(block) > _MOST:
            raise CompressionError(f"a Snappy block of more than {_MOST} bytes at byte {at}")
        yield bytes(cramjam.snappy.decompress_raw(block))
        at += 4 + length
