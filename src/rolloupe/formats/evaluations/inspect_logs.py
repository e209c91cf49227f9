"""The logs of Inspect: a file for each evaluation, either a zip archive (`.eval`) or one JSON document.

Source: `EvalLog`, `EvalSample` and the recorder of `.eval` files of inspect_ai (August 2026). An archive holds a member
a sample, or a folder of members (`inspect_chunks`); `header.json` comes last, so an evaluation that runs has
`_journal/start.json` alone.
"""

import os
import re
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any

from rolloupe import text
from rolloupe.formats.evaluations.inspect_chunks import SHELL, sample_in_chunks
from rolloupe.formats.evaluations.inspect_messages import conversation
from rolloupe.formats.reading import fields
from rolloupe.formats.reading.files import files, is_one_file, links_of, plain_name
from rolloupe.formats.reading.json_documents import beginning, list_document, members_before
from rolloupe.formats.reading.line_reader import parse
from rolloupe.formats.reading.numbered_samples import NumberedFormat
from rolloupe.formats.reading.records import Record, References, Unusable
from rolloupe.formats.reading.tables.zip_archives import Members
from rolloupe.formats.reading.trainer_files import merged_metrics
from rolloupe.model import Location, Locator, MetricRow, RunInfo, RunPart, Sample, SampleRow, Source, Status
from rolloupe.storage import path_state, stamp_of_state

ARCHIVE, DOCUMENT = ".eval", ".json"
SAMPLES = "samples"
HEADER, START = "header.json", "_journal/start.json"

_SAMPLE = re.compile(r"samples/(?P<name>[^/]+)\.json")
_IN_CHUNKS = re.compile(rf"samples/[^/]+/{re.escape(SHELL)}")
_TOP = {"version", "status", "eval"}
_VALUES = {"C": 1.0, "I": 0.0, "P": 0.5, "N": 0.0, "yes": 1.0, "no": 0.0, "true": 1.0, "false": 0.0}
"""Grades, as `value_to_float` of Inspect reads them."""

_QUIET = ("events", "events_data", "attachments", "timelines")
_PLACED = ("id", "epoch", "input", "messages", "output", "target", "uuid", "total_time", "working_time", "turn_count")


class InspectLogs(NumberedFormat):
    """Logs of Inspect."""

    name = "inspect"
    title = "Inspect"
    takes_single_files = True
    endings = (ARCHIVE,)
    suffixes = (ARCHIVE, DOCUMENT)
    recognises = (
        "Zip archives `.eval` with `header.json` or `_journal/start.json`, and JSON documents that begin with "
        "`version`, `status` and `eval`."
    )
    layout = (
        "`logs/{time}_{task}_{id}.eval` or `.json`: each file is a run. "
        "[frameworks/inspect.md](frameworks/inspect.md) has the switches."
    )
    identity = "step = 0; group = the sample's `id`; index = `{file}:{epoch}`. Split `eval/{task}`."
    reads = (
        ("`messages`, else `input`, `output` and the answers and tool calls in `events`", "turns"),
        ("`attachments`", "their texts and images stand where messages refer to them"),
        (
            "`scores`",
            (
                "the reward: the value of the first scorer (C = 1, P = 0.5, I and N = 0); all values are sample "
                "metrics `reward.SCORER`, of values with parts `reward.SCORER.PART`"
            ),
        ),
        ("`target`", "ground truth"),
        ("`error`, `limit`, the stop reason of the output", "status"),
        ("`model_usage`", "sample metrics `input_tokens`, `output_tokens`"),
        ("`total_time`, `working_time`, `turn_count`", "sample metrics"),
        ("numbers and short texts of `metadata`", "sample metrics and tags `metadata.NAME`"),
        ("`results.scores`", "metrics"),
        ("`eval`, `plan`", "configuration"),
        ("any other key", "extra; `events` and `attachments` are in the raw record alone"),
    )
    limits = (
        "A member of an archive and a document are read up to 256 MiB, and of an archive at most 250 times its size. "
        "Other agents' events are not shown."
    )

    def detect(self, path: Path, *, forced: bool = False, link_root: str = "") -> list[RunInfo]:  # noqa: ARG002
        """See `Format`: each file is a run."""
        links = link_root or str(path.resolve())
        if is_one_file(path):
            listed = [Location(str(path), str(path))] if plain_name(path.name).endswith(self.suffixes) else []
        else:
            listed = [one.location for one in files(str(path), links, self.suffixes)]
        return [self._run(place, spec) for place in listed if (spec := _spec(place)) is not None]

    def _run(self, place: Location, spec: Record) -> RunInfo:
        words = (fields.name(spec.get("task")), os.path.basename(fields.name(spec.get("model")) or ""))
        return RunInfo(
            name=" ".join(filter(None, words)) or os.path.basename(place.path), root=place.path, format=self.name,
            reason="a log of Inspect: groups are its samples", parts=(RunPart(place.path, split=_split(spec)),),
            link_root="" if place.root == place.path else place.root,
        )  # fmt: skip

    def sources(self, run: RunInfo) -> list[Source]:
        """See `Format`."""
        place = Location(run.root, links_of(run))
        spec = _spec(place)
        split = _split(spec) if spec is not None else run.parts[0].split or _split({})  # while it is being written
        return [Source(path=place.path, name=os.path.basename(place.path), root=place.root, split=split, depends=split)]

    def numbered(self, location: Location, within: str) -> Iterator[tuple[int, Record | Unusable]]:  # noqa: ARG002
        """See `NumberedFormat`."""
        if not location.path.endswith(ARCHIVE):
            found = list_document(location, SAMPLES)
            for number in range(len(found)):
                yield number, _tried(found.element, number)
            return
        with Members(location) as members:
            for number, name in enumerate(_names(members)):
                yield number, _tried(lambda member: _member(members, member), name)

    def numbered_record(self, location: Location, number: int) -> Record:
        """See `NumberedFormat`."""
        if not location.path.endswith(ARCHIVE):
            found = list_document(location, SAMPLES)
            if not 0 <= number < len(found):
                raise Unusable("it has no such sample")
            return found.element(number)
        with Members(location) as members:
            names = _names(members)
            if not 0 <= number < len(names):
                raise Unusable("it has no such sample")
            return _member(members, names[number])

    def row(self, source: Source, record: Record, start: int, length: int) -> SampleRow:
        """See `RecordFormat`."""
        asked, answered = conversation(record)
        prompt = fields.joined(asked)
        status, status_raw = _status(record)
        metrics, tags = _facts(record)
        group = fields.name(record.get("id"))
        return SampleRow(
            split=source.split or "eval/inspect",
            step=0,
            group=fields.digest(prompt) if group is None else group,
            index=f"{source.name}:{fields.name(record.get('epoch')) or start}",
            ordinal=start,
            start=start,
            length=length,
            reward=_reward(record.get("scores")),
            status=status,
            status_raw=status_raw,
            turns=text.answers_in(answered),
            uid=fields.name(record.get("uuid")) or "",
            metrics=metrics,
            tags=tags,
            prompt=prompt,
            response=fields.joined(answered, thoughts=True),
            messages=fields.chat(answered),
        )

    def references(self, record: Record) -> References:
        """See `RecordFormat`."""
        target = record.get("target")
        only = target[0] if isinstance(target, list) and len(target) == 1 else target
        return References(fields.as_text(only), [])

    def sample(self, record: Record, row: SampleRow, locator: Locator) -> Sample:
        """See `RecordFormat`."""
        asked, answered = conversation(record)
        sample = fields.sample_of(row, locator, asked, answered)
        sample.label = self.references(record).label
        hidden = {*_PLACED, *_QUIET}
        rest = {k: value for k, value in record.items() if k not in hidden and value not in (None, [], {}, "")}
        sample.extra = {key: fields.showable(value) for key, value in rest.items()}
        return sample

    def config(self, run: RunInfo) -> dict[str, Any]:
        """See `Format`."""
        header = _header(Location(run.root, links_of(run)))
        return {key: header[key] for key in ("eval", "plan") if isinstance(header.get(key), dict)}

    def ending(self, run: RunInfo) -> str:
        """See `Format`."""
        status = _header(Location(run.root, links_of(run))).get("status", "started")
        return "open" if status == "started" else "ended"

    def metrics(self, run: RunInfo) -> list[MetricRow]:
        """See `Format`."""
        results = _header(Location(run.root, links_of(run))).get("results")
        scores = results.get("scores") if isinstance(results, dict) else None
        found: Record = {"step": 0}
        for score in scores if isinstance(scores, list) else ():
            inner = score.get("metrics") if isinstance(score, dict) else None
            for name, one in inner.items() if isinstance(inner, dict) else ():
                found[f"{score.get('name')}/{name}"] = one.get("value") if isinstance(one, dict) else None
        return merged_metrics([found]) if len(found) > 1 else []


def _tried(read: Any, what: Any) -> Record | Unusable:
    try:
        found: Record = read(what)
    except Unusable as error:
        return error
    return found


def _names(members: Members) -> list[str]:
    return [name for name in members.names() if _SAMPLE.fullmatch(name) or _IN_CHUNKS.fullmatch(name)]


def _member(members: Members, name: str) -> Record:
    return parse(members.read(name)) if _SAMPLE.fullmatch(name) else sample_in_chunks(members, name)


def _split(spec: Record) -> str:
    return f"eval/{os.path.basename(fields.name(spec.get('task')) or '') or 'inspect'}"


def _spec(location: Location) -> Record | None:
    """The `eval` of a log; None for another file."""
    if not location.path.endswith(ARCHIVE) and not beginning(location).keys() >= _TOP:
        return None
    header = _header(location)
    spec = header.get("eval")
    return spec if isinstance(spec, dict) else None


def _header(location: Location) -> Record:
    """A log without its samples; of an archive in the making its beginning, of an unreadable file nothing."""
    try:
        return _header_of(location, *stamp_of_state(path_state(location.path)))
    except OSError:
        return {}


@lru_cache(maxsize=256)
def _header_of(location: Location, inode: int, size: int, mtime_ns: int) -> Record:  # noqa: ARG001
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
        return "truncated", fields.tag(limit.get("type")) or "limit"
    output = record.get("output")
    choices = output.get("choices") if isinstance(output, dict) else None
    last = choices[0] if isinstance(choices, list) and choices else output
    return fields.status(last.get("stop_reason") if isinstance(last, dict) else None)


def _reward(scores: object) -> float | None:
    for score in scores.values() if isinstance(scores, dict) else ():
        value = score.get("value") if isinstance(score, dict) else score
        return fields.reward(value).value if isinstance(value, dict) else _number(value)
    return None


def _number(value: object) -> float | None:
    """A value of a score as a number, grades and texts of numbers too."""
    if not isinstance(value, str):
        return fields.number(value)
    if value in _VALUES or value.lower() in _VALUES:
        return _VALUES.get(value, _VALUES.get(value.lower()))
    try:
        return float(value)
    except ValueError:
        return None


def _facts(record: Record) -> tuple[dict[str, float], dict[str, str]]:
    """The sample metrics and tags of a sample."""
    found: dict[str, Any] = {key: record.get(key) for key in ("total_time", "working_time", "turn_count")}
    usage = record.get("model_usage")
    for one in usage.values() if isinstance(usage, dict) else ():
        for key in ("input_tokens", "output_tokens"):
            count = fields.count(one.get(key)) if isinstance(one, dict) else None
            found[key] = (found.get(key) or 0) + count if count is not None else found.get(key)
    for name, score in _items(record.get("scores")):
        value = score.get("value") if isinstance(score, dict) else score
        parts = _items(value) or [("", value)]
        found |= {f"reward.{name}.{part}".rstrip("."): _number(one) for part, one in parts}
    about = _items(record.get("metadata"))
    found |= {f"metadata.{key}": value for key, value in about if not isinstance(value, str)}
    names = fields.MetricNames()
    metrics = {names[key]: number for key, value in found.items() if (number := fields.number(value)) is not None}
    return metrics, {
        names[f"metadata.{key}"]: short for key, value in about if (short := fields.tag(value)) is not None
    }


def _items(value: object) -> list[tuple[str, Any]]:
    return [*value.items()] if isinstance(value, dict) else []
