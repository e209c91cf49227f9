"""The trajectories that AReaL dumps: a folder for each weight version, with a file of JSON lines for each task.

Source: `WorkflowExecutor._dump_trajectory`. There may be thousands of files of a few lines. From June 2026 on, the
newest weights of a batch name the folder, a trajectory may come from older weights, and several turns are `segments`.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar

from rolloupe import text
from rolloupe.formats.generic.rows import OwnNames
from rolloupe.formats.reading import value_parsers as parsers
from rolloupe.formats.reading.files import file_count, files, folders, source_at
from rolloupe.formats.reading.jsonl import JsonlFormat
from rolloupe.formats.reading.records import Record, Unusable, step_of
from rolloupe.model import Location, Locator, RunInfo, RunPart, Sample, SampleRow, Source, Turn

SPLITS = {"rollout": None, "eval-rollout": "eval/rollout"}
"""The folders of a trial, and the splits of their samples."""

ROLES = {"prompt": "user", "gen": "assistant", "context": "tool"}
"""The roles of segments. Text of the environment is a tool's, unless a template names its role."""


class AReaL(OwnNames, JsonlFormat):
    """Trajectories of AReaL."""

    name = "areal"
    title = "AReaL"
    needed = frozenset(("task_id", "tail_version", "prompt", "completion", "reward"))
    names: ClassVar[dict[str, str]] = {
        "prompt": "prompt", "response": "completion", "score": "reward", "step": "tail_version", "group": "task_id",
    }  # fmt: skip
    counts: ClassVar[dict[str, str]] = {"prompt": "prompt_len", "total": "seqlen"}

    def parts(self, folder: Path, links: str) -> list[RunPart]:
        named = [Path(entry.path) for entry in folders(str(folder), links) if entry.name in SPLITS]
        own = [place for place in named if _versions(place, links)] or [folder]
        return [RunPart(str(place), SPLITS.get(place.name)) for place in own]

    def locations(self, folder: str, links: str) -> list[Location]:
        places = _versions(Path(folder), links) or [Path(folder)]
        return [entry.location for place in places for entry in files(str(place), links)]

    def reason(self, locations: Sequence[Location]) -> str:
        return f"{file_count(locations)} of AReaL: steps are weight versions, groups are tasks"

    def source(self, run: RunInfo, part: RunPart, location: Location) -> Source:
        folder = Path(location.path).parent
        has_versions = folder.parent.name in SPLITS or str(folder.parent) in (part.path for part in run.parts)
        step = parsers.integer(folder.name) if has_versions else None
        return source_at(run, location, split=part.split, step=step)

    def row(self, source: Source, record: Record, start: int, length: int) -> SampleRow:
        if "completion" not in record:
            raise Unusable("a line without a completion is not a trajectory")
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
    """The segments of a trajectory of several turns; empty if an entry is not a segment."""
    listed = parsers.as_list(record.get("segments"))
    segments = [segment for segment in parsers.dicts(listed) if isinstance(segment.get("text"), str)]
    are_whole = len(segments) == len(listed) and all(segment.get("role") in tuple(ROLES) for segment in segments)
    return segments if are_whole else []


def _response_turns(completion: str, segments: list[dict[str, Any]]) -> list[Turn]:
    """The turns of a completion: by its template, which begins no turn within generated text, else by segments."""
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
