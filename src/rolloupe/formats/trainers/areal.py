"""The trajectories that AReaL dumps: a folder a weight version, a file of JSON lines a task.

Source: `WorkflowExecutor._dump_trajectory`. There may be thousands of files of a few lines.
"""

from pathlib import Path
from typing import ClassVar

from rolloupe.formats.reading import fields
from rolloupe.formats.reading.files import FolderEntry, alone, files, folders, is_one_file, links_of, stem
from rolloupe.formats.reading.jsonl import JsonlFormat
from rolloupe.formats.reading.peek import look_into
from rolloupe.formats.reading.records import Record, Unusable, step_of
from rolloupe.formats.trainers.own_names import OwnNames
from rolloupe.model import Location, RunInfo, RunPart, SampleRow, Source
from rolloupe.storage import is_file

SPLITS = {"rollout": None, "eval-rollout": "eval/rollout"}
"""The folders of a trial, and the splits of their samples."""

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
        "step = `tail_version`, the newest weights that sampled it, which is not the trainer's step; group = "
        "`task_id`; index = `{file}:{byte offset}`. Split `train`, or `eval/rollout` below `eval-rollout/`."
    )
    reads = (
        ("`prompt`, `completion`", "turns, special tokens included"),
        ("`reward`", "the reward"),
        ("`seqlen`, `prompt_len`", "token counts"),
        ("`head_version`, `sample_idx`", "sample metrics; `head_version` may be -1"),
        ("any other key", "extra"),
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
        row.step = version if version is not None else source.step or 0
        return row


def _fits(record: Record) -> bool:
    return record.keys() >= _OWN


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
    return Source(path=place.path, name=name, root=place.root, split=split, step=fields.integer(path.parent.name))
