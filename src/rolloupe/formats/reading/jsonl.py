r"""JSON lines: files cut into lines, lines into objects, for every format whose samples are lines.

Lines end at the byte `\n` and nowhere else. What cannot be read is a `Problem` with its byte range; no line, whatever
it holds, ends a scan. Memory is bounded: a line beyond `MAX_LINE_BYTES` is passed over, not read.
"""

import json
import re
from collections.abc import Callable, Iterator
from functools import partial
from io import BufferedReader
from pathlib import Path
from typing import Any, BinaryIO, ClassVar, NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from rolloupe import text
from rolloupe.errors import SourceChanged, defect
from rolloupe.formats.reading import fields
from rolloupe.formats.reading.access_points import Gap
from rolloupe.formats.reading.arrays import Cutter
from rolloupe.formats.reading.codecs import Damage
from rolloupe.formats.reading.stream import LFS_POINTER, damage_of, gaps_of, is_decoded, open_binary, spent_bytes
from rolloupe.model import Locator, Problem, RunInfo, Sample, SampleRow, Scanned, Source, Texts, Turn

MAX_LINE_BYTES = 64 * 2**20
"""Longer lines are listed and readable raw, but not parsed."""

TOO_LARGE = "is beyond 2^53: a browser cannot tell such a number from its neighbours"
BLOCK_BYTES = 2**18
"""Small enough for the cache of a core: larger blocks were slower."""
FREE_LINES = 2**14
"""A compressed file has to pay for its lines: of a range, so many are read, and one more for each byte of the file.

Real lines, however alike, were measured at 1.5 to 9 bytes once they are packed; a bomb has hundreds for a byte.
"""
MIN_BLOCK_BYTES = 2**16
"""So much is read where less was asked for: to the end of the line, most often."""
RAW_BUFFER_BYTES = 2**13
SPACE = 0x20
_NEWLINE = ord("\n")
_FIRST_WINDOW = 64
_WINDOW_GROWTH = 32
BOM = b"\xef\xbb\xbf"
BLANK = b" \t\r"
MAX_LFS_POINTER_BYTES = 1024
"""Git LFS never writes a pointer of 1,024 bytes or more."""

TOO_LONG = f"longer than {MAX_LINE_BYTES // 2**20} MiB: not parsed"
TOO_MANY_LINES = "more lines than the compressed file has bytes: the rest of this range is not read"
NOT_DOWNLOADED = "a Git LFS pointer: the file itself is not downloaded. Next: git lfs pull"

Record = dict[str, Any]
Reader = Callable[[bytes], Record]
Completing = Callable[[Record, SampleRow], None]
"""Adds to a row what is known of its record from elsewhere."""

_decode = msgspec.json.Decoder().decode
_surrogate = re.compile(rb"\\u[dD][89a-fA-F]")
_escape = re.compile(
    r"\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|(?P<lone>u[dD][89a-fA-F][0-9a-fA-F]{2})|.)",
    re.DOTALL,
)


class Unusable(Exception):
    """Raised for a record that cannot become a sample; its text is the reason, for a person."""


class Line(NamedTuple):
    """A line, without its newline; `ended` is False at a file's unfinished end.

    `data` is None where it is not read, and `reason` then says why; such a line may stand for many.
    """

    start: int
    length: int
    data: bytes | None
    ended: bool
    reason: str = ""

    @property
    def stop(self) -> int:
        """The byte behind it: its newline, if it has ended."""
        return self.start + self.length


def lines(file: BufferedReader, start: int, stop: int) -> Iterator[Line]:
    """Yield every line whose first byte lies in `[start, stop)`; one that begins before `stop` is read to its end.

    Runs of blank lines are passed over at once. Where a compressed stream stops short between two lines, an empty line
    without an end stands for the next. Of one that holds too many lines for its size, a last one stands for the rest.
    """
    position = read_to = _line_start(file, start, stop)
    block = bytearray(min(BLOCK_BYTES, max(MIN_BLOCK_BYTES, stop - position)))
    view = memoryview(block)
    begun: list[bytes] = []
    length = told = 0
    paid = None if spent_bytes(file) is None else FREE_LINES
    while position < stop:
        count = file.readinto(view[: max(MIN_BLOCK_BYTES, stop - read_to)])
        if not count:
            if length or damage_of(file):
                yield _line(position, length, _joined(begun, b"", length), ended=False)
            return
        read_to += count
        at = 0
        while (end := block.find(b"\n", at, count)) >= 0:
            if not length and block[at] <= SPACE and (behind := _behind_blank_lines(block, at, count)) > at:
                position += behind - at
                at = behind
                if position >= stop:
                    return
                continue
            if paid is not None and told >= paid and told >= (paid := FREE_LINES + (spent_bytes(file) or 0)):
                yield Line(position, stop - position, None, ended=True, reason=TOO_MANY_LINES)
                return
            length += end - at
            told += 1
            yield _line(position, length, _joined(begun, view[at:end], length), ended=True)
            position += length + 1
            if position >= stop:
                return
            begun.clear()
            length, at = 0, end + 1
        length += count - at
        if length <= MAX_LINE_BYTES:
            begun.append(bytes(view[at:count]))
        else:
            begun.clear()


def _behind_blank_lines(block: bytearray, at: int, count: int) -> int:
    """Return where the run of blank lines that begins at `at` ends: `at` where the line is not blank.

    Looks at windows that grow, so that a short run costs little and a long one passes at over 1 GB/s.
    """
    held = np.frombuffer(block, dtype=np.uint8, count=count)
    end, width = at, _FIRST_WINDOW
    while end < count:
        window = held[end : end + width]
        blank = _leading_blanks(window)
        end += blank
        if blank < len(window):
            break
        width *= _WINDOW_GROWTH
    return block.rfind(b"\n", at, end) + 1 or at


def _leading_blanks(window: NDArray[np.uint8]) -> int:
    solid = window != _NEWLINE
    if solid.any():
        for blank in BLANK:
            solid &= window != blank
    first = int(solid.argmax())
    return first if solid[first] else len(window)


def _line(start: int, length: int, data: bytes | None, *, ended: bool) -> Line:
    return Line(start, length, data, ended, TOO_LONG if data is None else "")


def _joined(begun: list[bytes], last: bytes | memoryview, length: int) -> bytes | None:
    """The pieces of a line together; None where they are too long."""
    if length > MAX_LINE_BYTES:
        return None
    return b"".join([*begun, last]) if begun else bytes(last)


def _line_start(file: BinaryIO, start: int, stop: int) -> int:
    """Go to the first byte at or after `start` at which a line begins, and return it; `stop` where none is before."""
    if start == 0:
        file.seek(0)
        return 0
    file.seek(start - 1)
    skipped, ended = _skip_line(file, stop - start + 1)
    return start - 1 + skipped if ended else stop


def _skip_line(file: BinaryIO, at_most: int | None = None) -> tuple[int, bool]:
    """Pass over the rest of a line; return its bytes, the newline included, and whether there was one."""
    skipped = 0
    while data := file.readline(BLOCK_BYTES if at_most is None else min(BLOCK_BYTES, max(0, at_most - skipped))):
        skipped += len(data)
        if data.endswith(b"\n"):
            return skipped, True
    return skipped, False


def parse(data: bytes) -> Record:
    """Decode one line as a JSON object whose texts can all be encoded as UTF-8. Raises `Unusable`.

    Whatever Python's `json` reads after `errors="replace"` is read: NaN and infinities, invalid UTF-8, lone surrogates,
    huge integers. msgspec refuses some of that, but reads the rest ten times faster and to the same values.
    """
    try:
        record = _decode(data)
    except (msgspec.DecodeError, ValueError, RecursionError):
        record = _parse_slowly(data)
    if not isinstance(record, dict):
        raise Unusable(f"not a JSON object but {_kind(record)}")
    return record


def _parse_slowly(data: bytes) -> object:
    return decoded(data, lambda error: f"{error.msg.removesuffix(' at')} (character {error.pos} of the line)")


def decoded(data: bytes, where: Callable[[json.JSONDecodeError], str]) -> object:
    """Decode JSON as Python has it, NaN included. Raises `Unusable`, with what is wrong in words and `where` it is."""
    try:
        found: object = json.loads(_as_json(data))
    except json.JSONDecodeError as error:
        raise Unusable(f"not JSON: {where(error)}") from None
    except ValueError:
        raise Unusable("not readable: an integer of more digits than Python converts") from None
    except RecursionError:
        raise Unusable("not readable: nested too deeply") from None
    return found


def _as_json(data: bytes) -> str:
    decoded = data.decode("utf-8", errors="replace")
    return replace_lone_surrogates(decoded) if _surrogate.search(data) else decoded


def replace_lone_surrogates(escaped: str) -> str:
    """Return JSON text in which every escape of half a surrogate pair stands for U+FFFD instead.

    Works on the escapes, not on the decoded value, which may be nested too deeply to walk.
    """
    return _escape.sub(lambda match: r"\ufffd" if match["lone"] else match[0], escaped)


def _replaced(data: bytes) -> list[str]:
    """Say what of a line cannot be shown as it stands."""
    if data.isascii() and not _surrogate.search(data):
        return []
    try:
        decoded = data.decode()
    except UnicodeDecodeError:
        return ["bytes that are not valid UTF-8 are shown as \ufffd"]
    if _surrogate.search(data) and replace_lone_surrogates(decoded) != decoded:
        return ["halves of surrogate pairs are shown as \ufffd"]
    return []


def _kind(value: object) -> str:
    if value is None:
        return "null"
    names = {list: "an array", str: "a text", bool: "true or false"}
    return names.get(type(value), "a number")


def step_of(value: object) -> int | None:
    """Read a step, None where there is none. Raises `Unusable` for what is no integer, or too large to be shown."""
    if value is None:
        return None
    if fields.is_too_large(value):
        raise Unusable(f"step {str(value)[:40]} {TOO_LARGE}")
    found = fields.integer(value)
    if found is None:
        shown = repr(value[:40]) if isinstance(value, str) else fields.as_text(value)[:40]
        raise Unusable(f"step {shown} is no integer")
    return found


def strip_bom(data: bytes, start: int) -> bytes:
    """Drop a byte order mark, which may stand at the start of a file alone."""
    return data.removeprefix(BOM) if start == 0 else data


def is_lfs_pointer(head: bytes, size: int) -> bool:
    """Tell whether a file that begins with `head` stands for one that Git LFS has not fetched."""
    return size < MAX_LFS_POINTER_BYTES and head.startswith(LFS_POINTER)


class References(NamedTuple):
    """What a sample is held against: the ground truth, and the response of the reference model."""

    label: str
    turns: list[Turn]


class JsonlFormat:
    """What formats of JSON lines share: a subclass says what a run is and what becomes of an object."""

    name: ClassVar[str]
    title: ClassVar[str]
    splittable: ClassVar[bool] = True
    recognises: ClassVar[str]
    """For docs/formats.md, like the four below: what is recognised, in Markdown."""
    layout: ClassVar[str]
    identity: ClassVar[str]
    reads: ClassVar[tuple[tuple[str, str], ...]]
    """Keys, and what becomes of them."""
    limits: ClassVar[str]

    def detect(self, path: Path, *, forced: bool = False, link_root: str = "") -> list[RunInfo]:
        """See `Format`."""
        raise NotImplementedError

    def sources(self, run: RunInfo) -> list[Source]:
        """See `Format`."""
        raise NotImplementedError

    def prepared(self, run: RunInfo, record: Record) -> Record:  # noqa: ARG002
        """The object as `row` and `sample` are to read it, where a person has said how."""
        return record

    series_keys: ClassVar[frozenset[str]] = frozenset()
    """Keys whose lists `sample`, too, looks at with `tokens` alone: they are then arrays where a sample is loaded."""

    def may_cut(self, key: str) -> bool:  # noqa: ARG002
        """Tell whether `rows` looks at a list under this key with `tokens` alone, if at all.

        Long arrays of numbers under such keys are `tokens.Floats` in a scan, in place of lists.
        """
        return False

    def row(self, source: Source, record: Record, start: int, length: int) -> SampleRow:
        """Make a row of one object. Raises `Unusable` where it is no sample."""
        raise NotImplementedError

    def rows(self, source: Source, record: Record, start: int, length: int) -> list[Scanned]:
        """Make the rows of one object, told apart by `part`: one, unless lines of a format hold several samples."""
        return [self.row(source, record, start, length)]

    def sample(self, record: Record, row: SampleRow, locator: Locator) -> Sample:
        """Make the whole sample of one object."""
        raise NotImplementedError

    def annotate(self, run: RunInfo, record: Record, sample: Sample) -> None:
        """Add to a sample what other files of its run say of it: nothing, unless a format has such files."""

    def scan(self, run: RunInfo, source: Source, start: int, stop: int) -> Iterator[Scanned]:
        """See `Format`."""
        return self.scanned(run, source, start, stop, lambda _record, _row: None)

    def scanned(self, run: RunInfo, source: Source, start: int, stop: int, complete: Completing) -> Iterator[Scanned]:
        """Scan, and have added to each row what other files say of it."""
        with open_binary(source.location, RAW_BUFFER_BYTES) as file:
            decoded = is_decoded(file)
            head = b"" if decoded else file.read(MAX_LFS_POINTER_BYTES)
            if is_lfs_pointer(head, len(head)):
                if start == 0 < stop:
                    yield Problem(source=source.name, reason=NOT_DOWNLOADED, start=0, stop=len(head))
                return
            told = start
            read = parse if run.reading.fields else Cutter(parse, self.may_cut).parse
            items = partial(self._items, run, source, read, complete)
            for line in lines(file, start, stop):
                if not decoded:
                    yield from self._told(source, line, items, None, [])
                    continue
                gaps = [gap for gap in gaps_of(file) if told <= gap.start < stop]
                yield from (_missing(source, gap) for gap in gaps if gap.start < line.start)
                yield from self._told(source, line, items, damage_of(file), gaps_of(file))
                yield from (_missing(source, gap) for gap in gaps if line.start <= gap.start <= line.stop)
                told = line.stop + 1
            yield from (_missing(source, gap) for gap in gaps_of(file) if told <= gap.start < stop)

    def _told(
        self,
        source: Source,
        line: Line,
        items: Callable[[Line], list[Scanned]],
        damage: Damage | None,
        gaps: list[Gap],
    ) -> Iterator[Scanned]:
        """Yield what becomes of a line: nothing of a blank one; of one that damage cut, the damage."""
        cut = None if line.ended else damage
        torn = cut or any(gap.start == line.stop or gap.stop == line.start for gap in gaps)
        if line.data is None or strip_bom(line.data, line.start).strip(BLANK):
            for item in items(line):
                if not (torn and isinstance(item, Problem)):
                    yield item
        if cut:
            yield _stopped(source, line, cut)

    def _items(self, run: RunInfo, source: Source, read: Reader, complete: Completing, line: Line) -> list[Scanned]:
        try:
            record = self.prepared(run, _record(line, read))
            found = self._rows(run, source, record, line.start, line.length)
            for row in found:
                if isinstance(row, SampleRow):
                    complete(record, row)
        except Unusable as error:
            reason = str(error) if line.ended else f"the last line has no end yet ({error})"
        except Exception as error:  # a defect of ours must not cost the lines behind
            reason = defect(error)
        else:
            return found
        return [Problem(source=source.name, reason=reason, start=line.start, stop=line.stop, transient=not line.ended)]

    def _rows(self, run: RunInfo, source: Source, record: Record, start: int, length: int) -> list[Scanned]:
        found = self.rows(source, record, start, length)
        for row in found:
            if not isinstance(row, SampleRow):
                continue
            if fields.is_too_large(row.step):
                raise Unusable(f"step {row.step} {TOO_LARGE}")
            if key := run.reading.reward_key:
                row.reward = row.metrics.get(f"reward.{key}", row.metrics.get(key))
        return found

    def load(self, run: RunInfo, source: Source, locator: Locator) -> Sample:
        """See `Format`."""
        return self.loaded(run, source, locator, self.annotate)

    def loaded(
        self,
        run: RunInfo,
        source: Source,
        locator: Locator,
        annotate: Callable[[RunInfo, Record, Sample], None],
    ) -> Sample:
        """Read a sample, and have added to it what other files say."""
        data, record, row = self._read(run, source, locator)
        sample = self.sample(record, row, locator)
        annotate(run, record, sample)
        sample.notes += _replaced(data)
        return sample

    def references(self, record: Record) -> References | None:  # noqa: ARG002
        """Return what a sample is held against; None where only `load` knows its texts."""
        return None

    def load_texts(self, run: RunInfo, source: Source, locator: Locator) -> Texts | None:
        """See `LoadsTexts`."""
        if type(self).references is JsonlFormat.references:
            return None
        _, record, row = self._read(run, source, locator)
        held = self.references(record)
        return held and Texts(
            key=row.key,
            prompt=row.prompt,
            response=row.response,
            label=held.label,
            reference="".join(map(text.verbatim, held.turns)),
        )

    def _read(self, run: RunInfo, source: Source, locator: Locator) -> tuple[bytes, Record, SampleRow]:
        """Read the record at a place: its bytes, what they hold, and the row of the sample."""
        data = self.raw(source, locator)
        try:
            read = parse if run.reading.fields else Cutter(parse, self.series_keys.__contains__).parse
            record = self.prepared(run, read(strip_bom(data, locator.start)))
            rows = self._rows(run, source, record, locator.start, locator.length)
        except Unusable as error:
            raise _changed(source, locator.start, str(error)) from None
        row = next((row for row in rows if isinstance(row, SampleRow) and row.part == locator.part), None)
        if row is None:
            raise _changed(source, locator.start, f"its part {locator.part!r} is gone")
        return data, record, row

    def raw(self, source: Source, locator: Locator) -> bytes:
        """See `Format`. What is returned is uncompressed."""
        before = 1 if locator.start else 0
        data = self.read(source, locator.start - before, before + locator.length + 1)
        record, after = data[before : before + locator.length], data[before + locator.length :]
        if (before and data[:1] != b"\n") or len(record) < locator.length or after not in (b"", b"\n"):
            raise _changed(source, locator.start, "the line has other bounds")
        return record

    def read(self, source: Source, start: int, length: int) -> bytes:
        """See `Format`."""
        try:
            with open_binary(source.location, RAW_BUFFER_BYTES) as file:
                file.seek(start)
                return _read(file, length)
        except OSError as error:
            raise _changed(source, start, error.strerror or str(error)) from None


def _record(line: Line, read: Reader) -> Record:
    if line.data is None:
        raise Unusable(line.reason)
    return read(strip_bom(line.data, line.start))


def _missing(source: Source, gap: Gap) -> Problem:
    reason = (
        f"{gap.damage.reason}, at byte {gap.damage.offset} of the compressed file; read on where the next frame begins"
    )
    return Problem(source=source.name, reason=reason, start=gap.start, stop=gap.stop)


def _stopped(source: Source, line: Line, damage: Damage) -> Problem:
    """Say why a compressed stream ends in a line, and from where on lines are missing."""
    reason = f"{damage.reason}, at byte {damage.offset} of the compressed file; no line behind it is read"
    return Problem(source=source.name, reason=reason, start=line.start, stop=line.stop, transient=True)


def _read(file: Any, size: int) -> bytes:
    """Read so many bytes, or to the end: one call may bring fewer."""
    blocks = []
    while size and (data := file.read(size)):
        blocks.append(data)
        size -= len(data)
    return b"".join(blocks)


def _changed(source: Source, start: int, reason: str) -> SourceChanged:
    return SourceChanged(f"{source.path} no longer holds a record at byte {start}: {reason}. Next: reload the step")
