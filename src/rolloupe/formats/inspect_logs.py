"""The logs of Inspect: a file for each evaluation, either a zip archive (`.eval`) or one JSON document.

Source: `EvalLog`, `EvalSample` and the recorder of `.eval` files of inspect_ai (August 2026). An archive holds a member
for each sample; `header.json` comes last, so an unfinished evaluation has only `_journal/start.json`.

A sample may also lie in chunks (`log/_recorders/chunked/format.py` of 0.3.285): in a folder of the archive with
`sample.json`, `metadata.json` and the sequences `messages`, `events`, `calls` and `attachments`, in files named by the
number of their first item. Its conversation is `message_refs`: ranges of messages. Only these chunks are
read.
"""

import os
import re
from bisect import bisect_right
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from itertools import takewhile
from pathlib import Path
from typing import Any

from rolloupe import text
from rolloupe.formats.reading import value_parsers as parsers
from rolloupe.formats.reading.documents import NumberedFormat, beginning, list_document, members_before, unpacked
from rolloupe.formats.reading.files import files_at, links_of, source_at, while_unchanged
from rolloupe.formats.reading.line_reader import parse
from rolloupe.formats.reading.records import Record, References, Unusable
from rolloupe.formats.reading.tables.zip_archives import Members
from rolloupe.formats.reading.trainer_files import merged_metrics
from rolloupe.formats.reading.value_parsers import as_dict
from rolloupe.model import Location, Locator, MetricRow, RunInfo, RunPart, Sample, SampleRow, Source, Status

ARCHIVE, DOCUMENT = ".eval", ".json"
SAMPLES, SHELL = "samples", "sample.json"
HEADER, START = "header.json", "_journal/start.json"

_SAMPLE = re.compile(r"samples/(?P<name>[^/]+)\.json")
_IN_CHUNKS = re.compile(rf"samples/[^/]+/{re.escape(SHELL)}")
_TOP = {"version", "status", "eval"}
_VALUES = {"C": 1.0, "I": 0.0, "P": 0.5, "N": 0.0, "yes": 1.0, "no": 0.0, "true": 1.0, "false": 0.0}
"""Grades, as `value_to_float` of Inspect reads them."""

_QUIET = ("events", "events_data", "attachments", "timelines")
_PLACED = ("id", "epoch", "input", "messages", "output", "target", "uuid", "total_time", "working_time", "turn_count")

ATTACHMENT = "attachment://"
MAX_ATTACHED_CHARS = 64 * 2**20
"""The most characters of attachments that are put into one sample."""
MAX_DEPTH = 20

MAX_MESSAGES = 100_000
MAX_EVENTS = 100_000

_CHUNK = re.compile(r"(?P<start>[0-9]{1,15})\.json")


class InspectLogs(NumberedFormat):
    """Logs of Inspect."""

    name = "inspect"
    title = "Inspect"
    takes_single_files = True
    endings = (ARCHIVE,)
    suffixes = (ARCHIVE, DOCUMENT)

    def detect(self, path: Path, *, forced: bool = False, link_root: str = "") -> list[RunInfo]:  # noqa: ARG002
        """See `Format`: each file is a run."""
        runs = []
        for place in files_at(path, link_root or str(path.resolve()), self.suffixes):
            if (spec := _spec(place)) is not None:
                words = (parsers.name(spec.get("task")), os.path.basename(parsers.name(spec.get("model")) or ""))
                links = "" if place.root == place.path else place.root
                parts = (RunPart(place.path, split=_split(spec)),)
                reason = "a log of Inspect: groups are its samples"
                runs.append(self._run_at(Path(place.path), reason, links, " ".join(filter(None, words)), parts))
        return runs

    def sources(self, run: RunInfo) -> list[Source]:
        place = Location(run.root, links_of(run))
        spec = _spec(place)
        split = _split(spec) if spec is not None else run.parts[0].split or _split({})  # while it is being written
        return [source_at(run, place, split=split, depends=split)]

    def numbered(self, location: Location, within: str) -> Iterator[tuple[int, Record | Unusable]]:  # noqa: ARG002
        with _readers(location) as readers:
            for number, read in enumerate(readers):
                try:
                    yield number, read()
                except Unusable as error:
                    yield number, error

    def numbered_record(self, location: Location, number: int) -> Record:
        with _readers(location) as readers:
            if not 0 <= number < len(readers):
                raise Unusable("it has no such sample")
            return readers[number]()

    def row(self, source: Source, record: Record, start: int, length: int) -> SampleRow:
        asked, answered = conversation(record)
        metrics, tags = _facts(record)
        score = next(iter(as_dict(record.get("scores")).values()), None)
        value = score.get("value") if isinstance(score, dict) else score
        return parsers.row_of(
            start,
            length,
            asked,
            answered,
            split=source.split or "eval/inspect",
            step=0,
            group=parsers.name(record.get("id")),
            index=f"{source.name}:{parsers.name(record.get('epoch')) or start}",
            reward=parsers.reward(value).value if isinstance(value, dict) else _number(value),
            status=_status(record),
            turns=text.answers_in(answered),
            uid=parsers.name(record.get("uuid")) or "",
            metrics=metrics,
            tags=tags,
        )

    def references(self, record: Record) -> References:
        target = record.get("target")
        only = target[0] if isinstance(target, list) and len(target) == 1 else target
        return References(parsers.as_text(only), [])

    def sample(self, record: Record, row: SampleRow, locator: Locator) -> Sample:
        asked, answered = conversation(record)
        sample = parsers.sample_of(row, locator, asked, answered)
        sample.label = self.references(record).label
        hidden = {*_PLACED, *_QUIET}
        rest = {k: value for k, value in record.items() if k not in hidden and value not in (None, [], {}, "")}
        sample.extra = {key: parsers.showable(value) for key, value in rest.items()}
        return sample

    def config(self, run: RunInfo) -> dict[str, Any]:
        header = _header(Location(run.root, links_of(run)))
        return {key: header[key] for key in ("eval", "plan") if isinstance(header.get(key), dict)}

    def ending(self, run: RunInfo) -> str:
        status = _header(Location(run.root, links_of(run))).get("status", "started")
        return "open" if status == "started" else "ended"

    def metrics(self, run: RunInfo) -> list[MetricRow]:
        results = as_dict(_header(Location(run.root, links_of(run))).get("results"))
        found: Record = {"step": 0}
        for score in parsers.dicts(results.get("scores")):
            for name, metric in as_dict(score.get("metrics")).items():
                found[f"{score.get('name')}/{name}"] = as_dict(metric).get("value")
        return merged_metrics([found]) if len(found) > 1 else []


@contextmanager
def _readers(location: Location) -> Iterator[list[Callable[[], Record]]]:
    """Open a log; yield a function for each sample that reads it, or raises `Unusable`."""
    if not location.path.endswith(ARCHIVE):
        document = list_document(location, SAMPLES)
        yield [partial(document.element, number) for number in range(len(document))]
        return
    with Members(location) as members:
        yield [
            partial(_sample_at, members, name)
            for name in members.names()
            if _SAMPLE.fullmatch(name) or _IN_CHUNKS.fullmatch(name)
        ]


def _split(spec: Record) -> str:
    return f"eval/{os.path.basename(parsers.name(spec.get('task')) or '') or 'inspect'}"


def _spec(location: Location) -> Record | None:
    """The `eval` of a log; None for another file."""
    if not location.path.endswith(ARCHIVE) and not beginning(location).keys() >= _TOP:
        return None
    spec = _header(location).get("eval")
    return spec if isinstance(spec, dict) else None


@while_unchanged(256, errors=(OSError,), otherwise={})
def _header(location: Location) -> Record:
    """A log without its samples; the start of an unfinished archive; empty for an unreadable file."""
    try:
        if not location.path.endswith(ARCHIVE):
            return members_before(location, SAMPLES) or list_document(location, SAMPLES).rest
        with Members(location) as members:
            data = members.read(HEADER) or members.read(START)
            return parse(data) if data else {}
    except Unusable:
        return beginning(location)


def _status(record: Record) -> tuple[Status, str]:
    if record.get("error"):
        return "error", "error"
    limit = record.get("limit")
    if isinstance(limit, dict):
        return "truncated", parsers.tag(limit.get("type")) or "limit"
    output = as_dict(record.get("output"))
    choice, *_ = parsers.as_list(output.get("choices")) or [output]
    return parsers.status(as_dict(choice).get("stop_reason"))


def _number(value: object) -> float | None:
    """A value of a score as a number, grades and texts of numbers too."""
    if not isinstance(value, str):
        return parsers.number(value)
    if value in _VALUES or value.lower() in _VALUES:
        return _VALUES.get(value, _VALUES.get(value.lower()))
    try:
        return float(value)
    except ValueError:
        return None


def _facts(record: Record) -> tuple[dict[str, float], dict[str, str]]:
    found: dict[str, Any] = {key: record.get(key) for key in ("total_time", "working_time", "turn_count")}
    for counts in as_dict(record.get("model_usage")).values():
        for key in ("input_tokens", "output_tokens"):
            count = parsers.count(as_dict(counts).get(key))
            found[key] = (found.get(key) or 0) + count if count is not None else found.get(key)
    for name, score in as_dict(record.get("scores")).items():
        value = score.get("value") if isinstance(score, dict) else score
        parts = as_dict(value) or {"": value}
        found |= {f"reward.{name}.{part}".rstrip("."): _number(member) for part, member in parts.items()}
    about = as_dict(record.get("metadata"))
    found |= {f"metadata.{key}": value for key, value in about.items() if not isinstance(value, str)}
    names = parsers.MetricNames()
    metrics = {names[key]: number for key, value in found.items() if (number := parsers.number(value)) is not None}
    return metrics, {names[f"metadata.{key}"]: short for key, short in parsers.tags(about).items()}


def conversation(sample: Record) -> tuple[Any, list[Any]]:
    """Return the prompt, with examples of answers in it, and all messages from the model's first answer on."""
    put = _Attachments(sample.get("attachments")).put
    listed = parsers.as_list(sample.get("messages")) or [*_of_events(sample.get("events"))]
    answers = (
        number
        for number, message in enumerate(listed)
        if isinstance(message, dict) and text.answers_in([message]) and message.get("source") != "input"
    )
    first = next(answers, None)
    if first is not None:
        answered = put(listed[first:])
        return (put(listed[:first]) if listed[:first] else put(sample.get("input"))), answered
    return put(listed or sample.get("input")), put([*_choices(sample.get("output"))])


def _choices(output: object) -> list[Any]:
    """The message of the first choice, if there is one."""
    return parsers.dicts(
        [as_dict(choice).get("message") for choice in parsers.as_list(as_dict(output).get("choices"))[:1]]
    )


def _of_events(events: object) -> Iterator[Any]:
    """The answers of models and the results of tools, in their order."""
    called: set[object] = set()
    for event in parsers.dicts(events):
        if event.get("event") == "model":
            for message in _choices(event.get("output")):
                called |= {str(call.get("id")) for call in parsers.dicts(message.get("tool_calls"))}
                yield message
        elif event.get("event") == "tool":
            call_id = str(event.get("id"))
            if call_id not in called:
                call = {"id": call_id, "function": event.get("function"), "arguments": event.get("arguments")}
                yield {"role": "assistant", "content": "", "tool_calls": [call]}
            error = event.get("error")
            result = error.get("message") if isinstance(error, dict) else event.get("result")
            yield {"role": "tool", "content": result, "tool_call_id": call_id}


class _Attachments:
    """The attachments of a sample, put into their places, up to a number of characters."""

    def __init__(self, attachments: object) -> None:
        self._texts = as_dict(attachments)
        self._left = MAX_ATTACHED_CHARS

    def put(self, value: Any, depth: int = 0) -> Any:
        """Return a value with attachments in place of the references to them."""
        if not self._texts or depth > MAX_DEPTH:
            return value
        if isinstance(value, list):
            return [self.put(member, depth + 1) for member in value]
        if isinstance(value, dict):
            return {key: self.put(member, depth + 1) for key, member in value.items()}
        is_reference = isinstance(value, str) and value.startswith(ATTACHMENT)
        attached = self._texts.get(value.removeprefix(ATTACHMENT)) if is_reference else None
        if not isinstance(attached, str) or len(attached) > self._left:
            return value
        self._left -= len(attached)
        return attached


def _sample_at(members: Members, name: str) -> Record:
    """The record of a sample that is one member, or a folder with `sample.json`. Raises `Unusable` and OSError."""
    record = parse(members.read(name))
    if _SAMPLE.fullmatch(name):
        return record
    folder = os.path.dirname(name)
    if data := members.read(f"{folder}/metadata.json"):
        record["metadata"] = parse(data)
    if refs := record.pop("message_refs", None):
        record["messages"] = [*_ChunkedList(members, folder, "messages").ranges(refs)]
    elif not record.get("messages"):
        chunks = map(_ChunkedList(members, folder, "events").at, range(MAX_EVENTS))
        record["events"] = [event for found in takewhile(bool, chunks) for event in found]
    attachments = _ChunkedList(members, folder, "attachments")
    referred = _references([record.get("messages"), record.get("input"), record.get("events")])
    found = {str(number): text for number in sorted(referred) for text in attachments.at(number)}
    record["attachments"] = found | as_dict(record.get("attachments"))
    return record


class _ChunkedList:
    """A sequence of a sample, which reads a chunk on first access to its items."""

    def __init__(self, members: Members, folder: str, name: str) -> None:
        self._members = members
        prefix = f"{folder}/{name}/"
        names = (path.removeprefix(prefix) for path in members.names() if path.startswith(prefix))
        found = map(_CHUNK.fullmatch, names)
        self._starts = sorted(int(match["start"]) for match in found if match)
        self._prefix = prefix
        self._last: tuple[int, list[Any]] = (-1, [])

    def ranges(self, ranges: object) -> Iterator[Any]:
        """Yield the items of ranges, each with a start and an exclusive end. Raises `Unusable`."""
        left = MAX_MESSAGES
        for bounds in ranges if isinstance(ranges, list) else ():
            if not (isinstance(bounds, list) and len(bounds) == 2 and all(type(number) is int for number in bounds)):
                raise Unusable("its message_refs are not ranges")
            start, stop = bounds
            left -= max(0, stop - start)
            if left < 0:
                raise Unusable(f"more than {MAX_MESSAGES:,} messages: not read")
            for number in range(start, stop):
                found = self.at(number)
                if not found:
                    raise Unusable(f"its message {number} is in no chunk")
                yield from found

    def at(self, number: int) -> list[Any]:
        """Return a list with the item of this number; empty if it is missing. Raises `Unusable`."""
        place = bisect_right(self._starts, number) - 1
        if place < 0:
            return []
        start = self._starts[place]
        if self._last[0] != start:
            found = unpacked(self._members.read(f"{self._prefix}{start}.json").decode("utf-8", "replace"))
            if not isinstance(found, list):
                raise Unusable(f"{self._prefix}{start}.json is not a list")
            self._last = start, found
        return self._last[1][number - start : number - start + 1]


def _references(value: Any) -> set[int]:
    """The numbers of the attachments that a value refers to."""
    found: set[int] = set()
    waiting = [value]
    while waiting:
        member = waiting.pop()
        if isinstance(member, str) and member.startswith(ATTACHMENT):
            number = member.removeprefix(ATTACHMENT)
            if number.isdecimal() and len(number) < 16:
                found.add(int(number))
        elif isinstance(member, (list, dict)):
            waiting += member.values() if isinstance(member, dict) else member
    return found
