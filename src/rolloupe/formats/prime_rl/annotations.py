"""prime-rl's later annotations of traces: streams, looked up by trace and folded onto its nodes.

Source: prime-rl #3444 and later. Each producer (`orch`, `trainer`) writes one stream, in chunks, with an index of the
places of each trace's lines. A line has `info` for the trace, and for each branch arrays over its tokens: null off the
mask and for the first token. The newest line wins.
"""

import re
from collections import deque
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Final, NamedTuple

from rolloupe import tokens
from rolloupe.formats.prime_rl.episodes import Compact, EpisodeNode, as_dict, as_list
from rolloupe.formats.reading import fields
from rolloupe.formats.reading.files import FolderEntry, files, folders, stem
from rolloupe.formats.reading.line_reader import lines, parse
from rolloupe.formats.reading.records import Record, Unusable
from rolloupe.formats.reading.stream import open_binary
from rolloupe.model import Location

INDEX: Final = ".index.jsonl"
BLOCK_BYTES = 2**20
MAX_SEARCH_BYTES: Final = 2**30
"""Number of bytes of an index, or of a stream without one, to search for a trace."""

MAX_ANNOTATIONS: Final = 256
"""Number of lines about a trace, the newest, to read from a file."""

STRICT: Final = {"advantages", "trainer_logprobs", "entropies"}
"""Streams used for a message only if every sampled token of it has a value."""

NAMES: Final = {"entropies": "entropy"}
FLAG: Final = "is_"
OF_ALL: Final = "advantages"
"""Streams with one value for all tokens of a sample: it becomes a value of the sample, too."""


class Stream(NamedTuple):
    """The annotations of one producer."""

    producer: str
    listing: Location | None
    """The place of the index of its chunks, if it has one."""
    chunks: dict[int, FolderEntry]


def streams(folder: str, link_root: str) -> list[Stream]:
    """List the annotation streams in a folder `annotations/`: chunks in folders or, for a day in 2026, plain files."""
    listed = files(folder, link_root)
    indexes = {entry.name.removesuffix(INDEX): entry.location for entry in listed if entry.name.endswith(INDEX)}
    plain = {stem(entry.name): entry for entry in listed if not entry.name.endswith(INDEX)}
    found = [Stream(name, indexes.get(name), {0: entry}) for name, entry in plain.items()]
    for producer in folders(folder, link_root):
        chunks = {int(stem(e.name)): e for e in files(producer.path, link_root) if stem(e.name).isdecimal()}
        if chunks:
            found.append(Stream(producer.name, indexes.get(producer.name), chunks))
    return sorted(found, key=lambda stream: stream.producer)


def of_trace(some: Iterable[Stream], trace_id: str) -> tuple[list[Record], list[str]]:
    """Return the annotations of a trace, oldest first within a producer, and the problems of unreadable ones."""
    found: list[Record] = []
    notes: list[str] = []
    for stream in some:
        try:
            found += _indexed(stream, trace_id, notes) if stream.listing else _searched(stream, trace_id, notes)
        except OSError as error:
            notes.append(f"annotations of {stream.producer} could not be read: {error.strerror}")
    return found, notes


def _indexed(stream: Stream, trace_id: str, notes: list[str]) -> list[Record]:
    assert stream.listing is not None
    found, lost = [], 0
    for row in _last_rows(stream.listing, trace_id, stream.producer, notes):
        offset = fields.count(row.get("offset"))
        chunk = stream.chunks.get(fields.count(row.get("chunk")) or 0)
        record = _at(chunk.location, offset, trace_id) if chunk is not None and offset is not None else None
        if record is None:
            lost += 1
            record = {"trace_id": trace_id, "info": row.get("info")}
        found.append(record)
    if lost:
        notes.append(f"{lost} annotations of {stream.producer} are not where their index says")
    return found


def _at(location: Location, offset: int, trace_id: str) -> Record | None:
    with open_binary(location) as file:
        for line in lines(file, offset, offset + 1):
            record = _read(line.data or b"")
            return record if record is not None and record.get("trace_id") == trace_id else None
    return None


def _searched(stream: Stream, trace_id: str, notes: list[str]) -> list[Record]:
    chunks = [entry.location for _, entry in sorted(stream.chunks.items())]
    return [record for chunk in chunks for record in _last_rows(chunk, trace_id, stream.producer, notes)]


def about(location: Location, key: str, value: str) -> tuple[list[Record], list[str]]:
    """Return the records of a file of JSON lines whose `key` is `value`, oldest first, and the problems on the way."""
    notes: list[str] = []
    try:
        return _last_rows(location, value, Path(location.path).name, notes, key), notes
    except OSError as error:
        return [], [f"{Path(location.path).name} could not be read: {error.strerror}"]


def _last_rows(location: Location, value: str, producer: str, notes: list[str], key: str = "trace_id") -> list[Record]:
    """The newest rows about a trace: a file about nothing else must not fill the memory."""
    rows = deque(_rows_of(location, value, producer, notes, key), maxlen=MAX_ANNOTATIONS)
    if len(rows) == MAX_ANNOTATIONS:
        notes.append(f"annotations of {producer}: of very many the last {MAX_ANNOTATIONS} count")
    return list(rows)


def _rows_of(location: Location, value: str, producer: str, notes: list[str], key: str) -> Iterator[Record]:
    with open_binary(location) as file:
        for line in lines_with(file, _needle(value)):
            record = _read(line)
            if record is not None and fields.name(record.get(key)) == value:
                yield record
        if file.tell() >= MAX_SEARCH_BYTES:
            notes.append(f"annotations of {producer}: only the first GiB of {Path(location.path).name} was searched")


def _needle(value: str) -> bytes:
    """Bytes that occur in every line with a value, whether or not JSON escapes it."""
    plain = max(re.split(r"[^A-Za-z0-9 _.:-]", value), key=len)
    return plain.encode() or b'"'


def lines_with(file: Any, needle: bytes) -> Iterator[bytes]:
    """Yield the lines that contain some bytes, in one pass over a file. Lines beyond 16 MiB are skipped."""
    rest, read = b"", 0
    while read < MAX_SEARCH_BYTES and (block := file.read(BLOCK_BYTES)):
        read += len(block)
        data = rest + block
        cut = data.rfind(b"\n") + 1
        yield from _holding(data[:cut], needle)
        rest = data[cut:] if len(data) - cut <= 16 * BLOCK_BYTES else b""
    yield from _holding(rest, needle)


def _holding(data: bytes, needle: bytes) -> Iterator[bytes]:
    at = data.find(needle)
    while at >= 0:
        stop = data.find(b"\n", at)
        stop = len(data) if stop < 0 else stop
        yield data[data.rfind(b"\n", 0, at) + 1 : stop]
        at = data.find(needle, stop)


def _read(line: bytes) -> Record | None:
    try:
        return parse(line)
    except Unusable:
        return None


def merged_info(records: Iterable[Record]) -> Record:
    """Merge the annotations of a trace as a whole; the newer of two values for one key wins."""
    found: Record = {}
    for record in records:
        found = _merged(found, as_dict(record.get("info")))
    return found


def _merged(old: Record, new: Record, depth: int = 8) -> Record:
    both = dict(old)
    for key, value in new.items():
        nested = depth and isinstance(value, dict) and isinstance(both.get(key), dict)
        both[key] = _merged(both[key], value, depth - 1) if nested else value
    return both


def arrays_of(branch: Record) -> dict[str, list[Any]]:
    """Return the streams of one branch of an annotation."""
    return {key: value for key, value in branch.items() if isinstance(value, list) and value}


def metrics_of(branch: Record) -> dict[str, float]:
    """Return summaries of the streams of one branch: the mean of each, or for flags the count."""
    found = {}
    for key, stream in arrays_of(branch).items():
        values = tokens.read_floats(stream)
        come_to = tokens.nan_sum if key.startswith(FLAG) else tokens.nan_mean
        if values is not None and key != OF_ALL and (value := come_to(values)) is not None:
            found[NAMES.get(key, key)] = value
    return found


def folded(nodes: list[EpisodeNode], paths: list[list[int]], records: Iterable[Record]) -> Compact:
    """Fold annotations onto the nodes of a trace, whose branches are `paths`: values for tokens under the mask.

    A stream ends at the first node that it does not cover fully: the trainer cut the sequence there.
    """
    found: Compact = {}
    for record in records:
        for branch in map(as_dict, as_list(record.get("branches"))[: len(paths)]):
            number = fields.count(branch.get("index"))
            if number is not None and number < len(paths):
                for name, stream in arrays_of(branch).items():
                    _fold(found, nodes, paths[number], name, stream)
    return found


def _fold(compact: Compact, nodes: list[EpisodeNode], path: list[int], name: str, stream: list[Any]) -> None:
    at = 0
    for index in path:
        mask = nodes[index].mask
        if at + len(mask) > len(stream):
            return
        values = [value for value, flag in zip(stream[at : at + len(mask)], mask, strict=True) if flag]
        at += len(mask)
        if values and not (name in STRICT and None in values):
            compact.setdefault(index, {})[NAMES.get(name, name)] = values
