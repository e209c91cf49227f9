"""The Tinker cookbook: the `log_path` of a run, `*_rollout_summaries.jsonl` and the files beside them.

Source: the cookbook's git history and its releases to 0.6.1 (`rl/rollout_logging.py`, `rl/train.py`,
`stores/training_store.py`), and runs of it. A trajectory is a sample. Its text is available if the environment logged
it, if a branch of the cookbook (schema 3) stores it, or if a logtree's text certainly belongs to it.
"""

import contextlib
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from rolloupe.formats.reading import fields
from rolloupe.formats.reading.files import alone, file_of, files, is_one_file, links_of, plain_name
from rolloupe.formats.reading.jsonl import JsonlFormat
from rolloupe.formats.reading.line_reader import parse, strip_bom
from rolloupe.formats.reading.peek import Peek, first_looks, look
from rolloupe.formats.reading.records import Record, Unusable, step_of
from rolloupe.formats.reading.trainer_files import read_bytes
from rolloupe.formats.registry import by_name
from rolloupe.formats.tinker import turns as tinker_turns
from rolloupe.formats.tinker.logs import ROLLOUTS, TREE, StepLog, has_log, tied_to
from rolloupe.formats.tinker.run_files import (
    CHECKPOINTS,
    CONFIG,
    DIFF,
    ITERATION,
    METRICS,
    NOT_SAMPLES,
    StepFile,
    TinkerFiles,
    find,
    of_file,
)
from rolloupe.model import Location, Locator, RunInfo, RunPart, Sample, SampleRow, Scanned, Source
from rolloupe.storage import is_file, path_state

SUFFIX = (".jsonl",)

_IDENTITY = {"group_idx", "traj_idx", "total_reward"}
_TELLING = {"traj_idx", "total_reward", "steps", "conversation"}
"""An object without any of these is not a sample, even if a person asked for this format."""


def _split(value: object) -> str | None:
    split = fields.name(value)
    return split if split == "train" or (split and split.removeprefix("eval/") not in ("", split)) else None


_READ: dict[str, Callable[[Any], object]] = {
    "group_idx": fields.name,
    "traj_idx": fields.name,
    "iteration": fields.integer,
    "total_reward": fields.number,
    "final_reward": fields.number,
    "sampling_client_step": fields.number,
    "trajectory_metrics": lambda _: None,
    "steps": lambda _: None,
    "discarded": fields.reason,
    "uid": fields.name,
    "trace_id": fields.name,
    "advantage": fields.number,
    "label": lambda value: value if isinstance(value, str) else None,
    "split": _split,
}
"""The keys with a place of their own, and their readers: a value that its reader rejects becomes an extra field."""

_METRICS = {"progress/batch", "progress/done_frac", "training_client/step", "train_mean_nll"}
_METRICS_BEGIN = ("env/all/", "optim/kl_sample_train")


class Tinker(TinkerFiles, JsonlFormat):
    """Rollout summaries of the Tinker cookbook."""

    name = "tinker"
    title = "Tinker cookbook"

    def detect(self, path: Path, *, forced: bool = False, link_root: str = "") -> list[RunInfo]:
        links = link_root or str(path.resolve())
        if not is_one_file(path):
            return (
                self._log_path(path, links, forced=forced)
                or self._other_names(path, links, forced=forced)
                or self._without_rollouts(path, links)
            )
        seen = look(alone(path))
        if plain_name(path.name).endswith(METRICS) and _are_metrics(seen):
            name = _name_of(plain_name(path.name).removesuffix(METRICS), path.parent)
            return [self._run_at(path, "metrics of the cookbook, one file", "", name)]
        if forced or _fits([seen]):
            return [self._run_at(path, "one file, rows have group_idx and total_reward", "", path.stem)]
        return []

    def _log_path(self, folder: Path, links: str, *, forced: bool) -> list[RunInfo]:
        step_files = find(str(folder), links)
        rollouts = [file for file in step_files if file.kind == "rollouts"]
        if not step_files or (ITERATION.fullmatch(folder.name) and not rollouts):
            return []
        looks = first_looks([file.location for file in rollouts]).values()
        if not (forced or _fits(looks) or not any(seen.objects for seen in looks)):
            return []
        if not rollouts:
            steps = len({file.step for file in step_files})
            reason = f"logs of {steps} step{'s' if steps > 1 else ''} under the names of the cookbook, no rollouts"
            return [self._run_at(folder, reason, links)]
        layouts = {file.flat: file for file in rollouts}
        places = ["{split}_iteration_{step}"] * (True in layouts) + ["iteration_{step}/{split}"] * (False in layouts)
        number = f"{len(rollouts)} file{'s' if len(rollouts) > 1 else ''}"
        return [self._run_at(folder, f"{number} named {' or '.join(places)}{ROLLOUTS}", links)]

    def _other_names(self, folder: Path, links: str, *, forced: bool) -> list[RunInfo]:
        listed = [entry.location for entry in files(str(folder), links, SUFFIX) if not entry.name.endswith(NOT_SAMPLES)]
        if not listed or not (forced or _fits(first_looks(listed).values())):
            return []
        number = f"{len(listed)} file{'s' if len(listed) > 1 else ''}"
        reason = f"{number} of JSON lines, rows have group_idx, traj_idx and total_reward"
        return [self._run_at(folder, reason, links, parts=tuple(RunPart(place.path) for place in listed))]

    def _without_rollouts(self, folder: Path, links: str) -> list[RunInfo]:
        if by_name("generic").detect(folder, link_root=links):
            return []  # samples of any other log, and a folder is one format's
        begun = [plain_name(entry.name).removesuffix(METRICS) for entry in files(str(folder), links, (METRICS,))]
        runs = []
        for prefix in [""] if "" in begun else begun:
            place = file_of(str(folder), prefix + METRICS, links)
            if place and (_are_metrics(look(place)) or _are_ours(folder, prefix, links)):
                root = Path(place.path) if prefix else folder
                reason = f"{prefix}{METRICS} of the cookbook, no rollouts so far"
                runs.append(self._run_at(root, reason, links, _name_of(prefix, folder)))
        return runs

    def sources(self, run: RunInfo) -> list[Source]:
        """Attempts are ordered by name: files that a newer layout replaced come first."""
        step_files: list[StepFile] = []
        for part in run.parts:
            if not is_file(part.path):
                step_files += find(part.path, links_of(run), ("rollouts", "tree"))
            elif not plain_name(part.path).endswith(NOT_SAMPLES):
                step_files.append(of_file(Path(part.path), links_of(run)))
        logs = {plain_name(file.location.path): file.location.path for file in step_files if file.kind == "tree"}
        rollouts = [file for file in step_files if file.kind == "rollouts"]
        newer = {(file.split, file.step) for file in rollouts if not file.flat}
        sources = []
        for file in rollouts:
            is_replaced = file.flat and (file.split, file.step) in newer
            name = f"./{file.name}" if is_replaced else file.name
            path, root = file.location
            source = Source(path=path, name=name, split=file.split, step=file.step, root=root)
            with contextlib.suppress(OSError):
                if log := logs.get(plain_name(path).removesuffix(ROLLOUTS) + TREE):
                    state = path_state(log)
                    texts_from = f"{state.st_size:x}-{state.st_mtime_ns:x}"  # no inode, which mounts change
                    source = replace(source, texts_from=texts_from, texts_bytes=state.st_size)
            sources.append(source)
        return sources

    def row(self, source: Source, record: Record, start: int, length: int) -> SampleRow:
        if record.keys().isdisjoint(_TELLING):
            raise Unusable("an object without total_reward, steps or traj_idx is no sample")
        step_records = tinker_turns.steps_of(record)
        step = step_of(record.get("iteration"))
        status, status_raw = tinker_turns.status(record)
        tags, named_tags = _tags(record), fields.as_dict(record.get("named_tags"))
        turns = tinker_turns.turns_in(record)[0]
        prompt, response = tinker_turns.texts_of(turns)
        lengths = [count for step in step_records if (count := fields.count(step.get("ac_len"))) is not None]
        ends = [step_records[-1].get(key) for key in ("ob_len", "ac_len")] if step_records else []
        last = [count for value in ends if (count := fields.count(value)) is not None]
        return SampleRow(
            split=_split(record.get("split")) or source.split or "train",
            step=step if step is not None else (source.step or 0),
            group=fields.name(record.get("group_idx")) or fields.digest(prompt),
            index=fields.name(record.get("traj_idx")) or str(start),
            ordinal=start,
            start=start,
            length=length,
            reward=fields.number(record.get("total_reward")),
            status=status,
            status_raw=status_raw,
            turns=len(step_records) if isinstance(record.get("steps"), list) else 1,
            prompt_tokens=fields.count(step_records[0].get("ob_len")) if step_records else None,
            response_tokens=fields.count(sum(lengths)) if lengths else None,
            total_tokens=fields.count(sum(last)) if len(last) == 2 else None,
            # the first tag, unless all tags are also written by name
            env=fields.name(tags[0]) or "" if len(tags) > len(named_tags) else "",
            advantage=fields.number(record.get("advantage")),
            uid=fields.name(record.get("uid")) or "",
            trace_id=fields.name(record.get("trace_id")) or "",
            discarded=fields.reason(record.get("discarded")) or "",
            metrics=tinker_turns.numbers(record)
            | fields.numbers({key: record.get(key) for key in ("final_reward", "sampling_client_step")}),
            tags=fields.tags(named_tags) or fields.tags({"tags": ", ".join(tags)}),
            prompt=prompt,
            response=response,
            messages=tinker_turns.answers_of(turns),
        )

    def scan(self, run: RunInfo, source: Source, start: int, stop: int) -> Iterator[Scanned]:
        """The step's log supplies texts that a record lacks; its problems are reported once."""
        log = StepLog(source)
        yield from self.scanned(run, source, start, stop, log.complete)
        if start == 0:
            yield from log.problems

    def sample(self, record: Record, row: SampleRow, locator: Locator) -> Sample:
        turns, placed = tinker_turns.turns_in(record)
        conversation = fields.messages(record.get("conversation"))
        pairs = [*zip(conversation, turns, strict=True)] if conversation and len(conversation) == len(turns) else []
        of_prompt, of_response = ([m for m, turn in pairs if turn.origin == kind] for kind in ("prompt", "response"))
        return Sample(
            key=row.key,
            row=row,
            locator=locator,
            turns=turns,
            prompt_text=row.prompt,
            response_text=row.response,
            prompt_messages=of_prompt or None,
            response_messages=of_response or None,
            label=label if isinstance(label := record.get("label"), str) else "",
            extra=_extra(record, row) | ({} if placed else {"steps": fields.showable(record.get("steps"))}),
            notes=[] if placed else ["the conversation has fewer answers than there are steps: see the extra fields"],
        )

    def load(self, run: RunInfo, source: Source, locator: Locator) -> Sample:
        """Load a sample, with the conversation logged beside the rollouts if it belongs to this sample."""
        sample = super().load(run, source, locator)
        record = self.prepared(run, parse(strip_bom(self.raw(source, locator), locator.start)))
        row, tied = sample.row, None
        if tinker_turns.lacks_prompt(sample.turns):
            tied = tied_to(run, source.path, row.split, row.step, record)
        turns = tinker_turns.with_log(sample.turns, record, tied) if tied else None
        if tied and turns is not None:
            sample.turns = turns
            sample.prompt_text, sample.response_text = row.prompt, row.response = tinker_turns.texts_of(turns)
            row.messages = tinker_turns.answers_of(turns)
            what = "the conversation" if tied.whole else "the prompt"
            sample.notes.append(f"{what} is from the step's log: {tied.reason}")
        if not any(turn.parts for turn in sample.turns):
            where = "; what it logged for the step is in the report" if has_log(run, source.path) else ""
            sample.notes.append(f"the trainer logged no text for this sample{where}")
        return sample


# What files are


def _fits(looks: Iterable[Peek]) -> bool:
    return any(record.keys() >= _IDENTITY for seen in looks for record in seen.objects)


def _are_metrics(seen: Peek) -> bool:
    return any(
        fields.integer(record.get("step")) is not None
        and any(key in _METRICS or key.startswith(_METRICS_BEGIN) for key in record)
        for record in seen.objects
    )


def _are_ours(folder: Path, prefix: str, links: str) -> bool:
    """Return whether files beside the metrics are among those that the cookbook writes."""
    names = {entry.name for entry in files(str(folder), links, (CONFIG, CHECKPOINTS, DIFF))}
    if not prefix and not names.isdisjoint((CONFIG, CHECKPOINTS)):
        return True
    place = Location(str(folder / (prefix + CHECKPOINTS)), links)
    saved = look(place).objects if prefix + CHECKPOINTS in names else ()
    if any(str(value).startswith("tinker://") for record in saved for value in record.values()):
        return True
    diff = Location(str(folder / (prefix + DIFF)), links)
    return prefix + DIFF in names and read_bytes(diff, 16).startswith((b"### repo:", b"### module:"))


def _name_of(prefix: str, folder: Path) -> str:
    return prefix.strip("_-. ") or folder.name


# What a record holds


def _tags(record: Record) -> list[str]:
    tags = record.get("tags")
    return tags if isinstance(tags, list) and all(isinstance(tag, str) for tag in tags) else []


def _extra(record: Record, row: SampleRow) -> dict[str, Any]:
    """Return every member, or the rest of it, that neither the row nor a turn shows."""
    extra = {}
    for key, value in record.items():
        if key == "trajectory_metrics" and isinstance(value, dict):
            if rest := {k: v for k, v in value.items() if v is not None and fields.number(v) is None}:
                extra[key] = fields.showable(rest)
        elif key == "steps" and isinstance(value, list):
            if odd := [entry for entry in value if not isinstance(entry, dict)]:
                extra[key] = fields.showable(odd)
        elif not _is_shown(key, value, record, row):
            extra[key] = fields.showable(value)
    return extra


def _is_shown(key: str, value: object, record: Record, row: SampleRow) -> bool:
    if key in _READ:
        return value is None or _READ[key](value) is not None
    if key == "tags":
        return value is None or (bool(_tags(record)) and bool(row.tags)) or value == []
    if key in ("status", "stop_reason"):
        return value is None or value == row.status_raw
    if key == "named_tags":
        return value == row.tags
    return key == "conversation" and (value is None or fields.is_messages(value))
