"""The trajectories of ART (OpenPipe): a folder for each split, a file for each step, as Parquet, JSON lines or YAML.

Source: `trajectory_logging.py` of openpipe-art 0.5.18 (Parquet), `trajectory_migration.py` (JSON lines), and the writer
of YAML until mid-2025. A choice of the model is a message within an object with its reason to stop.
"""

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, ClassVar

from rolloupe.formats.generic.keys import Roles
from rolloupe.formats.generic.rows import NamedRows
from rolloupe.formats.reading import fields
from rolloupe.formats.reading.files import (
    EVAL_WORDS,
    FolderEntry,
    alone,
    file_of,
    files,
    folders,
    is_one_file,
    links_of,
    plain_name,
    stem,
)
from rolloupe.formats.reading.json_documents import unpacked
from rolloupe.formats.reading.jsonl import JsonlFormat
from rolloupe.formats.reading.numbered_samples import ByEnding, NumberedFormat
from rolloupe.formats.reading.peek import MAX_BYTES, look
from rolloupe.formats.reading.records import Record, RecordFormat, Unusable
from rolloupe.formats.reading.tables.parquet import ParquetFormat
from rolloupe.formats.reading.trainer_files import metrics_of, read_bytes, read_text
from rolloupe.model import Location, Locator, MetricRow, Problem, RunInfo, RunPart, Sample, SampleRow, Scanned, Source
from rolloupe.storage import file_state, is_file, path_state, stamp_of_state

TRAJECTORIES = "trajectories"
HISTORY = "history.jsonl"
PARQUET, LINES, YAML = ".parquet", ".jsonl", ".yaml"
MAX_YAML_BYTES = 32 * 2**20
MAX_EACH = 100_000
"""Trajectories of a group."""

_GROUP = "group_index"
_METADATA = "metadata."
_MESSAGES = b'"messages_and_choices"'
_STEP = re.compile(r"[0-9]{1,9}")
_COLUMNS = {_GROUP, "reward", "metrics", "metadata", "messages"}
_BEGINNING = re.compile(rb"(?:---\s+)?- (?:metadata|trajectories|exceptions|logs|metrics):")
_PACKED = ("group_metadata", "group_metrics", "metrics", "metadata", "tools", "additional_histories")
_ROLES = Roles(
    prompt=None, response=None, messages="messages", score="reward", step=None, group=_GROUP, label=None, env=None,
    status_key=None, counts={},
)  # fmt: skip


class _Trajectories(NamedRows):
    """Trajectories, whatever holds them: `prepared` makes the columns of the Parquet files of each."""

    name = "art"
    title = "ART"

    def may_cut(self, key: str) -> bool:  # noqa: ARG002
        """See `RecordFormat`."""
        return False

    def roles(self, record: Record) -> Roles:
        """See `NamedRows`."""
        messages = "messages" if fields.is_messages(record.get("messages")) else None
        status = "finish_reason" if isinstance(record.get("finish_reason"), str) else None
        return _ROLES._replace(messages=messages, status_key=status, score="reward" if "reward" in record else None)

    def row(self, source: Source, record: Record, start: int, length: int) -> SampleRow:
        """See `RecordFormat`: numbers and short texts of the metadata are sample metrics and tags."""
        row = super().row(source, record, start, length)
        for key, value in _items(record.get("metadata")):
            name = fields.MetricNames()[_METADATA + key]
            if (number := fields.number(value)) is not None:
                row.metrics[name] = number
            elif (short := fields.tag(value)) is not None:
                row.tags[name] = short
        return row

    def sample(self, record: Record, row: SampleRow, locator: Locator) -> Sample:
        """See `RecordFormat`: without what is empty, and what of the metadata is shown."""
        sample = super().sample(record, row, locator)
        names = fields.MetricNames()
        rest = {
            k: v for k, v in _items(record.get("metadata")) if not {names[_METADATA + k]} & {*row.metrics, *row.tags}
        }
        shown = sample.extra | ({"metadata": fields.showable(rest)} if isinstance(record.get("metadata"), dict) else {})
        sample.extra = {key: value for key, value in shown.items() if value not in (None, [], {})}
        return sample


class _Parquet(_Trajectories, ParquetFormat):
    """Rows of Parquet: objects and lists are texts of JSON."""

    def prepared(self, run: RunInfo, record: Record) -> Record:  # noqa: ARG002
        """See `RecordFormat`."""
        texts = {key: unpacked(record[key]) for key in _PACKED if key in record}
        messages = record.get("messages")
        return record | texts | {"messages": [_unpacked_calls(one) for one in messages or ()]}


class _GroupLines(_Trajectories, JsonlFormat):
    """Lines of JSON: each is a group, named by its place."""

    def rows(self, source: Source, record: Record, start: int, length: int) -> list[Scanned]:
        """See `RecordFormat`."""
        found: list[Scanned] = []
        for number, one in enumerate(_of_group(record, str(start))):
            if isinstance(one, Unusable):
                reason = f"trajectory {number}: {one}"
                found.append(Problem(source=source.name, reason=reason, start=start, stop=start + length))
                continue
            row = self.row(source, one, start, length)
            row.index, row.part, row.ordinal = f"{row.index}.{number}", str(number), start + number
            found.append(row)
        return found

    def own_record(self, record: Record, row: SampleRow) -> Record:
        """See `RecordFormat`."""
        found = _trajectory(_members(record)[int(row.part)], _facts(record, str(row.start)))
        return {} if isinstance(found, Unusable) else found

    def sample(self, record: Record, row: SampleRow, locator: Locator) -> Sample:
        """See `RecordFormat`."""
        return super().sample(self.own_record(record, row), row, locator)


class _Yaml(_Trajectories, NumberedFormat):
    """A document of YAML: a list of groups."""

    suffixes = (YAML,)

    def numbered(self, location: Location, within: str) -> Iterator[tuple[int, Record | Unusable]]:  # noqa: ARG002
        """See `NumberedFormat`."""
        yield from enumerate(_yaml_trajectories(location, *stamp_of_state(file_state(location))))


_READERS: dict[str, RecordFormat] = {PARQUET: _Parquet(), LINES: _GroupLines(), YAML: _Yaml()}


class Art(ByEnding, _Trajectories, JsonlFormat):
    """Trajectories of ART."""

    endings: ClassVar[tuple[str, ...]] = (PARQUET, YAML)
    suffixes = (*_READERS, ".ndjson")
    recognises = (
        "A folder `trajectories/` or one of its folders, with files named by a step; Parquet with `group_index`, "
        "`reward`, `metrics`, `metadata` and `messages`, or groups with `trajectories` and `messages_and_choices` as "
        "lines of JSON or as YAML; one such file under any name."
    )
    layout = (
        "`.art/{project}/models/{model}/trajectories/{split}/{step:04d}.parquet`, before that `.jsonl`, until mid-2025 "
        "`.yaml`, and `history.jsonl` beside `trajectories/`. [frameworks/art.md](frameworks/art.md) has the calls."
    )
    identity = (
        "step = the file's number; group = `group_index`, of lines the byte at which the group begins, of YAML its "
        "number; index = `{file}:{row}`, of lines `{file}:{byte offset}.{number}`. Split `train`, or `eval/{folder}` "
        "for any other folder of `trajectories/`."
    )
    reads = (
        ("`messages`, `messages_and_choices`", "turns; the response begins at the first answer"),
        ("`reward`", "the reward"),
        ("`metrics`", "sample metrics"),
        ("`metadata`", "its numbers and short texts are sample metrics and tags `metadata.NAME`"),
        ("`finish_reason` of the last choice", "status"),
        ("`tools`, `logs`, `additional_histories`, `group_metadata`, `group_metrics`, any other key", "extra"),
        ("any other key of a group", "extra, as `group_KEY`"),
        ("`history.jsonl`", "metrics"),
    )
    limits = (
        "ART drops logprobs and advantages before it writes, and trajectories that raised an exception. Documents of "
        "YAML are read up to 32 MiB and a million values."
    )

    def reader_of(self, source: Source) -> RecordFormat:
        """See `ByEnding`."""
        return _READERS[_ending(source.path)]

    def detect(self, path: Path, *, forced: bool = False, link_root: str = "") -> list[RunInfo]:
        """See `Format`."""
        links = link_root or str(path.resolve())
        part = path if is_one_file(path) else _around(path, links) or path
        places = [alone(path)] if is_one_file(path) else [one.location for one, _ in _listed(part, links)]
        if not places or not (forced or any(map(_fits, (places[0], places[-1])))):
            return []
        count = "one file" if len(places) == 1 else f"{len(places)} files"
        return [
            RunInfo(
                name=stem(path.name) if is_one_file(path) else _name_of(path), root=str(path), format=self.name,
                reason=f"{count} of trajectories of ART", parts=(RunPart(str(part)),),
                link_root="" if is_one_file(path) else links,
            )
        ]  # fmt: skip

    def sources(self, run: RunInfo) -> list[Source]:
        """See `Format`."""
        found = []
        for part in map(Path, (part.path for part in run.parts)):
            one_file = [(Location(str(part), links_of(run)), _split(part.parent))] if is_file(part) else []
            listed = [] if one_file else [(one.location, split) for one, split in _listed(part, links_of(run))]
            found += [_source(run, place, split) for place, split in (*one_file, *listed)]
        return found

    def metrics(self, run: RunInfo) -> list[MetricRow]:
        """See `Format`."""
        folder = Path(run.root)
        around = folder.parent if folder.name == TRAJECTORIES else folder
        return [] if is_file(folder) else metrics_of(file_of(str(around), HISTORY, str(around)))


def _items(value: object) -> list[tuple[str, Any]]:
    return [*value.items()] if isinstance(value, dict) else []


def _unpacked_calls(message: Any) -> Any:
    """A message without empty members, whose calls are a list."""
    if not isinstance(message, dict):
        return message
    found = {key: value for key, value in message.items() if value is not None and key != "trainable"}
    return found | ({"tool_calls": unpacked(found["tool_calls"])} if "tool_calls" in found else {})


def _of_group(group: Record, name: str) -> list[Record | Unusable]:
    """The trajectories of a group in the columns of Parquet, or why one cannot be read. Raises `Unusable`."""
    facts = _facts(group, name)
    return [_trajectory(one, facts) for one in _members(group)]


def _members(group: Record) -> list[Any]:
    listed = group.get(TRAJECTORIES)
    if not isinstance(listed, list):
        raise Unusable("an object without a list of trajectories is no group")
    if len(listed) > MAX_EACH:
        raise Unusable(f"more than {MAX_EACH:,} trajectories in a group: not read")
    return listed


def _facts(group: Record, name: str) -> Record:
    """What a group says of each of its trajectories."""
    return {f"group_{key}": value for key, value in group.items() if key != TRAJECTORIES} | {_GROUP: name}


def _trajectory(one: Any, facts: Record) -> Record | Unusable:
    if not isinstance(one, dict):
        return Unusable("no JSON object")
    listed = one.get("messages_and_choices")
    found = {key: value for key, value in one.items() if key != "messages_and_choices"}
    if not isinstance(listed, list):
        return found | facts
    reasons = [entry["finish_reason"] for entry in listed if isinstance(entry, dict) and "finish_reason" in entry]
    last = {"finish_reason": reasons[-1]} if reasons else {}
    return found | {"messages": [*map(_message, listed)]} | last | facts


def _message(entry: Any) -> Any:
    """A message; of a choice the one within."""
    inner = entry.get("message") if isinstance(entry, dict) else None
    return inner if isinstance(inner, dict) else entry


@lru_cache(maxsize=4)
def _yaml_trajectories(
    location: Location,
    inode: int,  # noqa: ARG001
    size: int,
    mtime_ns: int,  # noqa: ARG001
) -> tuple[Record | Unusable, ...]:
    from rolloupe.formats.reading.yaml_values import yaml_value

    if size > MAX_YAML_BYTES:
        raise Unusable(f"more than {MAX_YAML_BYTES >> 20} MiB of YAML: not read")
    try:
        found = yaml_value(read_text(location, MAX_YAML_BYTES))
    except ValueError as error:
        raise Unusable(" ".join(str(error).split())[:200]) from None
    if not isinstance(found, list):
        raise Unusable("no list of groups")
    groups = (one if isinstance(one, dict) else {} for one in found)
    listed = (one for n, group in enumerate(groups) for one in _of_group(group, str(n)))
    return tuple(one if isinstance(one, Unusable) else fields.showable(one) for one in listed)


def _ending(path: str) -> str:
    name = plain_name(path)
    return next((ending for ending in _READERS if name.endswith(ending)), LINES)


def _fits(place: Location) -> bool:
    """Whether a file begins as one of ART does."""
    ending = _ending(place.path)
    if ending == YAML:
        head = read_bytes(place, 2**20) if _BEGINNING.match(read_bytes(place, 64)) else b""
        return _BEGINNING.match(head) is not None and b"messages_and_choices:" in head
    if ending == PARQUET:
        return any(record.keys() >= _COLUMNS for record in _READERS[ending].first_records([place]))
    seen = look(place)
    return any(map(_is_group, seen.objects)) or (not seen.whole and _begins_a_group(seen.objects, place))


def _begins_a_group(first: Sequence[Record], place: Location) -> bool:
    """Whether a line too long to be seen whole begins as a group does."""
    return any(TRAJECTORIES in record for record in first) and _MESSAGES in read_bytes(place, MAX_BYTES)


def _is_group(record: Record) -> bool:
    listed = record.get(TRAJECTORIES)
    first = listed[0] if isinstance(listed, list) and listed else None
    return isinstance(first, dict) and "messages_and_choices" in first


def _around(folder: Path, links: str) -> Path | None:
    """The folder of splits: this one or that in it, if it holds any."""
    named = [folder] if folder.name == TRAJECTORIES else [Path(one.path) for one in folders(str(folder), links)]
    return next((one for one in named if one.name == TRAJECTORIES and _listed(one, links)), None)


def _listed(folder: Path, links: str) -> list[tuple[FolderEntry, str]]:
    """The files of steps with their splits: of each folder of `trajectories/`, else of this one."""
    places = [folder]
    if folder.name == TRAJECTORIES:
        places = [Path(one.path) for one in folders(str(folder), links)]
    return [(one, _split(place)) for place in places for one in _of_steps(str(place), links)]


def _of_steps(folder: str, links: str) -> list[FolderEntry]:
    """The files of steps in their order, of one that was migrated the newest kind; without any, those of ART."""
    found: dict[int, FolderEntry] = {}
    for ending in reversed(_READERS):
        for one in files(folder, links, (ending,)):
            name = plain_name(one.name).removesuffix(ending)
            if _STEP.fullmatch(name):
                found[int(name)] = one
    return [found[step] for step in sorted(found)] or _of_other_names(folder, links)


def _of_other_names(folder: str, links: str) -> list[FolderEntry]:
    """Files that hold trajectories under other names; where the first few hold none, none is looked for."""
    listed = files(folder, links, tuple(_READERS))
    return [one for one in listed if _fits(one.location)] if any(_fits(one.location) for one in listed[:2]) else []


def _split(folder: Path) -> str:
    is_eval = folder.parent.name == TRAJECTORIES or folder.name.lower() in EVAL_WORDS
    return f"eval/{folder.name}" if is_eval and folder.name != "train" else "train"


def _name_of(folder: Path) -> str:
    """The name of the model."""
    names = [one.name for one in (folder, *folder.parents)]
    return names[names.index(TRAJECTORIES) + 1] if TRAJECTORIES in names[:2] and len(names) > 2 else folder.name


def _source(run: RunInfo, place: Location, split: str | None) -> Source:
    path = Path(place.path)
    name = path.name if place.path == run.root else path.relative_to(run.root).as_posix()
    step = plain_name(path.name).partition(".")[0]
    return Source(
        path=place.path, name=name, root=place.root, split=split,
        step=int(step) if _STEP.fullmatch(step) else None, depends=_depends(place),
    )  # fmt: skip


def _depends(place: Location) -> str:
    """A document that changed is read again as a whole."""
    if _ending(place.path) != YAML:
        return ""
    state = path_state(place.path)
    return f"{state.st_size}-{state.st_mtime_ns}"
