"""Logs in LevelDB's framing, which Weights & Biases and SwanLab write: records in blocks of 32 KiB, with checksums.

Source: LevelDB's `doc/log_format.md`; the checksum is zlib's CRC-32 of the type and the data, without LevelDB's mask.
"""

import struct
import zlib
from collections.abc import Iterator

BLOCK_BYTES = 32 * 1024
HEADER = struct.Struct("<IHB")
FULL, FIRST, MIDDLE, LAST = 1, 2, 3, 4
MAX_RECORD_BYTES = 64 * 2**20


def damage_of(gaps: list[int]) -> str:
    """Say where a log is damaged; nothing without gaps."""
    return f"at byte {gaps[0]:,} it is damaged, and records after it are missing" if gaps else ""


def framed_records(data: bytes, start: int, gaps: list[int]) -> Iterator[bytes]:
    """Yield the whole records of a log that begins at `start` of its file; a damaged one ends its block.

    Where that happens goes into `gaps`. A record that the writer has not finished is left out.
    """
    return (record for record, _ in records_from(data, start, gaps) if record is not None)


def records_from(data: bytes, start: int, gaps: list[int], before: int = 0) -> Iterator[tuple[bytes | None, int]]:
    """Yield the whole records from `start` of `data` on, and where each ends; None for what is damaged.

    `before` bytes of the file precede `data`; they end where a record did.
    """
    at, size = start, 0
    parts: list[bytes] = []
    while at + HEADER.size <= len(data):
        room = BLOCK_BYTES - (before + at) % BLOCK_BYTES
        if room < HEADER.size:
            at += room
            continue
        checksum, length, kind = HEADER.unpack_from(data, at)
        stop = at + HEADER.size + length
        piece = data[at + HEADER.size : stop]
        if length + HEADER.size > room or stop > len(data) or zlib.crc32(bytes([kind]) + piece) != checksum:
            if stop <= len(data):
                gaps.append(before + at)
            at, parts, size = at + room, [], 0
            if at <= len(data):
                yield None, at
            continue
        at = stop
        if kind in (FULL, FIRST):
            parts, size = [], 0
        elif not parts:  # the rest of a damaged record
            continue
        parts.append(piece)
        size += length
        if kind in (FULL, LAST) and size <= MAX_RECORD_BYTES:
            yield b"".join(parts), at
        if kind in (FULL, LAST) or size > MAX_RECORD_BYTES:
            parts, size = [], 0
