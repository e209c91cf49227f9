"""The grid that cuts a source into parts: fixed byte ranges, each of which owns the records that begin in it.

For a compressed source the grid divides the uncompressed stream, whose length is mostly unknown until it is read.
"""

from rolloupe.formats import compression_of, extent
from rolloupe.model import Location
from rolloupe.storage import next_data, open_file

GRID_BYTES = 16 * 2**20
"""Small enough to show the newest part of a huge file at once, large enough for few segments."""


def span_of(splittable: bool, path: str, part: int, size: int) -> tuple[int, int]:
    """The byte range of a part of a file of `size` bytes; if the file is compressed, the range is of its stream."""
    if not splittable:
        return 0, size
    start, stop = grid_span(part)
    return start, stop if has_open_grid(splittable, path) else min(stop, size)


def parts_of(splittable: bool, size: int) -> int:
    """The number of parts of a file of `size` bytes."""
    return max(1, -(-size // GRID_BYTES)) if splittable else 1


def parts_with_data(location: Location, count: int) -> list[int]:
    """The parts of a file of `count` parts but those within a hole of a sparse file; one in which a hole begins counts.

    All of them if the file cannot be opened: whoever scans it says why.
    """
    parts = [0]
    try:
        with open_file(location, buffering=0) as file:
            while (part := parts[-1] + 1) < count:
                # a hole that begins with a part belongs to it, so the byte before it counts too
                at = next_data(file, grid_span(part)[0] - 1)
                parts.append(max(part, at // GRID_BYTES))
    except OSError:
        return list(range(count))
    return [part for part in parts if part < count]


def has_open_grid(splittable: bool, path: str) -> bool:
    """True if the grid divides a stream of unknown length: that of a compressed file."""
    return splittable and bool(compression_of(path))


def grid_span(part: int) -> tuple[int, int]:
    """The byte range of a part, regardless of the stream's end."""
    return part * GRID_BYTES, (part + 1) * GRID_BYTES


def reaches(location: Location, part: int) -> bool:
    """Tell whether the stream of a compressed file reaches the end of a part."""
    stop = grid_span(part)[1]
    try:
        return extent(location, stop).stop == stop
    except OSError:
        return False
