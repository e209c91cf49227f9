"""The trajectories that AReaL dumps: a folder a weight version, a file of JSON lines a task.

Source: `WorkflowExecutor._dump_trajectory`. There may be thousands of files of a few lines. From June 2026 on, the
folder is named by the newest weights of its batch, a trajectory may be of older ones, and several turns are `segments`.
"""

from pathlib import Path
from typing import Any, ClassVar

from rolloupe import text
from rolloupe.formats.reading import fields
from rolloupe.formats.reading.files import FolderEntry, alone, files, folders, is_one_file, links_of, stem
from rolloupe.formats.reading.jsonl import JsonlFormat
from rolloupe.formats.reading.peek import look_into
from rolloupe.formats.reading.records import Record, Unusable, step_of
from rolloupe.formats.trainers.own_names import OwnNames
from rolloupe.model import Location, Locator, RunInfo, RunPart, Sample, SampleRow, Source, Turn
from rolloupe.storage import is_file

SPLITS = {"rollout": None, "eval-rollout": "eval/rollout"}
"""The folders of a trial, and the splits of their samples."""

ROLES = {"prompt": "user", "gen": "assistant", "context": "tool"}
"""Whose the segments are: what the environment says is a tool's, unless a template says more."""

_OWN = {"task_id", "tail_version", "prompt", "completion", "reward"}


class AReaL(OwnNames, JsonlFormat):
    """Trajectories of AReaL."""

    name = "areal"
    title = "AReaL"
    names: ClassVar[dict[str, str]] = {
        "prompt": "prompt", "response": "completion", "score": "reward", "step": "tail_version", "group": "task_id",
    }  # fmt: skip
    counts: ClassVar[dict[str, str]] = {"prompt": "prompt_len", "total": "seqlen"}
    recognises = "Lines with `task_id`, `tail_version`, `prompt`, `completion` and `reward`."
    layout = (
        "`{fileroot}/logs/{user}/{experiment}/{trial}/rollout/{tail_version}/{task_id}.jsonl`, and `eval-rollout/` "
        "beside `rollout/`; open the trial, one of these folders or one file. "
        "[frameworks/areal.md](frameworks/areal.md) has the switches."
    )
    identity = (
        "step = the folder's version, the newest weights that sampled its batch, else `tail_version`, the newest that "
        "sampled the trajectory: it is not the trainer's step; group = `task_id`; index = `{file}:{byte offset}`. "
        "Split `train`, or `eval/rollout` below `eval-rollout/`."
    )
    reads = (
        ("`prompt`, `completion`", "turns, special tokens included"),
        (
            "`segments` of several turns",
            (
                "where turns may begin: outside of what was generated. Without a chat template each is a turn, with "
                "its number of tokens"
            ),
        ),
        ("`reward`", "the reward"),
        ("`seqlen`, `prompt_len`", "token counts"),
        (
            "`head_version`, `tail_version`, `original_reward`, `sample_idx`",
            "sample metrics; `head_version` may be -1, `tail_version` if it is not the step",
        ),
        ("any other key, `version_rle`", "extra"),
    )
    limits = (
        "The files hold no token ids, logprobs, advantages or status, and no sample whose last token is masked, which "
        "AReaL leaves out."
    )

    def detect(self, path: Path, *, forced: bool = False, link_root: str = "") -> list[RunInfo]:
        """See `Format`."""
        links = link_root or str(path.resolve())
        parts = [path] if is_one_file(path) else _parts(path, links)
        places = (
            [alone(path)] if is_one_file(path) else [one.location for part in parts for one in _listed(part, links)]
        )
        found = (record for _, seen in look_into(places) for record in seen.objects)
        if not places or not (forced or any(map(_fits, found))):
            return []
        number = "one file" if len(places) == 1 else f"{len(places):,} files"
        return [
            RunInfo(
                name=stem(path.name) if is_one_file(path) else _name_of(path), root=str(path), format=self.name,
                reason=f"{number} of AReaL: steps are weight versions, groups are tasks",
                parts=tuple(RunPart(str(part), SPLITS.get(part.name)) for part in parts),
                link_root="" if is_one_file(path) else links,
            )
        ]  # fmt: skip

    def sources(self, run: RunInfo) -> list[Source]:
        """See `Format`."""
        if is_file(run.root):
            return [_source(Location(run.root, links_of(run)), run, None)]
        listed = ((one.location, part.split) for part in run.parts for one in _listed(Path(part.path), links_of(run)))
        return [_source(place, run, split) for place, split in listed]

    def row(self, source: Source, record: Record, start: int, length: int) -> SampleRow:
        """See `RecordFormat`."""
        if "completion" not in record:
            raise Unusable("a line without a completion is no trajectory")
        row = super().row(source, record, start, length)
        if row.total_tokens is not None and row.prompt_tokens is not None:
            row.response_tokens = max(0, row.total_tokens - row.prompt_tokens)
        version = step_of(record.get("tail_version"))
        if source.step is None:
            row.step = version or 0
        else:
            row.step = source.step
            if version not in (None, source.step):
                row.metrics["tail_version"] = float(version or 0)
        row.turns = max(1, sum(one["role"] == "gen" for one in _segments(record)))
        return row

    def sample(self, record: Record, row: SampleRow, locator: Locator) -> Sample:
        """See `RecordFormat`."""
        sample = super().sample(record, row, locator)
        if segments := _segments(record):
            asked = [turn for turn in sample.turns if turn.origin == "prompt"]
            sample.turns = [*asked, *_response_turns(fields.as_text(record.get("completion")), segments)]
            sample.extra = sample.extra | {
                "segments": [{k: v for k, v in one.items() if k != "text"} for one in segments]
            }
        return sample


def _fits(record: Record) -> bool:
    return record.keys() >= _OWN


def _segments(record: Record) -> list[dict[str, Any]]:
    """The segments of a trajectory of several turns; none if one of them is no segment."""
    found = record.get("segments")
    listed = found if isinstance(found, list) else []
    is_whole = all(isinstance(one, dict) and isinstance(one.get("text"), str) for one in listed)
    return listed if is_whole and all(one.get("role") in ("prompt", "gen", "context") for one in listed) else []


def _response_turns(completion: str, segments: list[dict[str, Any]]) -> list[Turn]:
    """The turns of a completion: by its template, which begins none within what was generated, else by segments."""
    places: set[int] = set()
    at = 0
    for one in segments:
        if one["role"] == "prompt":
            continue
        start = completion.find(one["text"], at)
        if start < 0:  # a character that two segments share
            return text.split_response(completion)
        at = start + len(one["text"])
        if one["role"] == "context":
            places.update(place for place in range(start, at) if completion[place] in "<[")
    turns = text.split_response(completion, places)
    if len(turns) > 1:
        return turns
    return [
        Turn(
            role=role, parts=text.parts(one["text"], role), origin="response",
            tokens=fields.count(one.get("len")),
        )
        for one in segments if (role := ROLES[one["role"]]) != "user"
    ]  # fmt: skip


def _parts(folder: Path, links: str) -> list[Path]:
    """The folders with versions: of a trial its two, else this one itself."""
    below = [Path(one.path) for one in folders(str(folder), links) if one.name in SPLITS]
    return [one for one in below if _versions(one, links)] or [folder]


def _versions(folder: Path, links: str) -> list[Path]:
    found = [Path(one.path) for one in folders(str(folder), links) if one.name.isdecimal()]
    return sorted(found, key=lambda one: fields.integer(one.name) or 0)


def _listed(folder: Path, links: str) -> list[FolderEntry]:
    return [one for place in _versions(folder, links) or [folder] for one in files(str(place), links)]


def _name_of(folder: Path) -> str:
    return folder.parent.name if folder.name in SPLITS and folder.parent.name else folder.name


def _source(place: Location, run: RunInfo, split: str | None) -> Source:
    path = Path(place.path)
    name = path.name if place.path == run.root else path.relative_to(run.root).as_posix()
    above = path.parent.parent
    has_versions = above.name in SPLITS or str(above) in (part.path for part in run.parts)
    step = fields.integer(path.parent.name) if has_versions else None
    return Source(path=place.path, name=name, root=place.root, split=split, step=step)
