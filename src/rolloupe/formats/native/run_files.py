"""The files of a recorded run beside its samples: annotations, metrics, token series, reports of lost data.

Annotations are lines of `annotations/`, joined by uid. The index supplies their places. Without it, or if a file no
longer holds what the index recorded, files are searched. Token series are rows of Parquet parts.
"""

import contextlib
import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from msgspec import Struct
from numpy.typing import NDArray

from rolloupe import text, tokens
from rolloupe.errors import SourceChanged
from rolloupe.formats.reading import line_reader, trainer_files
from rolloupe.formats.reading import value_parsers as parsers
from rolloupe.formats.reading.files import files, links_of, stem, while_unchanged
from rolloupe.formats.reading.records import Record, Unusable
from rolloupe.formats.reading.tables.parquet_files import RowGroup, row_groups
from rolloupe.formats.reading.trainer_files import MergedMetrics, MetricLines, lines_of, lines_so_far, records
from rolloupe.lru import Lru
from rolloupe.model import Location, Locator, MetricRow, Problem, RunInfo, Source
from rolloupe.storage import file_state, open_file, stamp_of_state
from rolloupe.tokens import Floats, SampleTokens, most_tokens

FOLDER = "annotations"
MAX_PLACES = 1000
"""The most lines to read about one sample; the newest are read."""

Raw = Callable[[Source, Locator], bytes]

DROPPED = "recorder/token_series_dropped"
"""The trainer metric that counts the series a process has dropped since its start."""

MOST_LISTED = 50
"""The most steps and reasons listed from a file of losses; the others are only counted."""

MOST_KEPT = 10_000
MOST_CHARS = 500

ELSEWHERE = ("", None, "")
"""The key under which losses beyond `MOST_KEPT` are counted."""

Place = tuple[str, int | None, str]
"""The kind of a loss, its step, and the reason."""

ONE = {
    "samples": "sample", "annotations": "annotation", "lines of metrics": "line of metrics", "groups": "group",
    "values": "value", "lists of samples": "list of samples", "calls": "call",
}  # fmt: skip


AnnotationLine = tuple[str, Record]
"""A line of annotations: its file, named relative to the run, and its content."""


def annotations_of(
    run: RunInfo, uid: str, places: Sequence[Locator] | None, raw: Raw
) -> tuple[list[AnnotationLine], list[str]]:
    """Return the lines about a sample, oldest first, and the problems of unreadable lines.

    `places` are their places, oldest first; None if unknown. `raw` reads the bytes at a place.
    """
    entries = files(os.path.join(run.root, FOLDER), links_of(run)) if uid and places != [] else []
    entries.sort(key=lambda entry: text.natural(entry.name))
    locations = {f"{FOLDER}/{entry.name}": entry.location for entry in entries}
    if places is None:
        return _searched(locations, uid)
    lines: list[AnnotationLine] = []
    notes = [f"annotations: only the last {MAX_PLACES} count"] if len(places) > MAX_PLACES else []
    for name, file_places in groupby(places[-MAX_PLACES:], key=lambda place: place.source):
        if (where := locations.get(name)) is None:
            continue
        of_file = _at(Source(path=where.path, name=name, root=where.root), list(file_places), uid, raw)
        if of_file is None:
            of_file, more = _searched({name: where}, uid)
            notes += more
        lines += of_file
    return lines, notes


def _searched(locations: dict[str, Location], uid: str) -> tuple[list[AnnotationLine], list[str]]:
    lines: list[AnnotationLine] = []
    notes: list[str] = []
    for name, where in locations.items():
        about, problems = trainer_files.records_about(where, "uid", uid)
        lines += [(name, record) for record in about]
        notes += problems
    return lines, notes


def _at(source: Source, places: list[Locator], uid: str, raw: Raw) -> list[AnnotationLine] | None:
    """Return the lines at some places of a file; None if one of them no longer concerns this sample."""
    lines = []
    for place in places:
        try:
            record = line_reader.parse(line_reader.strip_bom(raw(source, place), place.start))
        except (SourceChanged, Unusable):
            return None
        if parsers.name(record.get("uid")) != uid:
            return None
        lines.append((source.name, record))
    return lines


class _ProducerLines(MetricLines):
    """The file of a producer: values of steps, and sums over its samples of a step."""

    def take(self, record: Record) -> None:
        """Take a line. If several lines have sums for one step, as when a step ran again, the last counts."""
        step, sums = record.get("step"), record.get("sums")
        super().take({**_named(record.get("values")), "step": step, "time": record.get("time")})
        if isinstance(sums, dict):
            self.apart.pop(parsers.integer(step), None)
            self.apart[parsers.integer(step)] = {"step": step, "sums": sums}


def metrics_in(locations: Iterable[Location]) -> list[MetricRow]:
    """Return the metrics of all producers, merged by step: a value of a line wins over a mean of sums."""
    producers = [lines_so_far(location, _ProducerLines) for location in locations]
    merged = MergedMetrics()
    for row in _summed(row for producer in producers for row in producer.apart):
        merged.add(row)
    for producer in producers:
        merged.join(producer.rows)
    return merged.rows()


def _named(values: object) -> dict[str, Any]:
    """Return the metrics of a line, renamed where they would clash with the line's own names."""
    named = parsers.as_dict(values).items()
    return {f"metric.{name}" if name in ("step", "time") else name: value for name, value in named}


def _summed(rows: Iterable[Record]) -> list[Record]:
    """Return the means over all producers, from their sums and counts; a sum with count 0 is a total."""
    totals: dict[tuple[int | None, str], list[float]] = {}
    for row in rows:
        step = parsers.integer(row.get("step"))
        for name, pair in parsers.as_dict(row.get("sums")).items():
            numbers = [parsers.number(value) for value in parsers.as_list(pair)]
            if len(numbers) == 2 and numbers[0] is not None and numbers[1] is not None:
                sum_and_count = totals.setdefault((step, name), [0.0, 0.0])
                sum_and_count[0] += numbers[0]
                sum_and_count[1] += numbers[1]
    means: dict[int | None, Record] = {}
    for (step, name), (total, count) in totals.items():
        means.setdefault(step, {})[name] = total / count if count else total
    return [{**_named(values), "step": step} for step, values in means.items()]


def losses_in(metrics: Iterable[Source], losses: Iterable[Source]) -> list[Problem]:
    """Return the data that producers lost: series by their metrics, other data by their files of losses."""
    problems = []
    for sources, read in ((metrics, _dropped), (losses, _lost)):
        for source in sources:
            with contextlib.suppress(OSError):
                reasons = read(source.location)
                problems += [Problem(source=source.name, reason=reason, transient=True) for reason in reasons]
    return problems


@while_unchanged(1000)
def _lost(location: Location) -> tuple[str, ...]:
    counts: Counter[Place] = Counter()
    for row in records(location):
        what, reason = (parsers.as_text(row.get(key))[:MOST_CHARS] for key in ("what", "reason"))
        place = what or "lines", parsers.integer(row.get("step")), reason
        place = place if place in counts or len(counts) < MOST_KEPT else ELSEWHERE
        counts[place] += parsers.count(row.get("count")) or 0
    more = counts.pop(ELSEWHERE, 0)
    ordered = sorted(counts.items(), key=lambda item: (item[0][1] is None, item[0][1] or 0, item[0]))
    more += sum(count for _, count in ordered[MOST_LISTED:])
    losses = []
    for (what, step, reason), count in ordered[:MOST_LISTED]:
        were = f"1 {ONE.get(what, what)}" if count == 1 else f"{count:,} {what}"
        of_step = "" if step is None else f" of step {step}"
        verb = "left out" if what == "values" else "lost"
        losses.append(f"{were}{of_step} {'was' if count == 1 else 'were'} {verb}: {reason or 'no reason is given'}")
    return (*losses, *([f"{more:,} more were lost at other steps"] if more else []))


@while_unchanged(1000)
def _dropped(location: Location) -> tuple[str, ...]:
    """Sum the token series that all processes dropped: a falling count marks a new process."""
    total = last = 0
    for line in lines_of(location):
        if DROPPED.encode() in line:
            with contextlib.suppress(Unusable):
                values = parsers.as_dict(line_reader.parse(line).get("values"))
                count = parsers.count(values.get(DROPPED)) or last
                total, last = total + (last if count < last else 0), count
    total += last
    why = "were not written, for the recorder had no room: their samples say which"
    return (f"{total:,} token series {why}",) if total else ()


MAX_ROW_GROUP_BYTES = 512 * 2**20
"""The writer makes row groups of a few MB; a part that claims much larger ones is not read."""

MAX_VALUES = 2**25
"""The most values to decode from a row group, whatever their size in the file: twice those of one sample."""

MAX_COLUMNS = 4096

_Stamp = tuple[Location, int, int, int]
"""A file, its inode, its size, and when it changed."""

_NO_IDS = np.zeros(0)


class PartUnreadable(Exception):
    """Raised if a part does not hold the row that a line names; its text is the reason."""


class TokenRow(NamedTuple):
    """The row of one sample: its token ids, and each series by name."""

    uid: str
    ids: NDArray[np.int64]
    series: dict[str, Floats]
    unread: list[str]
    """Columns without a name, and columns whose value in this row is not a list of numbers."""
    total: int
    """The number of tokens stored in the row; `ids` and `series` are cut if there are too many."""


class DecodedGroup:
    """A row group of a part: columns of lists of numbers as one array each, in which a null element is NaN."""

    def __init__(self, table: pa.Table) -> None:
        named = zip(table.column_names, table.columns, strict=True)
        columns = {name: column.combine_chunks() for name, column in named}
        uids = columns.pop("uid", None)
        self._uids = [""] * len(table) if uids is None else [*map(str, uids.to_pylist())]
        is_number = (pa.types.is_floating, pa.types.is_integer, pa.types.is_boolean)  # true and false are 1 and 0
        self._others = {}
        self._lists: dict[str, tuple[NDArray[Any], list[int], list[bool] | None]] = {}
        for name, column in columns.items():
            if name and pa.types.is_list(column.type) and any(check(column.type.value_type) for check in is_number):
                nulls = column.is_null().to_numpy(zero_copy_only=False).tolist() if column.null_count else None
                values = column.values.to_numpy(zero_copy_only=False)
                self._lists[name] = values, column.offsets.to_numpy().tolist(), nulls
            else:
                self._others[name] = column

    @property
    def nbytes(self) -> int:
        return sum(values.nbytes for values, _, _ in self._lists.values())

    def row(self, row: int) -> TokenRow:
        """Return a row, cut to the tokens that are read."""
        lists = {
            name: values[offsets[row] : offsets[row + 1]]
            for name, (values, offsets, nulls) in self._lists.items()
            if nulls is None or not nulls[row]
        }
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


@lru_cache(maxsize=64)
def part_path(run_root: str, producer: str, part: int) -> Path:
    """Return the path of a part."""
    return Path(run_root, "tokens", producer, f"{part:06d}.parquet")


class Parts:
    """Reads rows of parts, and keeps the row groups read last: the rows of samples mostly follow each other."""

    def __init__(self, groups: Lru[tuple[_Stamp, int], DecodedGroup], *, are_final: bool = False) -> None:
        """`are_final`: no part changes as long as this reader is used."""
        self._groups, self._are_final = groups, are_final
        self._stamps: dict[Location, _Stamp] = {}
        self._footers: Lru[_Stamp, list[RowGroup]] = Lru(entries=16, total=2**12)

    def row(self, location: Location, row: int) -> TokenRow:
        """Read one row of a part. Raises `PartUnreadable`."""
        with _reading(location):
            stamp = self._stamps.get(location) or (location, *stamp_of_state(file_state(location)))
            if self._are_final:
                self._stamps[location] = stamp
            groups = self._footers.get(stamp)
            if groups is None:
                with open_file(location) as file:
                    groups = row_groups(file)
                self._footers.put(stamp, groups, len(groups))
            number, at = _place_of(groups, row)
            group = self._groups.get((stamp, number))
            if group is None:
                with open_file(location) as file, pq.ParquetFile(file) as parquet:
                    group = DecodedGroup(parquet.read_row_group(number, use_threads=False))
                self._groups.put((stamp, number), group, group.nbytes)
            return group.row(at)


read_row = Parts(Lru(entries=4, total=2**24)).row
"""Reads one row of a part, for samples that are read one after another: the writer makes row groups of a few MB."""


@contextlib.contextmanager
def _reading(location: Location) -> Iterator[None]:
    """Raise `PartUnreadable` for any failure to read a part."""
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


def first_of(values: NDArray[Any], count: int, most: int) -> Floats:
    """Return the values of the first `most` tokens as floats; `values` are for the last of `count` tokens."""
    if max(count, len(values)) <= most:
        return np.asarray(values, dtype=np.float64)
    return _placed(values, count, most)


def _placed(values: NDArray[Any], count: int, total: int) -> Floats:
    """Return the values of `total` tokens; `values` are for the last of `count` tokens, or else for the first."""
    placed = np.full(total, np.nan)
    first = max(0, count - len(values))
    placed[first : first + len(values)] = values[: max(0, total - first)]
    return placed


MAX_KEPT_BYTES = 2**27
"""Decoded row groups to keep while the tokens of a file are read: several ranks may write in turns."""


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
        self._parts = Parts(Lru(total=MAX_KEPT_BYTES, least=1), are_final=True)
        self._decode = msgspec.json.Decoder(_TokensLine).decode

    def read(self, data: bytes, annotations: Sequence[tuple[str, bytes]] = ()) -> SampleTokens | None:
        """Return the tokens of a line's sample, with annotations oldest first; None if only the whole sample tells."""
        try:
            line = self._decode(data)
            newer = [(source, self._decode(note)) for source, note in annotations]
        except (msgspec.MsgspecError, ValueError, RecursionError):
            return None
        strings, uid = line.tokens or [], parsers.name(line.uid) or ""
        places = [(self._source, line.series), *((source, note.series) for source, note in newer)]
        if any(place is not None and min(place.part, place.row) < 0 for _, place in places):
            return None
        rows = [self._row(source, place, uid) for source, place in places if place is not None]
        stored: dict[str, tokens.Floats] = {}
        for row in filter(None, rows):
            stored |= row.series
        ids = rows[0].ids if rows and rows[0] is not None and len(rows[0].ids) and line.series is not None else None
        if any(row is not None and len(row.ids) and row.ids is not ids for row in rows):
            return None  # later ids move older series
        mask = tokens.mask_of(stored)
        shown = {
            name: values if mask is None or name in tokens.MASKS else tokens.under_mask(values, mask)
            for name, values in stored.items()
        }
        count = 0 if ids is None else len(ids)
        total = max(count, len(strings), *map(len, shown.values()), 0)
        series = {n: values if len(values) == total else _placed(values, count, total) for n, values in shown.items()}
        advantages = (parsers.number(note.advantage) for _, note in newer)
        advantage = next((value for value in reversed([*advantages]) if value is not None), None)
        return SampleTokens(total, series, ids=ids, strings=strings, advantage=advantage)

    def _row(self, source: str, place: _SeriesPlace, uid: str) -> TokenRow | None:
        """Return the row that a line names; None if it belongs to another sample, or cannot be read."""
        path = part_path(self._run.root, stem(os.path.basename(source)), place.part)
        try:
            row = self._parts.row(Location(str(path), links_of(self._run)), place.row)
        except PartUnreadable:
            return None
        return row if row.uid == uid else None
