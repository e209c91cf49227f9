"""CRC-32C of many records at once, masked as TFRecord stores it.

Source: RFC 3720, B.4, for the polynomial; the mask is that of TensorFlow's `crc32c.h`. Records are cut into rows that
end where the record ends; zeros before a record change no sum that starts at zero. Columns of rows are summed together,
and the sums of neighbours joined: the sum before moves on by the zeros that the other has in its place.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Sums = NDArray[np.uint32]

POLYNOMIAL = 0x82F63B78
"""Castagnoli's, with its bits reversed."""
MASK = 0xA282EAD8
ROW_BYTES = 64
START = bytes.fromhex("54641f64")
"""A sum starts from all ones, which is what these bytes make of zero."""
CELLS = 2**20
"""How many bytes are summed together."""


def _table() -> Sums:
    sums: Sums = np.arange(256, dtype=np.uint32)
    for _ in range(8):
        sums = (sums >> np.uint32(1)) ^ np.uint32(POLYNOMIAL) * (sums & np.uint32(1))
    return sums


TABLE = _table()


def _moved(tables: Sums, sums: Sums) -> Sums:
    """Return sums as they are after some zeros: the tables hold those of each value of each byte."""
    moved: Sums = tables[0][sums & 0xFF]
    for place in (1, 2, 3):
        moved ^= tables[place][(sums >> 8 * place) & 0xFF]
    return moved


def _after_a_row() -> Sums:
    sums: Sums = np.stack([np.arange(256, dtype=np.uint32) << np.uint32(8 * place) for place in range(4)])
    for _ in range(ROW_BYTES):
        sums = TABLE[sums & 0xFF] ^ (sums >> 8)
    return sums


AFTER_A_ROW = _after_a_row()


def masked_checksums(data: bytes, starts: Sequence[int], stops: Sequence[int]) -> Sums:
    """Return the masked checksum of each piece of the data."""
    first, last = np.array(starts, np.int64), np.array(stops, np.int64)
    found = np.empty(len(first), np.uint32)
    rows = -(-(last - first + len(START)) // ROW_BYTES)
    doublings = np.ceil(np.log2(rows)).astype(np.int64)
    for times in np.unique(doublings):
        places = np.flatnonzero(doublings == times)
        size = max(1, CELLS // (ROW_BYTES << int(times)))
        for at in range(0, len(places), size):
            some = places[at : at + size]
            found[some] = _sums(_cells(data, first[some], last[some], ROW_BYTES << int(times)))
    masked: Sums = ((found >> np.uint32(15)) | (found << np.uint32(17))) + np.uint32(MASK)
    return masked


def _cells(data: bytes, starts: NDArray[np.int64], stops: NDArray[np.int64], width: int) -> NDArray[np.uint8]:
    """Return `width` bytes for each piece: the piece at their end, after the bytes that start its sum."""
    cells = np.zeros((len(starts), width), np.uint8)
    begins = width - (stops - starts)
    if len(starts) == 1:  # a long one, perhaps: without a number for each of its bytes
        cells[0, begins[0] :] = np.frombuffer(data, np.uint8, width - begins[0], starts[0])
    else:
        within = np.arange(width) >= begins[:, None]
        cells[within] = np.frombuffer(data, np.uint8)[(stops[:, None] - width + np.arange(width))[within]]
    for place, byte in enumerate(START, -len(START)):
        cells[np.arange(len(starts)), begins + place] = byte
    return cells


def _sums(cells: NDArray[np.uint8]) -> Sums:
    rows = np.ascontiguousarray(cells.reshape(-1, ROW_BYTES).T)
    sums: Sums = np.zeros(cells.size // ROW_BYTES, np.uint32)
    for column in rows:
        sums = TABLE[(sums ^ column) & 0xFF] ^ (sums >> 8)
    sums = sums.reshape(len(cells), -1)
    tables = AFTER_A_ROW
    while sums.shape[1] > 1:
        sums = _moved(tables, sums[:, 0::2]) ^ sums[:, 1::2]
        tables = _moved(tables, tables)
    return ~sums[:, 0]
