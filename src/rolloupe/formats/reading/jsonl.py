r"""JSON lines: files cut into lines, lines into objects, for every format whose samples are lines.

Lines end at the byte `\n` and nowhere else. An unreadable line is a `Problem` with its byte range; no line, whatever it
holds, ends a scan. Memory is bounded: a line beyond `MAX_LINE_BYTES` is skipped, not read.
"""

import ast
import contextlib
import json
import math
import os
import re
import warnings
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from io import BufferedReader
from typing import Any, BinaryIO, ClassVar, NamedTuple, TypeVar

import msgspec
import numpy as np
from numpy.typing import NDArray

from rolloupe import tokens
from rolloupe.formats.base import NO_ANNOTATIONS, Annotations, changed, no_sample, no_tokens
from rolloupe.formats.reading.access_points import Gap
from rolloupe.formats.reading.arrays import Cutter
from rolloupe.formats.reading.codecs import Damage
from rolloupe.formats.reading.files import JSONL
from rolloupe.formats.reading.records import Completion, Record, RecordFormat, Uncut, Unusable
from rolloupe.formats.reading.stream import LFS_POINTER, damage_of, gaps_of, is_decoded, open_binary, spent_bytes
from rolloupe.model import Location, Locator, Problem, RunInfo, Sample, SampleRow, Scanned, Source, Texts
from rolloupe.storage import expect, next_data
from rolloupe.tokens import SampleTokens

MAX_LINE_BYTES = 64 * 2**20
"""Longer lines are listed and can be read raw, but are not parsed."""

BLOCK_BYTES = 2**18
"""Fits the cache of a core: larger blocks were slower."""
FREE_LINES = 2**14
"""A compressed file must pay for its lines: of a range, this many are read, and one more for each byte of the file.

Real lines, however alike, took 1.5 to 9 bytes each once packed; a bomb packs hundreds into a byte.
"""
MIN_BLOCK_BYTES = 2**16
"""Minimum read if less was requested: usually to the end of the line."""
RAW_BUFFER_BYTES = 2**13
AFTER_BYTES = 2**16
"""A line that begins in a range usually ends within so many bytes after it."""
NEAR_BYTES = 2**18
"""Reading so many bytes takes about as long as going to another place in a file."""
SPACE = 0x20
_NEWLINE = ord("\n")
_FIRST_WINDOW = 64
_WINDOW_GROWTH = 32
BOM = b"\xef\xbb\xbf"
BLANK = b" \t\r"
OF_ARRAY = (b"[", b"]", b"],", b",")
"""Lines that may stand around the objects of an array."""
EDGES = (b"\n", b"\0")
"""What is before a line and behind it: the end of a line, or a hole."""
MAX_LFS_POINTER_BYTES = 1024
"""Git LFS never writes a pointer of 1,024 bytes or more."""

MAX_PRINTED_CHARS, MAX_PRINTED_DEPTH = 2**20, 100
"""Longer or deeper objects as Python prints them are not read."""
MOST_LOOKS = 8
"""How often each byte of a torn line is parsed, at most, in search of an object behind the rest of another."""
FREE_LOOKS = 2**16
"""As many bytes of a line, however short, may be parsed again."""
BYTES_PER_LOOK = 256
"""A failed parse counts the lines of what precedes it: so many of these bytes take as long as parsing one."""

HOLE = bytes(512)
"""So many NUL bytes together are no text: a crash or a full disk left them where lines were to be written."""
_ZEROS = bytes(BLOCK_BYTES)

TOO_LONG = f"longer than {MAX_LINE_BYTES // 2**20} MiB: not parsed"
TOO_MANY_LINES = "more lines than the compressed file has bytes: the rest of this range is not read"
IS_HOLE = (
    "a hole of {:,} NUL bytes, as a crash, a full disk or a sparse file leaves it; the records around it are read. "
    "Next: copy the file again if its origin has these bytes"
)
NOT_DOWNLOADED = "a Git LFS pointer: the file itself is not downloaded. Next: git lfs pull"
NOT_NAMED = "compressed with {0}, but its name does not end in {1}. Next: append {1} to its name"
COMPRESSED_MARKS = ((b"\x1f\x8b\x08", "gzip", ".gz"), (b"\x28\xb5\x2f\xfd", "zstd", ".zst"))

Reader = Callable[[bytes], Record]
Annotate = Callable[[RunInfo, Record, Sample], None]

T = TypeVar("T")

warnings.filterwarnings("ignore", category=SyntaxWarning, module="<unknown>")  # about texts that `_printed` reads

_decode = msgspec.json.Decoder().decode
_decoder = json.JSONDecoder()
_between = re.compile(r"[ \t\r,\[\]]*")
_bracket = re.compile(r"[(\[{}\])]")
_surrogate = re.compile(rb"\\u[dD][89a-fA-F]")
_escape = re.compile(
    r"\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|(?P<lone>u[dD][89a-fA-F][0-9a-fA-F]{2})|.)",
    re.DOTALL,
)


class NoObject(Unusable):
    """Raised for a line that is not one JSON object."""


class Line(NamedTuple):
    """A line, without its newline; `ended` is False at a file's unfinished end.

    `data` is None for a line that is not read, with the `reason`; such a line may represent many.
    """

    start: int
    length: int
    data: bytes | None
    ended: bool
    reason: str = ""

    @property
    def stop(self) -> int:
        """The byte after the line: its newline, if it has ended."""
        return self.start + self.length


def lines(file: BufferedReader, start: int, stop: int) -> Iterator[Line]:
    """Yield every line whose first byte lies in `[start, stop)`; one that begins before `stop` is read to its end.

    Skips runs of blank lines at once, and holes: a run of NUL bytes ends the line before it, and is itself a line that
    is not read. If a compressed stream stops between two lines, an empty unfinished line represents the next one. If it
    holds too many lines for its size, a last line represents the rest.
    """
    position = read_to = _line_start(file, start, stop)
    block = bytearray(min(BLOCK_BYTES, max(MIN_BLOCK_BYTES, stop - position)))
    view = memoryview(block)
    begun: list[bytes] = []
    length = line_count = zeros = 0
    paid = None if spent_bytes(file) is None else FREE_LINES
    while position < stop:
        count = file.readinto(view[: max(MIN_BLOCK_BYTES, stop - read_to)])
        if not count:
            if length or damage_of(file):
                yield _line(position, length, begun, b"", ended=False)
            return
        hole = _hole_in(block, count, zeros)
        zeros = _zeros_before(block, count)
        if hole is not None:
            hole_start, count = read_to + hole, max(0, hole)
        read_to += count
        at = 0
        while (end := block.find(b"\n", at, count)) >= 0:
            if not length and block[at] <= SPACE and (behind := _behind_blank_lines(block, at, count)) > at:
                position += behind - at
                at = behind
                if position >= stop:
                    return
                continue
            if (
                paid is not None
                and line_count >= paid
                and line_count >= (paid := FREE_LINES + (spent_bytes(file) or 0))
            ):
                yield Line(position, stop - position, None, ended=True, reason=TOO_MANY_LINES)
                return
            length += end - at
            line_count += 1
            yield _line(position, length, begun, view[at:end])
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
        if hole is not None:
            if hole_start > position:
                yield _line(position, hole_start - position, [b"".join(begun)[: hole_start - position]], b"")
            if hole_start >= stop:
                return
            position = read_to = behind_nuls(file, hole_start)
            is_cut = damage_of(file) is not None
            size = position - hole_start
            yield Line(hole_start, size, None, ended=not is_cut, reason=IS_HOLE.format(size))
            if is_cut:
                return
            begun.clear()
            length = zeros = 0


def _hole_in(block: bytearray, count: int, zeros: int) -> int | None:
    """Return where a hole begins in a block: before it, if it begins with some of the `zeros` that end the last one."""
    if zeros and block[0] == 0 and zeros + count - len(block[:count].lstrip(b"\0")) >= len(HOLE):
        return -zeros
    first = block.find(0, 0, count)  # mostly not there; to look for one byte is quickest
    found = -1 if first < 0 else block.find(HOLE, first, count)
    return None if found < 0 else found


def _zeros_before(block: bytes | bytearray, stop: int) -> int:
    """Return how many NUL bytes end at a place in a block, up to the length of a hole."""
    if not stop or block[stop - 1]:
        return 0
    end = block[max(0, stop - len(HOLE)) : stop]
    return len(end) - len(end.rstrip(b"\0"))


def behind_nuls(file: BinaryIO, at: int, stop: float = math.inf) -> int:
    """Go to the end of the run of NUL bytes at a place, and return it. Of a run beyond `stop`, looks at no more."""
    while at < stop:
        file.seek(at)
        data = file.read(BLOCK_BYTES)
        if not data:
            return at
        if data != _ZEROS:
            rest = len(data.lstrip(b"\0"))
            at += len(data) - rest
            if rest:
                break
            continue
        at = next_data(file, at + len(data))
    file.seek(at)
    return at


def _behind_blank_lines(block: bytearray, at: int, count: int) -> int:
    """Return the end of the run of blank lines that begins at `at`: `at` itself if the line is not blank.

    Looks at growing windows, so that a short run costs little and a long one passes at over 1 GB/s.
    """
    data = np.frombuffer(block, dtype=np.uint8, count=count)
    end, width = at, _FIRST_WINDOW
    while end < count:
        window = data[end : end + width]
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


def _line(start: int, length: int, begun: list[bytes], last: bytes | memoryview, *, ended: bool = True) -> Line:
    """The pieces of a line joined, unless they are too long."""
    if length > MAX_LINE_BYTES:
        return Line(start, length, None, ended, TOO_LONG)
    return Line(start, length, b"".join([*begun, last]) if begun else bytes(last), ended)


def _line_start(file: BinaryIO, start: int, stop: int) -> int:
    """Go to the first byte at or after `start` at which a line begins, and return it; `stop` without one before."""
    file.seek(max(0, start - len(HOLE)))
    before = file.read(min(start, len(HOLE)))
    if not before or before.endswith(b"\n"):
        return start if len(before) == min(start, len(HOLE)) else stop
    zeros = _zeros_before(before, len(before))
    if zeros and zeros + (end := behind_nuls(file, start, stop)) - start >= len(HOLE):
        return end
    file.seek(start)
    skipped, ended = skip_line(file, stop - start)
    return start + skipped if ended else stop


def skip_line(file: BinaryIO, at_most: int) -> tuple[int, bool]:
    """Skip the rest of a line; return its bytes, the newline included, and whether it had one or a hole ends it."""
    skipped = zeros = 0
    while data := file.readline(min(BLOCK_BYTES, max(0, at_most - skipped))):
        hole = _hole_in(bytearray(data), len(data), zeros)
        if hole is not None:
            file.seek(hole - len(data), os.SEEK_CUR)
            return skipped + hole, True
        skipped += len(data)
        if data.endswith(b"\n"):
            return skipped, True
        zeros = _zeros_before(data, len(data))
    return skipped, False


def parse(data: bytes) -> Record:
    """Decode one line as a JSON object with texts that UTF-8 can encode. Raises `Unusable`.

    Accepts all that Python's `json` reads after `errors="replace"`: NaN and infinities, invalid UTF-8, lone surrogates,
    huge integers. msgspec refuses some of that, but reads the rest ten times faster and to the same values. Accepts an
    object within a text, too, as double encoding leaves it, and an object as Python prints it.
    """
    try:
        record = _decode(data)
    except (msgspec.DecodeError, ValueError, RecursionError):
        record = _parse_slowly(data)
    if isinstance(record, str) and record.lstrip()[:1] == "{":
        record = _parse_slowly(record.encode("utf-8", "replace"))
    if not isinstance(record, dict):
        raise NoObject(f"not a JSON object but {_kind(record)}")
    return record


def _parse_slowly(data: bytes) -> object:
    try:
        return decoded(data, lambda error: f"{error.msg.removesuffix(' at')} (character {error.pos} of the line)")
    except NoObject:
        if data.lstrip()[:1] == b"{" and (found := _printed(data.decode("utf-8", "replace"))) is not None:
            return found
        raise


def value_of(text: str) -> Any:
    """Return the JSON, or what Python prints, in a text; else the text itself."""
    for decode in (_decode, _loaded, _printed):
        try:
            found = decode(text)
        except (msgspec.DecodeError, ValueError, RecursionError):
            continue
        if found is not None:
            return found
    return text


def _loaded(text: str) -> Any:
    return json.loads(replace_lone_surrogates(text))


def _printed(text: str) -> Any:
    """Read a dict or list as Python prints it; None for anything else."""
    if len(text) > MAX_PRINTED_CHARS or _deepest(text) > MAX_PRINTED_DEPTH:
        return None
    try:
        found = ast.literal_eval(text.strip())
        return _loaded(json.dumps(found)) if isinstance(found, dict | list) else None
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        return None


def _deepest(text: str) -> int:
    depth = deepest = 0
    for bracket in _bracket.findall(text):
        depth += 1 if bracket in "([{" else -1
        deepest = max(deepest, depth)
    return deepest


class LinePieces(NamedTuple):
    """The places of objects in a line that is not one object, and of what is torn."""

    objects: list[tuple[int, int]]
    torn: tuple[int, int] | None


def pieces_in(data: bytes) -> LinePieces:
    """Find the objects of a line: of an array, one behind the other, before a comma, or behind the rest of another."""
    text = data.decode("latin-1")  # a character for each byte
    objects, at, _ = _objects_from(text, 0)
    if at == len(text):
        return LinePieces(objects, None)
    begun, budget = at, MOST_LOOKS * len(text) + FREE_LOOKS
    while (at := text.find('{"', at + 1)) >= 0 and budget > 0:
        behind, stop, reached = _objects_from(text, at)
        if stop == len(text):
            return LinePieces(objects + behind, (begun, at))
        budget -= 1 + reached - at + reached // BYTES_PER_LOOK
        at = max(at, stop - 1)  # no object that reaches the end begins within others that are whole
    return LinePieces(objects, (begun, len(text)))


def _objects_from(text: str, at: int) -> tuple[list[tuple[int, int]], int, int]:
    """The objects that follow one another from here, where anything else begins, and up to where it was parsed."""
    found: list[tuple[int, int]] = []
    while True:
        match = _between.match(text, at)
        at = match.end() if match else at
        if text[at : at + 1] != "{":
            return found, at, at
        try:
            stop = _decoder.raw_decode(text, at)[1]
        except json.JSONDecodeError as error:
            return found, at, len(text) if error.msg.startswith("Unterminated") else error.pos
        except (ValueError, RecursionError):
            return found, at, len(text)
        found.append((at, stop))
        at = stop


def decoded(data: bytes, where: Callable[[json.JSONDecodeError], str]) -> object:
    """Decode JSON as Python does, NaN included. Raises `Unusable` with the reason, and with `where` it occurs."""
    try:
        found: object = json.loads(_as_json(data))
    except json.JSONDecodeError as error:
        raise NoObject(f"not JSON: {where(error)}") from None
    except ValueError:
        raise Unusable("not readable: an integer of more digits than Python converts") from None
    except RecursionError:
        raise Unusable("not readable: nested too deeply") from None
    return found


def _as_json(data: bytes) -> str:
    decoded = data.decode("utf-8", errors="replace")
    return replace_lone_surrogates(decoded) if _surrogate.search(data) else decoded


def replace_lone_surrogates(escaped: str) -> str:
    """Return JSON text with U+FFFD in place of every escape of half a surrogate pair.

    Works on the escapes, not on the decoded value, which may be nested too deeply to walk.
    """
    return _escape.sub(lambda match: r"\ufffd" if match["lone"] else match[0], escaped)


def _replaced(data: bytes) -> list[str]:
    """Describe the parts of a line that cannot be shown verbatim."""
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


def _is_blank(line: Line) -> bool:
    return line.data is not None and not strip_bom(line.data, line.start).strip(BLANK)


def strip_bom(data: bytes, start: int) -> bytes:
    """Drop a byte order mark, valid only at the start of a file."""
    return data.removeprefix(BOM) if start == 0 else data


def why_no_text(head: bytes, size: int) -> str:
    """Say why a file that is read as it is, and begins with `head`, holds no text; empty if it may hold some.

    It may be a Git LFS pointer whose content was not fetched, or compressed under the name of a plain file.
    """
    if size < MAX_LFS_POINTER_BYTES and head.startswith(LFS_POINTER):
        return NOT_DOWNLOADED
    return next((NOT_NAMED.format(*names) for mark, *names in COMPRESSED_MARKS if head.startswith(mark)), "")


class JsonlFormat(RecordFormat):
    """A format of JSON lines: a record is the object of a line, and a sample's place is its byte offset."""

    splittable = True
    suffixes: ClassVar[tuple[str, ...]] = JSONL

    def first_records(self, some: Sequence[Location]) -> list[Record]:
        """See `RecordFormat`."""
        from rolloupe.formats.reading.peek import look_into

        return [record for _, seen in look_into(some) for record in seen.objects]

    def scan(self, run: RunInfo, source: Source, start: int, stop: int) -> Iterator[Scanned]:
        """See `Format`."""
        return self.scanned(run, source, start, stop, lambda _record, _row: None)

    def scanned(self, run: RunInfo, source: Source, start: int, stop: int, complete: Completion) -> Iterator[Scanned]:
        """Scan, and add to each row what other files say about it."""
        with open_binary(source.location, RAW_BUFFER_BYTES) as file:
            decoded = is_decoded(file)
            expect(file, [(0, MAX_LFS_POINTER_BYTES), (start - 1, stop + AFTER_BYTES)])
            head = b"" if decoded else file.read(MAX_LFS_POINTER_BYTES)
            if reason := why_no_text(head, len(head)):
                if start == 0 < stop:
                    yield Problem(source=source.name, reason=reason, start=0, stop=len(head))
                return
            reported_to = start
            is_cut = type(self).may_cut is not RecordFormat.may_cut and not run.reading.fields
            needs_length = (lambda _key: False) if run.reading.group_by else self.needs_length
            read = Cutter(parse, self.may_cut, needs_length).parse if is_cut else parse
            items = partial(self._items, run, source, read, complete)
            for line in lines(file, start, stop):
                if not decoded:
                    yield from () if _is_blank(line) else items(line)
                    continue
                gaps = [gap for gap in gaps_of(file) if reported_to <= gap.start < stop]
                yield from (_missing(source, gap) for gap in gaps if gap.start < line.start)
                yield from self._items_of_line(source, line, items, damage_of(file), gaps_of(file))
                yield from (_missing(source, gap) for gap in gaps if line.start <= gap.start <= line.stop)
                reported_to = line.stop + 1
            yield from (_missing(source, gap) for gap in gaps_of(file) if reported_to <= gap.start < stop)

    def _items_of_line(
        self,
        source: Source,
        line: Line,
        items: Callable[[Line], list[Scanned]],
        damage: Damage | None,
        gaps: list[Gap],
    ) -> Iterator[Scanned]:
        """Yield the results of a line: nothing for a blank one; for a line cut by damage, the damage."""
        cut = None if line.ended else damage
        torn = cut or any(gap.start == line.stop or gap.stop == line.start for gap in gaps)
        if not _is_blank(line):
            for item in items(line):
                if not (torn and isinstance(item, Problem)):
                    yield item
        if cut:
            yield _stopped(source, line, cut)

    def _items(self, run: RunInfo, source: Source, read: Reader, complete: Completion, line: Line) -> list[Scanned]:
        try:
            try:
                record = self.prepared(run, _record(line, read))
                found = self.rows_of(run, source, record, line.start, line.length)
            except Uncut:
                record = self.prepared(run, _record(line, parse))
                found = self.rows_of(run, source, record, line.start, line.length)
            for row in found:
                if isinstance(row, SampleRow):
                    complete(record, row)
        except NoObject as error:
            pieces = pieces_in(line.data or b"")
            if pieces.objects or (line.data or b"").strip(BLANK) in OF_ARRAY:
                return self._pieces(run, source, complete, line, pieces, str(error))
            reason = str(error) if line.ended else f"the last line has no end yet ({error})"
        except Unusable as error:
            reason = str(error) if line.ended else f"the last line has no end yet ({error})"
        except Exception as error:  # a defect of ours must not cost the lines after it
            reason = self.failure(error)
        else:
            return found
        return [Problem(source=source.name, reason=reason, start=line.start, stop=line.stop, transient=not line.ended)]

    def _pieces(
        self, run: RunInfo, source: Source, complete: Completion, line: Line, pieces: LinePieces, reason: str
    ) -> list[Scanned]:
        """The results of the objects in a line, each with its own place, and a problem for the rest."""
        found: list[Scanned] = []
        for start, stop in pieces.objects:
            data = (line.data or b"")[start:stop]
            is_last = not (line.data or b"")[stop:].strip(BLANK)
            piece = Line(line.start + start, stop - start, data, line.ended or not is_last)
            found += self._items(run, source, parse, complete, piece)
        if pieces.torn:
            start, stop = (line.start + at for at in pieces.torn)
            what = f"{reason}; of this line, what other objects it holds is read, and bytes {start} to {stop} are not"
            is_open = not line.ended
            found.append(Problem(source=source.name, reason=what, start=line.start, stop=line.stop, transient=is_open))
        return found

    def token_arrays(
        self, run: RunInfo, source: Source, places: Sequence[Locator], annotations: Annotations = NO_ANNOTATIONS
    ) -> Iterator[SampleTokens | Problem]:
        """See `Format`: reads the file once, from the first place to the last."""
        if places:
            yield from _read_in_order(source, places, self.reading_tokens(run, source, annotations), no_tokens)

    def samples_in_order(
        self, run: RunInfo, source: Source, places: Sequence[Locator], annotate: Annotate
    ) -> Iterator[Sample | Problem]:
        """`samples_at` for a format whose lines alone say what a sample is: reads the file once."""

        def read(data: bytes, place: Locator) -> Sample:
            return self._sample(run, source, data, place, annotate)

        yield from _read_in_order(source, places, read, no_sample)

    def reading_tokens(
        self, run: RunInfo, source: Source, annotations: Annotations,  # noqa: ARG002
    ) -> Callable[[bytes, Locator], SampleTokens]:  # fmt: skip
        """Return what reads the tokens of the sample at a place in a line. It raises whatever it may raise."""
        return lambda data, place: tokens.tokens_of(self._sample(run, source, data, place, self.annotate))

    def _sample(self, run: RunInfo, source: Source, data: bytes, place: Locator, annotate: Annotate) -> Sample:
        record, row = self._parsed(run, source, data, place)
        sample = self.sample(record, row, place)
        annotate(run, record, sample)
        return sample

    def lines_at(self, run: RunInfo, places: Iterable[Locator]) -> dict[Locator, bytes]:
        """Read lines of annotations; those that cannot be read are left out."""
        sources = {one.name: one for one in self.sources(run) if one.annotates}
        found: dict[Locator, bytes] = {}
        by_source: dict[str, list[Locator]] = defaultdict(list)
        for place in sorted({*places}, key=lambda one: one.start):
            by_source[place.source].append(place)
        for name, some in by_source.items():
            if name in sources:
                with contextlib.suppress(OSError), open_binary(sources[name].location, RAW_BUFFER_BYTES) as file:
                    expect(file, [(place.start - 1, place.start + place.length + 1) for place in some])
                    for near in _neighbours(some):
                        read = {line.start: line for line in lines(file, near[0].start, near[-1].start + 1)}
                        for place in near:
                            line = read.get(place.start)
                            if line is not None and line.data is not None and line.length == place.length:
                                found[place] = strip_bom(line.data, line.start)
        return found

    def load(self, run: RunInfo, source: Source, locator: Locator) -> Sample:
        """See `Format`."""
        return self.loaded(run, source, locator, self.annotate)

    def loaded(
        self,
        run: RunInfo,
        source: Source,
        locator: Locator,
        annotate: Annotate,
    ) -> Sample:
        """Read a sample, and add to it what other files say about it."""
        data, record, row = self._read(run, source, locator)
        sample = self.sample(record, row, locator)
        annotate(run, record, sample)
        sample.notes += _replaced(data)
        return sample

    def load_texts(self, run: RunInfo, source: Source, locator: Locator) -> Texts | None:
        """See `Format`."""
        if type(self).references is RecordFormat.references:
            return None
        _, record, row = self._read(run, source, locator)
        return self.texts_of(record, row)

    def record_at(self, run: RunInfo, source: Source, locator: Locator) -> tuple[Record, SampleRow] | None:
        """See `Format`."""
        _, record, row = self._read(run, source, locator)
        return self.own_record(record, row), row

    def _read(self, run: RunInfo, source: Source, locator: Locator) -> tuple[bytes, Record, SampleRow]:
        """Read the record at a place: its bytes, its object, and the row of the sample."""
        data = self.raw(source, locator)
        return data, *self._parsed(run, source, strip_bom(data, locator.start), locator)

    def _parsed(self, run: RunInfo, source: Source, data: bytes, locator: Locator) -> tuple[Record, SampleRow]:
        try:
            is_cut = bool(self.series_keys) and not run.reading.fields
            read = Cutter(parse, self.series_keys.__contains__).parse if is_cut else parse
            record = self.prepared(run, read(data))
            rows = self.rows_of(run, source, record, locator.start, locator.length)
        except Unusable as error:
            raise changed(source, locator.start, str(error)) from None
        row = next((row for row in rows if isinstance(row, SampleRow) and row.part == locator.part), None)
        if row is None:
            raise changed(source, locator.start, f"its part {locator.part!r} is gone")
        return record, row

    def raw(self, source: Source, locator: Locator) -> bytes:
        """See `Format`. The bytes are uncompressed."""
        before = 1 if locator.start else 0
        data = self.read(source, locator.start - before, before + locator.length + 1)
        record, after = data[before : before + locator.length], data[before + locator.length :]
        is_line = (not before or data[:1] in EDGES) and after in (b"", *EDGES)
        if len(record) < locator.length or not (is_line or _is_object(record)):
            raise changed(source, locator.start, "the line has other bounds")
        return record


def _is_object(data: bytes) -> bool:
    """Whether some bytes, which are no whole line, are an object."""
    return data[:1] == b"{" and data[-1:] == b"}" and pieces_in(data).objects == [(0, len(data))]


def _neighbours(places: Sequence[Locator]) -> Iterator[list[Locator]]:
    """Ascending places in pieces, where reading on is quicker than going to the next place."""
    near: list[Locator] = []
    for place in places:
        if near and place.start - near[-1].start - near[-1].length > NEAR_BYTES:
            yield near
            near = []
        near.append(place)
    if near:
        yield near


def _read_in_order(
    source: Source,
    places: Sequence[Locator],
    read: Callable[[bytes, Locator], T],
    failed: Callable[[Source, Locator, Exception], Problem],
) -> Iterator[T | Problem]:
    """Read a file once, from the first place to the last; yield the result of `read` for each, or its problem."""
    if not places:
        return
    with open_binary(source.location, RAW_BUFFER_BYTES) as file:
        expect(file, [(place.start - 1, place.start + place.length + 1) for place in places])
        found = _lines_in_order(file, places) if is_decoded(file) else _lines_of(file, places)
        for place, data in zip(places, found, strict=True):
            try:
                yield read(_data_at(source, data, place), place)
            except Exception as error:  # must not cost the lines after it
                yield failed(source, place, error)


def _data_at(source: Source, data: bytes | None, place: Locator) -> bytes:
    if data is None:  # of a compressed file, it may be a piece of a line that begins before the first place
        with open_binary(source.location, RAW_BUFFER_BYTES) as file:
            data = _line_of(file, place)
    if data is None:
        raise changed(source, place.start, "the line has other bounds")
    return strip_bom(data, place.start)


def _lines_in_order(file: BufferedReader, places: Sequence[Locator]) -> Iterator[bytes | None]:
    """Yield the lines at ascending places of a stream, None for one that is not there."""
    following = lines(file, places[0].start, places[-1].start + 1)
    line = next(following, None)
    for place in places:
        while line is not None and line.start < place.start and line.stop <= place.start:
            line = next(following, None)
        yield _within(line, place) if line is not None else None


def _lines_of(file: BufferedReader, places: Sequence[Locator]) -> Iterator[bytes | None]:
    """Yield the line at each place: one line for all samples that it holds."""
    before, data = (-1, -1), None
    for place in places:
        if (place.start, place.length) != before:
            before, data = (place.start, place.length), _line_of(file, place)
        yield data


def _line_of(file: BufferedReader, place: Locator) -> bytes | None:
    """Read the line at a place at once, half as long as looking for its end takes; None if it is not there."""
    file.seek(max(0, place.start - 1))
    begins = not place.start or file.read(1) in EDGES
    data = file.read(place.length)
    is_line = begins and file.read(1) in (b"", *EDGES) and b"\n" not in data
    return data if len(data) == place.length and (is_line or _is_object(data)) else None


def _within(line: Line, place: Locator) -> bytes | None:
    """The bytes of a place in a line, which is all of it or an object in it; None if it is not there."""
    if line.data is None or (line.start, line.length) == (place.start, place.length):
        return line.data
    at = place.start - line.start
    data = line.data[at : at + place.length] if at >= 0 else b""
    return data if len(data) == place.length and _is_object(data) else None


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
    """Describe why a compressed stream ends in a line, and where lines begin to be missing."""
    reason = f"{damage.reason}, at byte {damage.offset} of the compressed file; no line behind it is read"
    return Problem(source=source.name, reason=reason, start=line.start, stop=line.stop, transient=True)
