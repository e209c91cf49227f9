"""The trajectories of ART (OpenPipe): a folder for each split, a file for each step, as Parquet, JSON lines or YAML.

Source: `trajectory_logging.py` of openpipe-art 0.5.18 (Parquet), `trajectory_migration.py` (JSON lines), and the writer
of YAML until mid-2025. A choice of the model is an object with a message and the reason why it stopped.
"""

import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, ClassVar

from rolloupe.formats.generic.keys import Roles
from rolloupe.formats.generic.rows import NamedRows, number_row
from rolloupe.formats.reading import documents, files, jsonl, peek
from rolloupe.formats.reading import value_parsers as parsers
from rolloupe.formats.reading.records import Record, RecordFormat, Unusable
from rolloupe.formats.reading.tables.parquet import ParquetFormat
from rolloupe.formats.reading.trainer_files import metrics_of, read_bytes, read_text
from rolloupe.model import Location, Locator, MetricRow, Problem, RunInfo, RunPart, Sample, SampleRow, Scanned, Source
from rolloupe.storage import is_file, path_state

TRAJECTORIES = "trajectories"
HISTORY = "history.jsonl"
PARQUET, LINES, YAML = ".parquet", ".jsonl", ".yaml"
MAX_YAML_BYTES = 32 * 2**20
MAX_EACH = 100_000

_GROUP = "group_index"
_METADATA = "metadata."
_MESSAGES = b'"messages_and_choices"'
_STEP = re.compile(r"[0-9]{1,9}")
_COLUMNS = {_GROUP, "reward", "metrics", "metadata", "messages"}
_BEGINNING = re.compile(rb"(?:---\s+)?- (?:metadata|trajectories|exceptions|logs|metrics):")
_PACKED = ("group_metadata", "group_metrics", "metrics", "metadata", "tools", "additional_histories")


class _Trajectories(NamedRows):
    """Trajectories in any kind of file: `prepared` gives each the columns of the Parquet files."""

    name = "art"
    title = "ART"
    cuts_arrays = False

    def roles(self, record: Record) -> Roles:
        messages = "messages" if parsers.is_messages(record.get("messages")) else None
        status = "finish_reason" if isinstance(record.get("finish_reason"), str) else None
        score = "reward" if "reward" in record else None
        return Roles(messages=messages, score=score, group=_GROUP, status_key=status)

    def row(self, source: Source, record: Record, start: int, length: int) -> SampleRow:
        """See `RecordFormat`: numbers and short texts of the metadata are sample metrics and tags."""
        row = super().row(source, record, start, length)
        names = parsers.MetricNames()
        for key, value in parsers.as_dict(record.get("metadata")).items():
            name = names[_METADATA + key]
            if (number := parsers.number(value)) is not None:
                row.metrics[name] = number
            elif (short := parsers.tag(value)) is not None:
                row.tags[name] = short
        return row

    def sample(self, record: Record, row: SampleRow, locator: Locator) -> Sample:
        """See `RecordFormat`: without empty members, and without metadata that are shown elsewhere."""
        sample = super().sample(record, row, locator)
        names, metadata = parsers.MetricNames(), self.own_record(record, row).get("metadata")
        if isinstance(metadata, dict):
            placed = {*row.metrics, *row.tags}
            rest = {key: value for key, value in metadata.items() if names[_METADATA + key] not in placed}
            sample.extra["metadata"] = parsers.showable(rest)
        sample.extra = {key: value for key, value in sample.extra.items() if value not in (None, [], {})}
        return sample


class _Parquet(_Trajectories, ParquetFormat):
    """Rows of Parquet: objects and lists are texts of JSON."""

    def prepared(self, run: RunInfo, record: Record) -> Record:  # noqa: ARG002
        texts = {key: documents.unpacked(record[key]) for key in _PACKED if key in record}
        messages = record.get("messages")
        return record | texts | {"messages": [_unpacked_calls(message) for message in messages or ()]}


class _GroupLines(_Trajectories, jsonl.JsonlFormat):
    """Lines of JSON: each is a group, named by its place."""

    def rows(self, source: Source, record: Record, start: int, length: int) -> list[Scanned]:
        found: list[Scanned] = []
        for number, trajectory in enumerate(_of_group(record, str(start))):
            if isinstance(trajectory, Unusable):
                reason = f"trajectory {number}: {trajectory}"
                found.append(Problem(source=source.name, reason=reason, start=start, stop=start + length))
                continue
            found.append(number_row(self.row(source, trajectory, start, length), number))
        return found

    def own_record(self, record: Record, row: SampleRow) -> Record:
        found = _trajectory(_members(record)[int(row.part)], _facts(record, str(row.start)))
        return {} if isinstance(found, Unusable) else found


class _Yaml(_Trajectories, documents.NumberedFormat):
    """A document of YAML: a list of groups."""

    suffixes = (YAML,)

    def numbered(self, location: Location, within: str) -> Iterator[tuple[int, Record | Unusable]]:  # noqa: ARG002
        yield from enumerate(_yaml_trajectories(location))


_READERS: dict[str, RecordFormat] = {PARQUET: _Parquet(), LINES: _GroupLines(), YAML: _Yaml()}


class Art(documents.ByEnding, _Trajectories, jsonl.JsonlFormat):
    """Trajectories of ART."""

    endings: ClassVar[tuple[str, ...]] = (PARQUET, YAML)
    suffixes = (*_READERS, ".ndjson")

    def reader_of(self, source: Source) -> RecordFormat:
        return _READERS[_ending(source.path)]

    def parts(self, folder: Path, links: str) -> list[RunPart]:
        below = [] if folder.name == TRAJECTORIES else files.folders(str(folder), links)
        inner = (entry.path for entry in below if entry.name == TRAJECTORIES and self.locations(entry.path, links))
        return [RunPart(next(inner, str(folder)))]

    def locations(self, folder: str, links: str) -> list[Location]:
        """See `RecordFormat`: the files of steps in the folders of splits, or in this one."""
        is_whole = os.path.basename(folder) == TRAJECTORIES
        places = [entry.path for entry in files.folders(folder, links)] if is_whole else [folder]
        return [entry.location for place in places for entry in _of_steps(place, links)]

    def fits_any(self, locations: Sequence[Location]) -> bool:
        return any(map(_fits, (locations[0], locations[-1])))

    def reason(self, locations: Sequence[Location]) -> str:
        return f"{files.file_count(locations)} of trajectories of ART"

    def run_name(self, path: Path) -> str:
        """See `RecordFormat`: the name of the model, whose folder holds the trajectories."""
        names = [place.name for place in (path, *path.parents)]
        if TRAJECTORIES not in names[:2] or len(names) < 3 or files.is_one_file(path):
            return files.stem(path.name)
        return names[names.index(TRAJECTORIES) + 1]

    def source(self, run: RunInfo, part: RunPart, location: Location) -> Source:  # noqa: ARG002
        """See `RecordFormat`: a changed document of YAML is read again as a whole."""
        path = Path(location.path)
        number = files.plain_name(path.name).partition(".")[0]
        step = int(number) if _STEP.fullmatch(number) else None
        state = path_state(path) if _ending(path.name) == YAML else None
        depends = f"{state.st_size}-{state.st_mtime_ns}" if state else ""
        name = path.parent.name
        is_eval = path.parent.parent.name == TRAJECTORIES or name.lower() in files.EVAL_WORDS
        split = f"eval/{name}" if is_eval and name != "train" else "train"
        return files.source_at(run, location, split=split, step=step, depends=depends)

    def metrics(self, run: RunInfo) -> list[MetricRow]:
        folder = Path(run.root)
        around = folder.parent if folder.name == TRAJECTORIES else folder
        return [] if is_file(folder) else metrics_of(files.file_of(str(around), HISTORY, str(around)))


def _unpacked_calls(message: Any) -> Any:
    """A message without empty members, whose calls are a list."""
    if not isinstance(message, dict):
        return message
    found = {key: value for key, value in message.items() if value is not None and key != "trainable"}
    return found | ({"tool_calls": documents.unpacked(found["tool_calls"])} if "tool_calls" in found else {})


def _of_group(group: Record, name: str) -> list[Record | Unusable]:
    """The trajectories of a group in the columns of Parquet, or why one cannot be read. Raises `Unusable`."""
    facts = _facts(group, name)
    return [_trajectory(trajectory, facts) for trajectory in _members(group)]


def _members(group: Record) -> list[Any]:
    listed = group.get(TRAJECTORIES)
    if not isinstance(listed, list):
        raise Unusable("an object without a list of trajectories is not a group")
    if len(listed) > MAX_EACH:
        raise Unusable(f"more than {MAX_EACH:,} trajectories in a group: not read")
    return listed


def _facts(group: Record, name: str) -> Record:
    return {f"group_{key}": value for key, value in group.items() if key != TRAJECTORIES} | {_GROUP: name}


def _trajectory(trajectory: Any, facts: Record) -> Record | Unusable:
    if not isinstance(trajectory, dict):
        return Unusable("no JSON object")
    listed = trajectory.get("messages_and_choices")
    found = {key: value for key, value in trajectory.items() if key != "messages_and_choices"}
    if not isinstance(listed, list):
        return found | facts
    reasons = [entry["finish_reason"] for entry in listed if isinstance(entry, dict) and "finish_reason" in entry]
    last = {"finish_reason": reasons[-1]} if reasons else {}
    return found | {"messages": [*map(_message, listed)]} | last | facts


def _message(entry: Any) -> Any:
    inner = entry.get("message") if isinstance(entry, dict) else None
    return inner if isinstance(inner, dict) else entry


@files.while_unchanged(4)
def _yaml_trajectories(location: Location) -> tuple[Record | Unusable, ...]:
    from rolloupe.formats.reading.yaml_values import yaml_value

    if path_state(location.path).st_size > MAX_YAML_BYTES:
        raise Unusable(f"more than {MAX_YAML_BYTES >> 20} MiB of YAML: not read")
    try:
        found = yaml_value(read_text(location, MAX_YAML_BYTES))
    except ValueError as error:
        raise Unusable(" ".join(str(error).split())[:200]) from None
    if not isinstance(found, list):
        raise Unusable("no list of groups")
    groups = (group if isinstance(group, dict) else {} for group in found)
    listed = (trajectory for n, group in enumerate(groups) for trajectory in _of_group(group, str(n)))
    return tuple(found if isinstance(found, Unusable) else parsers.showable(found) for found in listed)


def _ending(path: str) -> str:
    name = files.plain_name(path)
    return next((ending for ending in _READERS if name.endswith(ending)), LINES)


def _fits(place: Location) -> bool:
    """Return whether a file begins like a file of ART."""
    ending = _ending(place.path)
    if ending == YAML:
        head = read_bytes(place, 2**20) if _BEGINNING.match(read_bytes(place, 64)) else b""
        return _BEGINNING.match(head) is not None and b"messages_and_choices:" in head
    if ending == PARQUET:
        return any(record.keys() >= _COLUMNS for record in _READERS[ending].first_records([place]))
    seen = peek.look(place)
    firsts = (first for record in seen.objects for first in parsers.as_list(record.get(TRAJECTORIES))[:1])
    if any("messages_and_choices" in parsers.as_dict(first) for first in firsts):
        return True
    is_too_long = not seen.whole and any(TRAJECTORIES in record for record in seen.objects)
    return is_too_long and _MESSAGES in read_bytes(place, peek.MAX_BYTES)


def _of_steps(folder: str, links: str) -> list[files.FolderEntry]:
    """The files of steps in order, only the newest kind of a migrated file; without any, files of other names.

    Files of other names count only if one of the first few holds trajectories.
    """
    found: dict[int, files.FolderEntry] = {}
    for ending in reversed(_READERS):
        for entry in files.files(folder, links, (ending,)):
            name = files.plain_name(entry.name).removesuffix(ending)
            if _STEP.fullmatch(name):
                found[int(name)] = entry
    listed = [] if found else files.files(folder, links, tuple(_READERS))
    if any(_fits(entry.location) for entry in listed[:2]):
        return [entry for entry in listed if _fits(entry.location)]
    return [found[step] for step in sorted(found)]
