"""Lists of numbers in a pickle: most of a dump is such lists. They are passed over, and decoded when asked for.

A pickle writes a list of numbers as a mark, an opcode and its bytes for each number, and `e`. One expression finds the
end of such a run, and NumPy decodes it.
"""

import re

import numpy as np
from numpy.typing import NDArray

MAX_RUN_BYTES = 2**14
"""Python's own writers put 1,000 numbers of at most 9 bytes into one run."""

BLOCK_BYTES = 2**12
"""Bytes whose opcodes are looked for at once."""

_RUN = rb"\((?:(?:K.|M..|J.{4})++|(?:G.{8})++)e"
RUN = re.compile(_RUN, re.DOTALL)
"""A mark, small integers or floats alone, and `e`."""

LIST_OF_NUMBERS = re.compile(rb"(?:q.|r.{4}|\x94)?" + _RUN, re.DOTALL)
"""What follows the opcode of an empty list if numbers are put into it: perhaps its number in the memo, and a run."""

_FLOAT = ord("G")
_FLOATS = np.dtype([("opcode", "u1"), ("value", ">f8")])
_WIDTHS = np.ones(256, dtype=np.int64)
for _opcode, _width in ((b"K", 2), (b"M", 3), (b"J", 5)):
    _WIDTHS[ord(_opcode)] = _width

Integers = NDArray[np.int64]


def values_of(run: bytes) -> NDArray[np.int64] | NDArray[np.float64]:
    """Decode a run without its mark and its end: integers as int64, floats as float64, shape (T,)."""
    codes = np.frombuffer(run, np.uint8)
    if codes[0] == _FLOAT:
        return np.frombuffer(run, _FLOATS)["value"].astype(np.float64)
    starts = _starts(codes)
    padded = np.concatenate((codes, np.zeros(4, np.uint8))).astype(np.int64)
    widths = _WIDTHS[codes[starts]]
    found = padded[starts + 1]
    found += (padded[starts + 2] << 8) * (widths > 2)
    high = padded[starts + 4]
    found += ((padded[starts + 3] << 16) + ((high - ((high & 128) << 1)) << 24)) * (widths > 3)
    return found


def count_of(run: bytes) -> int:
    """Return the number of values in a run without its mark and its end."""
    return len(run) // 9 if run[0] == _FLOAT else len(_starts(np.frombuffer(run, np.uint8)))


def _starts(codes: NDArray[np.uint8]) -> Integers:
    """The places of the opcodes in a run of integers, whose bytes may look like opcodes as well."""
    width = int(_WIDTHS[codes[0]])
    if len(codes) % width == 0 and (codes[::width] == codes[0]).all():
        return np.arange(0, len(codes), width)
    widths, found, start = _WIDTHS[codes], [], 0
    while start < len(codes):
        block = widths[start : start + BLOCK_BYTES]
        starts = _starts_in(block)
        found.append(starts + start)
        start += int(starts[-1] + block[starts[-1]])
    return np.concatenate(found)


def _starts_in(widths: Integers) -> Integers:
    """The places reached from 0 by steps of these widths. Each round doubles the number of steps in a jump."""
    size = len(widths)
    jump = np.append(np.minimum(np.arange(size) + widths, size), size)
    places = np.zeros(1, np.int64)
    while places[-1] < size:
        places = np.concatenate((places, jump[places]))
        jump = jump[jump]
    return places[places < size]
