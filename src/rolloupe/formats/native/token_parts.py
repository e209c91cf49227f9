"""Token series of the native layout: rows of Parquet parts, of one sample or of all samples of a file."""

import contextlib
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from msgspec import Struct
from numpy.typing import NDArray

from rolloupe import tokens
from rolloupe.formats.reading import fields
from rolloupe.formats.reading.files import links_of, stem
from rolloupe.formats.reading.tables.parquet_files import RowGroup, row_groups
from rolloupe.lru import Lru
from rolloupe.model import Location, RunInfo, Source
from rolloupe.storage import open_file, open_state, stamp_of_state
from rolloupe.tokens import Floats, SampleTokens, most_tokens

MAX_ROW_GROUP_BYTES = 512 * 2**20
"""The writer makes row groups of a few MB; a part that claims much larger ones is not read."""

MAX_VALUES = 2**25
"""Number of values to decode from a row group, whatever their size in the file: twice what is read of one sample."""

MAX_COLUMNS = 4096

_Stamp = tuple[Location, int, int, int]
"""A file, its inode, its size, and when it changed."""
_footers: Lru[_Stamp, list[RowGroup]] = Lru(entries=16, total=2**12)

MAX_KEPT_BYTES = 2**27
"""Decoded row groups to keep: samples follow each other in the order of their rows, but for those of several ranks."""


_NO_IDS = np.zeros(0)


class PartUnreadable(Exception):
    """Raised if a part does not hold the row that a line names; its text is the reason."""


class TokenRow(NamedTuple):
    """The row of one sample: its token ids, and each series by name."""

    uid: str
    ids: NDArray[np.int64]
    series: dict[str, Floats]
    unread: list[str]
    """The columns without a name, and those whose value in this row is no list of numbers."""
    total: int
    """The number of tokens stored in the row; `ids` and `series` are cut if there are too many."""


class ListColumn:
    """A column of lists of numbers as one array; a null element makes them floats, and is NaN."""

    def __init__(self, column: pa.ListArray) -> None:
        self._offsets = column.offsets.to_numpy().tolist()
        self._is_null = column.is_null().to_numpy(zero_copy_only=False).tolist() if column.null_count else None
        self.values: NDArray[Any] = column.values.to_numpy(zero_copy_only=False)

    def row(self, row: int) -> NDArray[Any] | None:
        """The list of a row, None for null."""
        if self._is_null is not None and self._is_null[row]:
            return None
        return self.values[self._offsets[row] : self._offsets[row + 1]]


class DecodedGroup:
    """A row group of a part."""

    def __init__(self, table: pa.Table) -> None:
        named = zip(table.column_names, table.columns, strict=True)
        columns = {name: column.combine_chunks() for name, column in named}
        uids = columns.pop("uid", None)
        self._uids = [""] * len(table) if uids is None else [*map(str, uids.to_pylist())]
        self._lists = {name: ListColumn(column) for name, column in columns.items() if _is_series(name, column.type)}
        self._others = {name: column for name, column in columns.items() if name not in self._lists}

    @property
    def nbytes(self) -> int:
        """The memory that it takes."""
        return sum(column.values.nbytes for column in self._lists.values())

    def row(self, row: int) -> TokenRow:
        """Return a row, cut to the tokens that are read."""
        lists = {name: values for name, column in self._lists.items() if (values := column.row(row)) is not None}
        unread = [name or "(a column without a name)" for name, column in self._others.items() if column[row].is_valid]
        total = max(map(len, lists.values()), default=0)
        own = lists.pop("token_ids", _NO_IDS)
        count, most = len(own), most_tokens(len(lists))
        with np.errstate(all="ignore"):  # a signalling NaN
            series = {name: first_of(values, count, most) for name, values in lists.items()}
            ids = first_of(own, count, most)
        if count and not (np.abs(ids) < 2**53).all():
            ids = _NO_IDS
            unread.append("token_ids")
        return TokenRow(self._uids[row], ids.astype(np.int64), series, unread, total)


_groups: Lru[tuple[_Stamp, int], DecodedGroup] = Lru(entries=4, total=2**24)
"""Samples that are read one after another lie in one row group, which the writer makes of a few MB."""


def part_path(run_root: str, producer: str, part: int) -> Path:
    """The path of a part."""
    return Path(run_root, "tokens", producer, f"{part:06d}.parquet")


def read_row(location: Location, row: int) -> TokenRow:
    """Read one row of a part; the row groups of the last ones are kept. Raises `PartUnreadable`."""
    with _reading(location), open_file(location) as opened:
        stamp = location, *stamp_of_state(open_state(opened))
        number, at = _place_of(_footers.get_or_make(stamp, lambda: row_groups(opened), len), row)
        group = _groups.get_or_make((stamp, number), lambda: _decoded(opened, number), lambda made: made.nbytes)
        return group.row(at)


class PartReader:
    """Reads rows of parts in a pass over many samples; keeps the row groups that it decoded last."""

    def __init__(self) -> None:
        self._footers: dict[Location, list[RowGroup]] = {}
        self._groups: Lru[tuple[Location, int], DecodedGroup] = Lru(total=MAX_KEPT_BYTES, least=1)

    def row(self, location: Location, row: int) -> TokenRow:
        """Read one row of a part. Raises `PartUnreadable`."""
        with _reading(location):
            if location not in self._footers:
                with open_file(location) as opened:
                    self._footers[location] = row_groups(opened)
            number, at = _place_of(self._footers[location], row)
            group = self._groups.get((location, number))
            if group is None:
                with open_file(location) as opened:
                    group = _decoded(opened, number)
                self._groups.put((location, number), group, group.nbytes)
            return group.row(at)


def _decoded(opened: BinaryIO, group: int) -> DecodedGroup:
    opened.seek(0)
    with pq.ParquetFile(opened) as file:
        return DecodedGroup(file.read_row_group(group, use_threads=False))


@contextlib.contextmanager
def _reading(location: Location) -> Iterator[None]:
    """Turn whatever happens while a part is read into `PartUnreadable`."""
    name = os.path.basename(location.path)
    try:
        yield
    except FileNotFoundError:
        raise PartUnreadable(f"{name} is not there") from None
    except (OSError, pa.ArrowException, ValueError, IndexError, MemoryError) as error:
        reason = next(iter(str(error).splitlines()), type(error).__name__)
        raise PartUnreadable(f"{name} cannot be read: {reason[:200]}") from None


def _place_of(groups: list[RowGroup], row: int) -> tuple[int, int]:
    """Return the number of the row group that holds a row, and the row's number in it. Raises `ValueError`."""
    offset = row
    for number, group in enumerate(groups):
        if group.columns > MAX_COLUMNS:
            raise ValueError(f"it has {group.columns} columns")
        if offset < group.rows:
            if group.size_bytes > MAX_ROW_GROUP_BYTES:
                raise ValueError("a row group is too large")
            if group.values > MAX_VALUES:
                raise ValueError(f"a row group is too large: {group.values:,} values, {MAX_VALUES:,} at most are read")
            return number, offset
        offset -= group.rows
    raise ValueError(f"it has no row {row}")


def _is_series(name: str, kind: pa.DataType) -> bool:
    """True for a column with a name and lists of numbers; true and false are 1 and 0."""
    if not name or not pa.types.is_list(kind):
        return False
    of = kind.value_type
    return bool(pa.types.is_floating(of) or pa.types.is_integer(of) or pa.types.is_boolean(of))


def first_of(values: NDArray[Any], count: int, most: int) -> Floats:
    """The values of the first `most` tokens as floats: values belong to the last of `count` tokens."""
    before = max(0, count - len(values))
    if before + len(values) <= most:
        return np.asarray(values, dtype=np.float64)
    found = np.full(most, np.nan)
    found[before:] = values[: max(0, most - before)]
    return found


class _SeriesPlace(Struct):
    part: int
    row: int


class _TokensLine(Struct):
    """The members of a line of samples or annotations that concern tokens."""

    uid: str | int | None = None
    series: _SeriesPlace | None = None
    tokens: list[str] | None = None
    advantage: float | str | None = None


class NativeTokens:
    """Reads the tokens of the samples of one file."""

    def __init__(self, run: RunInfo, source: Source) -> None:
        self._run, self._source = run, source.path
        self._links = links_of(run)
        self._locations: dict[tuple[str, int], Location] = {}
        self._parts = PartReader()
        self._decode = msgspec.json.Decoder(_TokensLine).decode

    def read(self, data: bytes, annotations: Sequence[tuple[str, bytes]] = ()) -> SampleTokens | None:
        """The tokens of a line's sample; None if only reading the whole sample shows them.

        `annotations` are lines about the sample, oldest first, each with the name of its file.
        """
        try:
            line = self._decode(data)
            newer = [(source, self._decode(note)) for source, note in annotations]
        except (msgspec.MsgspecError, ValueError, RecursionError):
            return None
        strings, uid = line.tokens or [], fields.name(line.uid) or ""
        places = [(self._source, line.series), *((source, note.series) for source, note in newer)]
        if any(place is not None and min(place.part, place.row) < 0 for _, place in places):
            return None
        rows = [self._row(source, place, uid) for source, place in places if place is not None]
        stored: dict[str, tokens.Floats] = {}
        for row in rows:
            if row is not None:
                stored |= row.series
        ids = rows[0].ids if rows and rows[0] is not None and len(rows[0].ids) and line.series is not None else None
        if any(row is not None and len(row.ids) and row.ids is not ids for row in rows):
            return None  # ids that came later place older series
        mask = tokens.mask_of(stored)
        shown = {
            name: values if mask is None or name in tokens.MASKS else tokens.under_mask(values, mask)
            for name, values in stored.items()
        }
        count = 0 if ids is None else len(ids)
        total = max(count, len(strings), *map(len, shown.values()), 0)
        series = {name: _placed(values, count, total) for name, values in shown.items()}
        advantages = (fields.number(note.advantage) for _, note in newer)
        advantage = next((value for value in reversed([*advantages]) if value is not None), None)
        return SampleTokens(total, series, ids=ids, strings=strings, advantage=advantage)

    def _row(self, source: str, place: _SeriesPlace, uid: str) -> TokenRow | None:
        """Return the row that a line names; None if it belongs to another sample, or cannot be read."""
        key = (stem(os.path.basename(source)), place.part)
        if key not in self._locations:
            self._locations[key] = Location(str(part_path(self._run.root, *key)), self._links)
        try:
            row = self._parts.row(self._locations[key], place.row)
        except PartUnreadable:
            return None
        return row if row.uid == uid else None


def _placed(values: tokens.Floats, count: int, total: int) -> tokens.Floats:
    """Values at the last of `count` tokens, or else at the first of `total`."""
    if len(values) == total:
        return values
    found = np.full(total, np.nan)
    first = max(0, count - len(values))
    found[first : first + len(values)] = values
    return found
