"""The trajectories that AReaL dumps: a folder a weight version, a file of JSON lines a task.

Source: `WorkflowExecutor._dump_trajectory`. There may be thousands of files of a few lines. From June 2026 on, the
folder is named by the newest weights of its batch, a trajectory may be of older ones, and several turns are `segments`.
"""

from pathlib import Path
from typing import Any, ClassVar

from rolloupe import text
from rolloupe.formats.generic.rows import OwnNames
from rolloupe.formats.reading import value_parsers as parsers
from rolloupe.formats.reading.files import alone, files, folders, is_one_file, links_of, source_at, stem
from rolloupe.formats.reading.jsonl import JsonlFormat
from rolloupe.formats.reading.peek import first_records
from rolloupe.formats.reading.records import Record, Unusable, step_of
from rolloupe.model import Location, Locator, RunInfo, RunPart, Sample, SampleRow, Source, Turn
from rolloupe.storage import is_file

SPLITS = {"rollout": None, "eval-rollout": "eval/rollout"}
"""The folders of a trial, and the splits of their samples."""

ROLES = {"prompt": "user", "gen": "assistant", "context": "tool"}
"""The roles of segments. Text of the environment is a tool's, unless a template names its role."""

_OWN = {"task_id", "tail_version", "prompt", "completion", "reward"}


class AReaL(OwnNames, JsonlFormat):
    """Trajectories of AReaL."""

    name = "areal"
    title = "AReaL"
    names: ClassVar[dict[str, str]] = {
        "prompt": "prompt", "response": "completion", "score": "reward", "step": "tail_version", "group": "task_id",
    }  # fmt: skip
    counts: ClassVar[dict[str, str]] = {"prompt": "prompt_len", "total": "seqlen"}

    def detect(self, path: Path, *, forced: bool = False, link_root: str = "") -> list[RunInfo]:
        links = link_root or str(path.resolve())
        parts, places = [path], [alone(path)]
        if not is_one_file(path):
            below = [Path(entry.path) for entry in folders(str(path), links) if entry.name in SPLITS]
            parts = [folder for folder in below if _versions(folder, links)] or [path]
            places = [place for part in parts for place in _listed(part, links)]
        if not places or not (forced or any(record.keys() >= _OWN for record in first_records(places))):
            return []
        number = "one file" if len(places) == 1 else f"{len(places):,} files"
        reason = f"{number} of AReaL: steps are weight versions, groups are tasks"
        is_split = path.name in SPLITS and bool(path.parent.name)
        name, links = (stem(path.name), "") if is_one_file(path) else ((path.parent if is_split else path).name, links)
        split_parts = tuple(RunPart(str(part), SPLITS.get(part.name)) for part in parts)
        return [self._run_at(path, reason, links, name, split_parts)]

    def sources(self, run: RunInfo) -> list[Source]:
        if is_file(run.root):
            return [_source(Location(run.root, links_of(run)), run, None)]
        return [
            _source(place, run, part.split) for part in run.parts for place in _listed(Path(part.path), links_of(run))
        ]

    def row(self, source: Source, record: Record, start: int, length: int) -> SampleRow:
        if "completion" not in record:
            raise Unusable("a line without a completion is no trajectory")
        row = super().row(source, record, start, length)
        if row.total_tokens is not None and row.prompt_tokens is not None:
            row.response_tokens = max(0, row.total_tokens - row.prompt_tokens)
        version = step_of(record.get("tail_version"))
        row.step = (version or 0) if source.step is None else source.step
        if version is not None and version != row.step:
            row.metrics["tail_version"] = float(version)
        row.turns = max(1, sum(segment["role"] == "gen" for segment in _segments(record)))
        return row

    def sample(self, record: Record, row: SampleRow, locator: Locator) -> Sample:
        sample = super().sample(record, row, locator)
        if segments := _segments(record):
            asked = [turn for turn in sample.turns if turn.origin == "prompt"]
            sample.turns = [*asked, *_response_turns(parsers.as_text(record.get("completion")), segments)]
            sample.extra["segments"] = [{k: v for k, v in segment.items() if k != "text"} for segment in segments]
        return sample


def _segments(record: Record) -> list[dict[str, Any]]:
    """The segments of a trajectory of several turns; none if one of them is no segment."""
    listed = parsers.as_list(record.get("segments"))
    segments = [segment for segment in parsers.dicts(listed) if isinstance(segment.get("text"), str)]
    are_whole = len(segments) == len(listed) and all(segment.get("role") in tuple(ROLES) for segment in segments)
    return segments if are_whole else []


def _response_turns(completion: str, segments: list[dict[str, Any]]) -> list[Turn]:
    """The turns of a completion: by its template, which begins none within what was generated, else by segments."""
    places: set[int] = set()
    at = 0
    for segment in segments:
        if segment["role"] == "prompt":
            continue
        start = completion.find(segment["text"], at)
        if start < 0:  # a character that two segments share
            return text.split_response(completion)
        at = start + len(segment["text"])
        if segment["role"] == "context":
            places.update(place for place in range(start, at) if completion[place] in "<[")
    turns = text.split_response(completion, places)
    if len(turns) > 1:
        return turns
    return [
        Turn(
            role=role, parts=text.parts(segment["text"], role), origin="response",
            tokens=parsers.count(segment.get("len")),
        )
        for segment in segments if (role := ROLES[segment["role"]]) != "user"
    ]  # fmt: skip


def _versions(folder: Path, links: str) -> list[Path]:
    found = [Path(entry.path) for entry in folders(str(folder), links) if entry.name.isdecimal()]
    return sorted(found, key=lambda place: parsers.integer(place.name) or 0)


def _listed(folder: Path, links: str) -> list[Location]:
    return [entry.location for place in _versions(folder, links) or [folder] for entry in files(str(place), links)]


def _source(place: Location, run: RunInfo, split: str | None) -> Source:
    folder = Path(place.path).parent
    has_versions = folder.parent.name in SPLITS or str(folder.parent) in (part.path for part in run.parts)
    step = parsers.integer(folder.name) if has_versions else None
    return source_at(run, place, split=split, step=step)
