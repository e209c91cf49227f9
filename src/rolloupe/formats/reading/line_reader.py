r"""JSON lines: files cut into lines, lines into objects.

Lines end at the byte `\n` and nowhere else. Memory is bounded: a line beyond `MAX_LINE_BYTES` is skipped, not read.
"""

import ast
import contextlib
import json
import math
import os
import re
import warnings
from collections.abc import Callable, Iterator
from io import BufferedReader
from typing import Any, BinaryIO, NamedTuple

import msgspec

from rolloupe.formats.reading.records import Record, Unusable
from rolloupe.formats.reading.stream import LFS_POINTER, damage_of, spent_bytes
from rolloupe.storage import next_data

MAX_LINE_BYTES = 64 * 2**20
"""Longer lines are listed and can be read raw, but are not parsed."""
BLOCK_BYTES = 2**18
"""The bytes of a block: it fits the cache of a core; larger blocks were slower."""
FREE_LINES = 2**14
"""The lines to read of a range of a compressed file: this many, and one more for each byte of the file.

Real lines, even similar ones, take 1.5 to 9 bytes each when compressed; a bomb packs hundreds into a byte.
"""
MIN_BLOCK_BYTES = 2**16
"""The least to read at once: it usually reaches the end of the line."""
SPACE = 0x20
BOM = b"\xef\xbb\xbf"
BLANK = b" \t\r"
MAX_LFS_POINTER_BYTES = 1024
"""Git LFS never writes a pointer of 1,024 bytes or more."""
MAX_PRINTED_CHARS, MAX_PRINTED_DEPTH = 2**20, 100
"""Longer or deeper objects in the form that Python prints are not read."""
MAX_PRINTED_KEYS = 1_000
"""No more keys than this may be other than texts: multiples of 2**61 - 1 have one hash, and take time by the square."""
MOST_LOOKS = 8
"""How often each byte of a torn line may be parsed in search of whole objects."""
FREE_LOOKS = 2**16
"""This many bytes of any line may be parsed again."""
BYTES_PER_LOOK = 256
"""A failed parse counts the lines before it: this many bytes of them take as long as parsing one."""
HOLE = bytes(512)
"""This many NUL bytes in a row are a hole: a crash or a full disk left them in place of lines."""
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

warnings.filterwarnings("ignore", category=SyntaxWarning, module="<unknown>")  # about texts that `_printed` reads

_decode = msgspec.json.Decoder().decode
_decoder = json.JSONDecoder()
_between = re.compile(r"[ \t\r,\[\]]*")
_blank_lines = re.compile(rb"[ \t\r\n]*\n")
_bracket = re.compile(r"[(\[{}\])]")
_surrogate = re.compile(rb"\\u[dD][89a-fA-F]")
_escape = re.compile(
    r"\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|(?P<lone>u[dD][89a-fA-F][0-9a-fA-F]{2})|.)",
    re.DOTALL,
)


class NoObject(Unusable):
    """Raised for a line that is not a single JSON object."""


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

    @property
    def content(self) -> bytes:
        """The line without a byte order mark; empty for a blank line, or one that is not read."""
        data = strip_bom(self.data or b"", self.start)
        return data if data.strip(BLANK) else b""


def lines(file: BufferedReader, start: int, stop: int) -> Iterator[Line]:
    """Yield every line whose first byte lies in `[start, stop)`; one that begins before `stop` is read to its end.

    Skips runs of blank lines at once, and holes: a run of NUL bytes ends the line before it, and is itself a line that
    is not read. If a compressed stream stops between two lines, an empty unfinished line represents the next one. If it
    holds too many lines for its size, a last line represents the rest.
    """
    position = read_to = line_start(file, start, stop)
    block = bytearray(min(BLOCK_BYTES, max(MIN_BLOCK_BYTES, stop - position)))
    view = memoryview(block)
    begun: list[bytes] = []
    length = line_count = zeros = hole_start = 0
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
            if not length and block[at] <= SPACE and (blank := _blank_lines.match(block, at, count)):
                position += blank.end() - at
                at = blank.end()
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
    """Return where a hole begins in a block; negative if it begins with the `zeros` at the end of the last block."""
    if zeros and block[0] == 0 and zeros + count - len(block[:count].lstrip(b"\0")) >= len(HOLE):
        return -zeros
    first = block.find(0, 0, count)  # mostly without a match; looking for one byte is quickest
    start = -1 if first < 0 else block.find(HOLE, first, count)
    return None if start < 0 else start


def _zeros_before(block: bytes | bytearray, stop: int) -> int:
    """Return how many NUL bytes precede a place in a block, up to the length of a hole."""
    if not stop or block[stop - 1]:
        return 0
    end = block[max(0, stop - len(HOLE)) : stop]
    return len(end) - len(end.rstrip(b"\0"))


def behind_nuls(file: BinaryIO, at: int, stop: float = math.inf) -> int:
    """Go to the end of the run of NUL bytes at a place, and return it; stop looking at `stop`."""
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


def _line(start: int, length: int, begun: list[bytes], last: bytes | memoryview, *, ended: bool = True) -> Line:
    """Join the pieces of a line, unless it is too long."""
    if length > MAX_LINE_BYTES:
        return Line(start, length, None, ended, TOO_LONG)
    return Line(start, length, b"".join([*begun, last]) if begun else bytes(last), ended)


def line_start(file: BinaryIO, start: int, stop: int) -> int:
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
    """Skip the rest of a line; return its bytes, the newline included, and whether a newline or a hole ended it."""
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
        kinds: dict[type[Any], str] = {list: "an array", str: "a text", bool: "true or false", type(None): "null"}
        raise NoObject(f"not a JSON object but {kinds.get(type(record), 'a number')}")
    return record


def _parse_slowly(data: bytes) -> object:
    try:
        return decoded(data, lambda error: f"{error.msg.removesuffix(' at')} (character {error.pos} of the line)")
    except NoObject:
        printed = _printed(data.decode("utf-8", "replace")) if data.lstrip()[:1] == b"{" else None
        if printed is None:
            raise
        return printed


def value_of(text: str) -> Any:
    """Return the value that a text holds as JSON or as Python prints it; else the text itself."""
    for decode in (_decode, lambda text: json.loads(replace_lone_surrogates(text)), _printed):
        with contextlib.suppress(msgspec.DecodeError, ValueError, RecursionError):
            if (value := decode(text)) is not None:
                return value
    return text


def _printed(text: str) -> Any:
    """Read a dict or list as Python prints it; None for anything else."""
    depth = deepest = 0
    for bracket in _bracket.findall(text) if len(text) <= MAX_PRINTED_CHARS else ():
        depth += 1 if bracket in "([{" else -1
        deepest = max(deepest, depth)
    if len(text) > MAX_PRINTED_CHARS or deepest > MAX_PRINTED_DEPTH:
        return None
    try:
        tree = ast.parse(text.strip(), mode="eval")
        nodes = [*ast.walk(tree)]
        keys = [key for node in nodes if isinstance(node, ast.Dict) for key in node.keys]
        others = sum(type(getattr(key, "value", None)) is not str for key in keys)
        if others > MAX_PRINTED_KEYS or any(isinstance(node, ast.Set) for node in nodes):  # JSON has no sets
            return None
        value = ast.literal_eval(tree)
        is_plain = isinstance(value, (dict, list))
        return json.loads(replace_lone_surrogates(json.dumps(value))) if is_plain else None
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        return None


class LinePieces(NamedTuple):
    """The places of the objects in a line that is not one object, and of its torn part."""

    objects: list[tuple[int, int]]
    torn: tuple[int, int] | None


def pieces_in(data: bytes, *, is_ended: bool = True) -> LinePieces:
    """Find the objects of a line: in an array, in a row, before a comma, or after the rest of a torn object.

    In a line without an end, whole objects after the beginning of an unfinished one lie inside it, and do not count.
    """
    text = data.decode("latin-1")  # a character for each byte
    objects, at, reached = _objects_from(text, len(BOM) if data.startswith(BOM) else 0)
    if at == len(text):
        return LinePieces(objects, None)
    if not is_ended and reached >= len(text.rstrip()):  # its only fault is that it is cut off
        return LinePieces(objects, (at, len(text)))
    begun, budget = at, MOST_LOOKS * len(text) + FREE_LOOKS
    while (at := text.find('{"', at + 1)) >= 0 and budget > 0:
        behind, stop, reached = _objects_from(text, at)
        if stop == len(text):
            return LinePieces(objects + behind, (begun, at))
        budget -= 1 + reached - at + reached // BYTES_PER_LOOK
        at = max(at, stop - 1)  # no object that reaches the end begins within others that are whole
    return LinePieces(objects, (begun, len(text)))


def _objects_from(text: str, at: int) -> tuple[list[tuple[int, int]], int, int]:
    """Return the consecutive objects from here, the place where they end, and how far the text was parsed."""
    objects: list[tuple[int, int]] = []
    while True:
        match = _between.match(text, at)
        at = match.end() if match else at
        if text[at : at + 1] != "{":
            return objects, at, at
        try:
            stop = _decoder.raw_decode(text, at)[1]
        except json.JSONDecodeError as error:
            return objects, at, len(text) if error.msg.startswith("Unterminated") else error.pos
        except (ValueError, RecursionError):
            return objects, at, len(text)
        objects.append((at, stop))
        at = stop


def decoded(data: bytes, where: Callable[[json.JSONDecodeError], str]) -> object:
    """Decode JSON as Python does, NaN included. Raises `Unusable` with the reason; `where` describes the place."""
    try:
        text = data.decode("utf-8", errors="replace")
        value: object = json.loads(replace_lone_surrogates(text) if _surrogate.search(data) else text)
    except json.JSONDecodeError as error:
        raise NoObject(f"not JSON: {where(error)}") from None
    except ValueError:
        raise Unusable("not readable: an integer of more digits than Python converts") from None
    except RecursionError:
        raise Unusable("not readable: nested too deeply") from None
    return value


def replace_lone_surrogates(escaped: str) -> str:
    """Return JSON text with U+FFFD in place of every escape of half a surrogate pair.

    Works on the escapes, not on the decoded value, which may be nested too deeply to walk.
    """
    return _escape.sub(lambda match: r"\ufffd" if match["lone"] else match[0], escaped)


def replacements(data: bytes) -> list[str]:
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


def strip_bom(data: bytes, start: int) -> bytes:
    """Drop a byte order mark, valid only at the start of a file."""
    return data.removeprefix(BOM) if start == 0 else data


def why_no_text(head: bytes, size: int) -> str:
    """Return why a file that begins with `head` holds no text; empty if it may hold some.

    It may be a Git LFS pointer whose content was not fetched, or compressed under the name of a plain file.
    """
    if size < MAX_LFS_POINTER_BYTES and head.startswith(LFS_POINTER):
        return NOT_DOWNLOADED
    return next((NOT_NAMED.format(*names) for mark, *names in COMPRESSED_MARKS if head.startswith(mark)), "")
