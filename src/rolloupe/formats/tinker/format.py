"""The Tinker cookbook: the `log_path` of a run, `*_rollout_summaries.jsonl` and the files beside them.

The files of a step are flat until March 2026, `{base}_iteration_{step:06d}{suffix}`; since then they are
`iteration_{step:06d}/{base}{suffix}`. `base` is `train` or `eval_{label}`. A run that continued after an upgrade has
both.

Source: the cookbook's git history and its releases to 0.6.1 (`rl/rollout_logging.py`, `rl/train.py`,
`stores/training_store.py`), and runs of it. A trajectory is a sample. Its text is available if the environment logged
it, if a branch of the cookbook (schema 3) stores it, or if a logtree's text certainly belongs to it.
"""

import contextlib
import os
import re
from collections.abc import Callable, Collection, Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, Literal, NamedTuple

from msgspec.structs import replace

from rolloupe import model
from rolloupe.errors import UnreadablePath
from rolloupe.formats.base import StepReport, TranscriptQuery
from rolloupe.formats.reading import jsonl, line_reader, logtree
from rolloupe.formats.reading import trainer_files as trainer
from rolloupe.formats.reading import value_parsers as parsers
from rolloupe.formats.reading.files import (
    FolderEntry,
    alone,
    counted,
    file_of,
    files,
    folders,
    is_one_file,
    links_of,
    plain_name,
)
from rolloupe.formats.reading.peek import Peek, first_looks, look
from rolloupe.formats.reading.records import Record, Unusable, step_in
from rolloupe.formats.registry import by_name
from rolloupe.formats.tinker import logs as step_logs
from rolloupe.formats.tinker import turns as tinker_turns
from rolloupe.storage import is_below, is_file, is_folder, path_state

MAX_SEARCHED_BYTES = 32 * 2**20
"""A longer log is not searched, so that an abandoned search ends soon."""

Kind = Literal["rollouts", "tree", "page"]

SUFFIXES: dict[str, Kind] = {step_logs.ROLLOUTS: "rollouts", step_logs.TREE: "tree", step_logs.PAGE: "page"}
ITERATION = re.compile(r"iteration_([0-9]+)")
MAX_FILES = 50_000

METRICS, CONFIG, CHECKPOINTS, DIFF = "metrics.jsonl", "config.json", "checkpoints.jsonl", "code.diff"

_SUFFIX = "|".join(re.escape(suffix) for suffix in SUFFIXES)
_FLAT = re.compile(
    rf"(?P<base>train|eval_(?P<label>.+))_iteration_(?P<step>[0-9]{{6,}})(?P<suffix>{_SUFFIX})", re.DOTALL
)
"""Greedy: a label may contain `_iteration_000001`, so the last occurrence counts."""

_INSIDE = re.compile(rf"(?P<base>train|eval_(?P<label>.+?))(?P<suffix>{_SUFFIX})", re.DOTALL)

NOT_SAMPLES = (METRICS, CHECKPOINTS, "timing_spans.jsonl", "trace_events.jsonl")
_ITEMS: dict[Kind, str] = {"rollouts": "rollouts", "tree": "log, as a tree", "page": "log, as a page"}
_WHAT = {
    METRICS: "metrics", CONFIG: "configuration", CHECKPOINTS: "checkpoints", DIFF: "changes of the code",
    "logs.log": "log", "timing_spans.jsonl": "timing", "trace_events.jsonl": "trace",
    "timing_gantt.html": "timing chart", "metrics.jsonl.pre_resume": "metrics before a resume",
}  # fmt: skip
_NUMBERED = re.compile(r"_[0-9]+(?=\.html\Z|\Z)")
"""The number in the name of a chart, or of metrics before a resume."""


class StepFile(NamedTuple):
    """A file that belongs to a step, as its name declares. `name` is its path relative to the run's folder."""

    location: model.Location
    name: str
    kind: Kind
    split: str | None
    step: int | None
    flat: bool


def find(folder: str, link_root: str, kinds: Collection[Kind] = ("rollouts", "tree", "page")) -> list[StepFile]:
    """List the files of a run by step and split, those of the older layout first."""
    suffixes = tuple(suffix for suffix, kind in SUFFIXES.items() if kind in kinds)
    step_files: list[StepFile] = []
    for place, before in _folders(folder, link_root):
        step, listed = _iteration(os.path.basename(place)), files(place, link_root, suffixes)
        named = (_named(entry, before + entry.name, step, is_at_top=not before) for entry in listed)
        step_files += filter(None, named)
    return sorted(step_files, key=lambda f: (-1 if f.step is None else f.step, f.split or "", not f.flat, f.name))


def _folders(folder: str, link_root: str) -> list[tuple[str, str]]:
    """The folders with files of a run, and the prefixes that they add to names."""
    below = [(entry.path, f"{entry.name}/") for entry in folders(folder, link_root) if ITERATION.fullmatch(entry.name)]
    return [(folder, ""), *below]


def _iteration(name: str) -> int | None:
    match = ITERATION.fullmatch(name)
    return parsers.integer(match[1]) if match else None


def of_file(path: Path, root: str) -> StepFile:
    """Identify a file of samples by its name and its folder's."""
    entry = FolderEntry(path.name, str(path), False, 0, root)
    named = _named(entry, path.name, _iteration(path.parent.name), is_at_top=True)
    return named or StepFile(entry.location, path.name, "rollouts", None, None, False)


def _named(entry: FolderEntry, name: str, step: int | None, *, is_at_top: bool) -> StepFile | None:
    """Identify a file by its name; `step` is that of the folder around it."""
    plain = plain_name(entry.name)
    flat = _FLAT.fullmatch(plain) if is_at_top else None
    number = parsers.integer(flat["step"]) if flat else None
    match = _INSIDE.fullmatch(plain) if number is None else flat
    if match is None and not plain.endswith(step_logs.ROLLOUTS):
        return None
    split = None if match is None else "train" if match["base"] == "train" else f"eval/{match['label']}"
    kind = SUFFIXES[match["suffix"]] if match else "rollouts"
    step = step if number is None else number
    is_lost = is_at_top and step is None and kind != "rollouts"  # a log without a step
    return None if is_lost else StepFile(entry.location, name, kind, split, step, number is not None)


SUFFIX = (".jsonl",)

_IDENTITY = {"group_idx", "traj_idx", "total_reward"}
_TELLING = {"traj_idx", "total_reward", "steps", "conversation"}
"""An object with none of these keys is not a sample, even if a person asked for this format."""


def _split(value: object) -> str | None:
    split = parsers.name(value)
    return split if split == "train" or (split and split.removeprefix("eval/") not in ("", split)) else None


_READ: dict[str, Callable[[Any], object]] = {
    **dict.fromkeys(("group_idx", "traj_idx", "uid", "trace_id"), parsers.name),
    **dict.fromkeys(("total_reward", "final_reward", "sampling_client_step", "advantage"), parsers.number),
    **dict.fromkeys(("trajectory_metrics", "steps"), lambda _: None),
    "iteration": parsers.integer,
    "discarded": parsers.reason,
    "label": lambda value: value if isinstance(value, str) else None,
    "split": _split,
}
"""The keys with a place of their own, and their readers: a value that its reader rejects becomes an extra field."""

_METRICS = {"progress/batch", "progress/done_frac", "training_client/step", "train_mean_nll"}
_METRICS_BEGIN = ("env/all/", "optim/kl_sample_train")


class Tinker(jsonl.JsonlFormat):
    """Rollout summaries of the Tinker cookbook."""

    name = "tinker"
    title = "Tinker cookbook"

    def detect(self, path: Path, *, forced: bool = False, link_root: str = "") -> list[model.RunInfo]:
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

    def _log_path(self, folder: Path, links: str, *, forced: bool) -> list[model.RunInfo]:
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
        layouts = {file.flat for file in rollouts}
        places = ["{split}_iteration_{step}"] * (True in layouts) + ["iteration_{step}/{split}"] * (False in layouts)
        reason = f"{counted(rollouts)} named {' or '.join(places)}{step_logs.ROLLOUTS}"
        return [self._run_at(folder, reason, links)]

    def _other_names(self, folder: Path, links: str, *, forced: bool) -> list[model.RunInfo]:
        listed = [entry.location for entry in files(str(folder), links, SUFFIX) if not entry.name.endswith(NOT_SAMPLES)]
        if not listed or not (forced or _fits(first_looks(listed).values())):
            return []
        reason = f"{counted(listed)} of JSON lines, rows have group_idx, traj_idx and total_reward"
        return [self._run_at(folder, reason, links, parts=tuple(model.RunPart(place.path) for place in listed))]

    def _without_rollouts(self, folder: Path, links: str) -> list[model.RunInfo]:
        if by_name("generic").detect(folder, link_root=links):
            return []  # another log has samples there, and a folder belongs to one format
        begun = [plain_name(entry.name).removesuffix(METRICS) for entry in files(str(folder), links, (METRICS,))]
        runs = []
        for prefix in [""] if "" in begun else begun:
            place = file_of(str(folder), prefix + METRICS, links)
            if place and (_are_metrics(look(place)) or _are_ours(folder, prefix, links)):
                root = Path(place.path) if prefix else folder
                reason = f"{prefix}{METRICS} of the cookbook, no rollouts so far"
                runs.append(self._run_at(root, reason, links, _name_of(prefix, folder)))
        return runs

    def sources(self, run: model.RunInfo) -> list[model.Source]:
        """Attempts are ordered by name: files that the newer layout replaced come first."""
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
            source = model.Source(path=path, name=name, split=file.split, step=file.step, root=root)
            with contextlib.suppress(OSError):
                if log := logs.get(plain_name(path).removesuffix(step_logs.ROLLOUTS) + step_logs.TREE):
                    state = path_state(log)
                    texts_from = f"{state.st_size:x}-{state.st_mtime_ns:x}"  # without the inode, which mounts change
                    source = replace(source, texts_from=texts_from, texts_bytes=state.st_size)
            sources.append(source)
        return sources

    def row(self, source: model.Source, record: Record, start: int, length: int) -> model.SampleRow:
        if record.keys().isdisjoint(_TELLING):
            raise Unusable("an object without total_reward, steps or traj_idx is not a sample")
        step_records = tinker_turns.steps_of(record)
        status, status_raw = tinker_turns.status(record)
        tags, named_tags = _tags(record), parsers.as_dict(record.get("named_tags"))
        turns = tinker_turns.turns_in(record)[0]
        prompt, response = tinker_turns.texts_of(turns)
        lengths = [count for step in step_records if (count := parsers.count(step.get("ac_len"))) is not None]
        ends = [step_records[-1].get(key) for key in ("ob_len", "ac_len")] if step_records else []
        last = [count for value in ends if (count := parsers.count(value)) is not None]
        return model.SampleRow(
            split=_split(record.get("split")) or source.split or "train",
            step=step_in(source, record.get("iteration")),
            group=parsers.name(record.get("group_idx")) or parsers.digest(prompt),
            index=parsers.name(record.get("traj_idx")) or str(start),
            ordinal=start,
            start=start,
            length=length,
            reward=parsers.number(record.get("total_reward")),
            status=status,
            status_raw=status_raw,
            turns=len(step_records) if isinstance(record.get("steps"), list) else 1,
            prompt_tokens=parsers.count(step_records[0].get("ob_len")) if step_records else None,
            response_tokens=parsers.count(sum(lengths)) if lengths else None,
            total_tokens=parsers.count(sum(last)) if len(last) == 2 else None,
            # the first tag, unless all tags are also written by name
            env=parsers.name(tags[0]) or "" if len(tags) > len(named_tags) else "",
            advantage=parsers.number(record.get("advantage")),
            uid=parsers.name(record.get("uid")) or "",
            trace_id=parsers.name(record.get("trace_id")) or "",
            discarded=parsers.reason(record.get("discarded")) or "",
            metrics=tinker_turns.numbers(record)
            | parsers.numbers({key: record.get(key) for key in ("final_reward", "sampling_client_step")}),
            tags=parsers.tags(named_tags) or parsers.tags({"tags": ", ".join(tags)}),
            prompt=prompt,
            response=response,
            messages=tinker_turns.answers_of(turns),
        )

    def scan(self, run: model.RunInfo, source: model.Source, start: int, stop: int) -> Iterator[model.Scanned]:
        """The step's log supplies texts that a record lacks; its problems are reported once."""
        log = step_logs.StepLog(source)
        yield from self.scanned(run, source, start, stop, log.complete)
        if start == 0:
            yield from log.problems

    def sample(self, record: Record, row: model.SampleRow, locator: model.Locator) -> model.Sample:
        turns, placed = tinker_turns.turns_in(record)
        conversation = parsers.messages(record.get("conversation"))
        pairs = [*zip(conversation, turns, strict=True)] if conversation and len(conversation) == len(turns) else []
        of_prompt, of_response = ([m for m, turn in pairs if turn.origin == kind] for kind in ("prompt", "response"))
        return parsers.sample_with(
            row,
            locator,
            turns,
            prompt_messages=of_prompt or None,
            response_messages=of_response or None,
            label=label if isinstance(label := record.get("label"), str) else "",
            extra=_extra(record, row) | ({} if placed else {"steps": parsers.showable(record.get("steps"))}),
            notes=[] if placed else ["the conversation has fewer answers than there are steps: see the extra fields"],
        )

    def load(self, run: model.RunInfo, source: model.Source, locator: model.Locator) -> model.Sample:
        """Load a sample, with the conversation logged beside the rollouts if it belongs to this sample."""
        sample = super().load(run, source, locator)
        record = self.prepared(run, line_reader.parse(line_reader.strip_bom(self.raw(source, locator), locator.start)))
        row = sample.row
        lacks_prompt = tinker_turns.lacks_prompt(sample.turns)
        tied = step_logs.tied_to(run, source.path, row.split, row.step, record) if lacks_prompt else None
        if tied and (turns := tinker_turns.with_log(sample.turns, record, tied)) is not None:
            sample.turns = turns
            sample.prompt_text, sample.response_text = row.prompt, row.response = tinker_turns.texts_of(turns)
            row.messages = tinker_turns.answers_of(turns)
            what = "the conversation" if tied.whole else "the prompt"
            sample.notes.append(f"{what} is from the report: {tied.reason}")
            sample.report_at = tied.at
        if not any(turn.parts for turn in sample.turns):
            where = "; what it logged for the step is in the report" if step_logs.has_log(run, source.path) else ""
            sample.notes.append(f"the trainer logged no text for this sample{where}")
        return sample

    def metrics(self, run: model.RunInfo) -> list[model.MetricRow]:
        """Return the metrics. Merges late rows of evaluations, and rows that a resumed run wrote again."""
        return trainer.metrics_of(_file(run, METRICS))

    def trainer_files(self, run: model.RunInfo) -> list[model.Source]:
        return trainer.json_sources(run.root, [_file(run, name) for name in (METRICS, CONFIG, CHECKPOINTS)])

    def config(self, run: model.RunInfo) -> dict[str, Any]:
        return parsers.as_dict(trainer.read_json(_file(run, CONFIG)))

    def checkpoints(self, run: model.RunInfo) -> list[model.Checkpoint]:
        """The step of a checkpoint is its `batch`, with which training continues."""
        return trainer.checkpoints_of(trainer.records(_file(run, CHECKPOINTS)), ("name", "batch"))

    def ending(self, run: model.RunInfo) -> str:
        """The cookbook's loops end with a checkpoint named `final`."""
        checkpoints = self.checkpoints(run)
        return "" if not checkpoints else "ended" if checkpoints[-1].name == "final" else "open"

    def code_diff(self, run: model.RunInfo) -> str:
        return trainer.read_text(_file(run, DIFF), 4 * 2**20)

    def files(self, run: model.RunInfo) -> list[model.RunFile]:
        folder, prefix = _place(run)
        if folder is None:
            return trainer.described_files([(run.root, Path(run.root).name, "")])
        links = links_of(run)
        by_path = {} if prefix else {named.location.path: named for named in find(folder, links)}
        described = []
        for place, before in [(folder, "")] if prefix else _folders(folder, links):
            for entry in files(place, links, ("",)):
                what = _WHAT.get(_NUMBERED.sub("", plain_name(entry.name.removeprefix(prefix))), "")
                if named := by_path.get(entry.path):
                    of_step = "" if named.step is None else f", step {named.step}"
                    what = f"{_ITEMS[named.kind]}: {named.split or 'unknown split'}{of_step}"
                if entry.name.startswith(prefix):
                    described.append((entry.path, before + entry.name, what))
        return trainer.described_files(described[:MAX_FILES])

    def logtrees(self, run: model.RunInfo) -> list[tuple[str, int]]:
        return sorted(_logs(run), key=lambda key: (key[0] != "train", *key))

    def logtree(self, run: model.RunInfo, split: str, step: int) -> model.LogNode | None:
        """Read the JSON, else the page; if neither can be read, return an outline with the reason."""
        logs = _logs(run).get((split, step))
        return _read(logs)[1] if logs else None

    def reports(self, run: model.RunInfo) -> list[StepReport]:
        return [StepReport(*key, partial(_search, run, *key, logs)) for key, logs in _logs(run).items()]

    def report_files(self, run: model.RunInfo, split: str, step: int) -> dict[str, bytes]:
        contents: dict[str, bytes] = {}
        for named in _logs(run).get((split, step), ()):
            if named.kind not in contents:
                with contextlib.suppress(OSError, Unusable):
                    contents[named.kind] = logtree.content(named.location)
        return contents

    def conversations(self, run: model.RunInfo, split: str, step: int) -> list[model.LoggedTranscript]:
        return self._conversations(run, split, step).loose

    def all_conversations(self, run: model.RunInfo, split: str, step: int) -> list[model.LoggedTranscript]:
        whole = self._conversations(run, split, step)
        shown = [
            model.LoggedTranscript(
                split=split,
                step=step,
                title=f"group {group}, trajectory {index}{'' if tied.whole else ': the prompt'}",
                turns=tied.turns,
                sample=str(model.SampleKey(split, step, group, index)),
            )
            for (group, index), tied in whole.tied.items()
        ]
        return whole.loose + shown

    def _conversations(self, run: model.RunInfo, split: str, step: int) -> step_logs.Joined:
        named, root, _ = _read(_logs(run).get((split, step), []))
        whole = None
        if named and named.kind == "tree":
            path = named.location.path
            rollouts = step_logs.beside(path, step_logs.TREE, step_logs.ROLLOUTS)
            whole = step_logs.joined(run, path, rollouts, split, step)
        return whole or step_logs.join(root, [], split, step)


def _fits(looks: Iterable[Peek]) -> bool:
    return any(record.keys() >= _IDENTITY for seen in looks for record in seen.objects)


def _are_metrics(seen: Peek) -> bool:
    return any(
        parsers.integer(record.get("step")) is not None
        and any(key in _METRICS or key.startswith(_METRICS_BEGIN) for key in record)
        for record in seen.objects
    )


def _are_ours(folder: Path, prefix: str, links: str) -> bool:
    """Return whether files beside the metrics are among those that the cookbook writes."""
    config, checkpoints, diff = (file_of(str(folder), prefix + name, links) for name in (CONFIG, CHECKPOINTS, DIFF))
    if not prefix and (config or checkpoints):
        return True
    saved = look(checkpoints).objects if checkpoints else ()
    if any(str(value).startswith("tinker://") for record in saved for value in record.values()):
        return True
    return trainer.read_bytes(diff, 16).startswith((b"### repo:", b"### module:"))


def _name_of(prefix: str, folder: Path) -> str:
    return prefix.strip("_-. ") or folder.name


def _tags(record: Record) -> list[str]:
    tags = record.get("tags")
    return tags if isinstance(tags, list) and all(isinstance(tag, str) for tag in tags) else []


def _extra(record: Record, row: model.SampleRow) -> dict[str, Any]:
    extra = {}
    for key, value in record.items():
        rest = value
        if key == "trajectory_metrics" and isinstance(value, dict):
            rest = {k: v for k, v in value.items() if v is not None and parsers.number(v) is None}
        elif key == "steps" and isinstance(value, list):
            rest = [entry for entry in value if not isinstance(entry, dict)]
        elif _is_shown(key, value, record, row):
            continue
        if rest or rest is value:
            extra[key] = parsers.showable(rest)
    return extra


def _is_shown(key: str, value: object, record: Record, row: model.SampleRow) -> bool:
    if key in _READ:
        return value is None or _READ[key](value) is not None
    if key == "tags":
        return value is None or (bool(_tags(record)) and bool(row.tags)) or value == []
    if key in ("status", "stop_reason"):
        return value is None or value == row.status_raw
    if key == "named_tags":
        return value == row.tags
    return key == "conversation" and (value is None or parsers.is_messages(value))


def _place(run: model.RunInfo) -> tuple[str | None, str]:
    """Return the folder of a run, and the prefix of its files' names. No folder if one file was opened alone."""
    if is_folder(run.root):
        return run.root, ""
    folder, name = os.path.split(plain_name(run.root))
    if name.endswith(METRICS) and is_below(folder, links_of(run)):
        return folder, name.removesuffix(METRICS)
    return None, ""


def _file(run: model.RunInfo, name: str) -> model.Location | None:
    folder, prefix = _place(run)
    if folder is None:
        is_metrics = name == METRICS and plain_name(run.root).endswith(METRICS)
        return model.Location(run.root, links_of(run)) if is_metrics else None
    return file_of(folder, prefix + name, links_of(run))


def _logs(run: model.RunInfo) -> dict[tuple[str, int], list[StepFile]]:
    """Return the logs of each split and step: the newer layout before the older, trees before pages."""
    folder, prefix = _place(run)
    by_step: dict[tuple[str, int], list[StepFile]] = {}
    for file in find(folder, links_of(run), ("tree", "page")) if folder is not None and not prefix else []:
        if file.split is not None and file.step is not None:
            by_step.setdefault((file.split, file.step), []).append(file)
    return {key: sorted(logs, key=lambda file: (file.flat, file.kind == "page")) for key, logs in by_step.items()}


def _read(
    logs: list[StepFile], query: TranscriptQuery | None = None
) -> tuple[StepFile | None, model.LogNode, list[str]]:
    """Read the first readable log, and say why earlier logs could not be read.

    A query skips a tree without its word; a tree that is too long ends the search. Its page is not searched instead:
    samples show the contents of the tree, and positions in a page differ.
    """
    reasons = []
    for named in logs:
        is_tree = named.kind == "tree"
        check = query.check if query else logtree.unchecked
        limit = logtree.MAX_PAGE_BYTES if not is_tree else MAX_SEARCHED_BYTES if query else logtree.MAX_BYTES
        try:
            data = logtree.content(named.location, limit)
            check()
            if query and is_tree and query.word and logtree.lacks(data, query.word):
                return named, model.LogNode(kind="root"), []
            return named, (logtree.tree_in if is_tree else logtree.page_in)(data, check), []
        except (OSError, Unusable) as error:
            reasons.append(f"{named.name} could not be read: {error}")
            if query and is_tree and isinstance(error, logtree.TooLong):
                break
    return (
        None,
        model.LogNode(kind="root", children=[model.LogNode(kind="text", text=reason) for reason in reasons]),
        reasons,
    )


def _search(
    run: model.RunInfo, split: str, step: int, logs: list[StepFile], query: TranscriptQuery
) -> list[model.LoggedTranscript]:
    """Search the first readable log, and join it if the search matches: see `StepReport.search`."""
    named, root, reasons = _read(logs, query)
    if named is None:
        raise UnreadablePath("; ".join(reasons))
    texts = [logged for logged in step_logs.texts_of(root, split, step) if query.matches(logged.turns)]
    matching = [logged for logged in logtree.conversations(root) if query.matches(logged.node.turns)]
    if not matching:
        return texts
    places = {".".join(map(str, logged.at)) for logged in matching}
    records = step_logs.trajectories_beside(run, named.location.path) if named.kind == "tree" else []
    whole = step_logs.join(root, records, split, step, query.check)
    return [*(logged for logged in whole.loose if logged.at in places), *texts]
