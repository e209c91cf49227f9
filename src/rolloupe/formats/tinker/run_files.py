"""The files in a `log_path` of the Tinker cookbook, in both layouts: their names, and what a run has beyond samples.

Flat (until March 2026): `{base}_iteration_{step:06d}{suffix}`; since then `iteration_{step:06d}/{base}{suffix}`. `base`
is `train` or `eval_{label}`. A run that continued after an upgrade has both.
"""

import contextlib
import os
import re
from collections.abc import Collection
from functools import partial
from pathlib import Path
from typing import Any, Literal, NamedTuple

from rolloupe.errors import UnreadablePath
from rolloupe.formats.base import StepReport, TranscriptQuery
from rolloupe.formats.reading import fields, logtree
from rolloupe.formats.reading import trainer_files as trainer
from rolloupe.formats.reading.files import FolderEntry, file_of, files, folders, links_of, plain_name
from rolloupe.formats.reading.records import Unusable
from rolloupe.formats.reading.trainer_files import metrics_of
from rolloupe.formats.tinker.logs import (
    PAGE,
    ROLLOUTS,
    TREE,
    Joined,
    beside,
    join,
    joined,
    texts_of,
    trajectories_beside,
)
from rolloupe.model import (
    Checkpoint,
    Location,
    LoggedTranscript,
    LogNode,
    MetricRow,
    RunFile,
    RunInfo,
    SampleKey,
    Source,
)
from rolloupe.storage import is_below, is_folder

FINAL = "final"
MAX_DIFF_BYTES = 4 * 2**20

MAX_SEARCHED_BYTES = 32 * 2**20
"""A longer log is not searched: a search must end soon after its requester has gone."""

Kind = Literal["rollouts", "tree", "page"]

SUFFIXES: dict[str, Kind] = {ROLLOUTS: "rollouts", TREE: "tree", PAGE: "page"}
ITERATION = re.compile(r"iteration_([0-9]+)")
MAX_FILES = 50_000
"""Maximum number of files of one run to list."""

METRICS, CONFIG, CHECKPOINTS, DIFF = "metrics.jsonl", "config.json", "checkpoints.jsonl", "code.diff"

_SUFFIX = "|".join(re.escape(suffix) for suffix in SUFFIXES)
_FLAT = re.compile(
    rf"(?P<base>train|eval_(?P<label>.+))_iteration_(?P<step>[0-9]{{6,}})(?P<suffix>{_SUFFIX})", re.DOTALL
)
"""Greedy: a label may hold `_iteration_000001` itself, so the last one counts."""

_INSIDE = re.compile(rf"(?P<base>train|eval_(?P<label>.+?))(?P<suffix>{_SUFFIX})", re.DOTALL)

NOT_SAMPLES = (METRICS, CHECKPOINTS, "timing_spans.jsonl", "trace_events.jsonl")
_ITEMS: dict[Kind, str] = {"rollouts": "rollouts", "tree": "log, as a tree", "page": "log, as a page"}
_WHAT = [
    (re.compile(pattern), what)
    for pattern, what in {
        r"metrics\.jsonl": "metrics",
        r"config\.json": "configuration",
        r"checkpoints\.jsonl": "checkpoints",
        r"code\.diff": "changes of the code",
        r"logs\.log": "log",
        r"timing_spans\.jsonl": "timing",
        r"trace_events\.jsonl": "trace",
        r"timing_gantt(_[0-9]+)?\.html": "timing chart",
        r"metrics\.jsonl\.pre_resume_[0-9]+": "metrics before a resume",
    }.items()
]


class StepFile(NamedTuple):
    """A file that belongs to a step, as its name declares. `name` is its path relative to the run's folder."""

    location: Location
    name: str
    kind: Kind
    split: str | None
    step: int | None
    flat: bool


def find(folder: str, link_root: str, kinds: Collection[Kind] = ("rollouts", "tree", "page")) -> list[StepFile]:
    """List the files of a run by step and split, those of the older layout first."""
    suffixes = tuple(suffix for suffix, kind in SUFFIXES.items() if kind in kinds)
    step = _iteration(os.path.basename(folder))
    named = [_named(entry, entry.name, step, is_at_top=True) for entry in files(folder, link_root, suffixes)]
    for below in folders(folder, link_root):
        if ITERATION.fullmatch(below.name):
            step, listed = _iteration(below.name), files(below.path, link_root, suffixes)
            named += [_named(entry, f"{below.name}/{entry.name}", step, is_at_top=False) for entry in listed]
    step_files = [file for file in named if file is not None]
    return sorted(step_files, key=lambda f: (-1 if f.step is None else f.step, f.split or "", not f.flat, f.name))


def _iteration(name: str) -> int | None:
    match = ITERATION.fullmatch(name)
    return fields.integer(match[1]) if match else None


def of_file(path: Path, root: str) -> StepFile:
    """Identify a file of samples by its name and its folder's."""
    entry = FolderEntry(path.name, str(path), False, 0, root)
    named = _named(entry, path.name, _iteration(path.parent.name), is_at_top=True)
    return named or StepFile(entry.location, path.name, "rollouts", None, None, False)


def _named(entry: FolderEntry, name: str, step: int | None, *, is_at_top: bool) -> StepFile | None:
    """Identify a file by its name; `step` is that of the folder around it."""
    plain = plain_name(entry.name)
    flat = _FLAT.fullmatch(plain) if is_at_top else None
    number = fields.integer(flat["step"]) if flat else None
    match = _INSIDE.fullmatch(plain) if number is None else flat
    if match is None and not plain.endswith(ROLLOUTS):
        return None
    split = None if match is None else "train" if match["base"] == "train" else f"eval/{match['label']}"
    kind = SUFFIXES[match["suffix"]] if match else "rollouts"
    step = step if number is None else number
    is_lost = is_at_top and step is None and kind != "rollouts"  # a log of no step
    return None if is_lost else StepFile(entry.location, name, kind, split, step, number is not None)


def described(folder: str, link_root: str, prefix: str) -> list[tuple[str, str, str]]:
    """List the files of a run's folder: path, name, and description. With a prefix, only files with that prefix."""
    by_path = {} if prefix else {named.location.path: named for named in find(folder, link_root)}
    listed = [
        (e.path, e.name, e.name.removeprefix(prefix))
        for e in files(folder, link_root, ("",))
        if e.name.startswith(prefix)
    ]
    for below in [] if prefix else folders(folder, link_root):
        if ITERATION.fullmatch(below.name):
            listed += [(e.path, f"{below.name}/{e.name}", e.name) for e in files(below.path, link_root, ("",))]
    described_files = []
    for path, name, base_name in listed[:MAX_FILES]:
        plain = plain_name(base_name)
        what = next((what for pattern, what in _WHAT if pattern.fullmatch(plain)), "")
        if (named := by_path.get(path)) is not None:
            place = "" if named.step is None else f", step {named.step}"
            what = f"{_ITEMS[named.kind]}: {named.split or 'unknown split'}{place}"
        described_files.append((path, name, what))
    return described_files


class TinkerFiles:
    """The trainer files and reports of the cookbook."""

    def metrics(self, run: RunInfo) -> list[MetricRow]:
        """Return the metrics. Late rows of evaluations, and rows that a resumed run wrote again, are merged."""
        return metrics_of(_file(run, METRICS))

    def trainer_files(self, run: RunInfo) -> list[Source]:
        return trainer.json_sources(run.root, [_file(run, name) for name in (METRICS, CONFIG, CHECKPOINTS)])

    def config(self, run: RunInfo) -> dict[str, Any]:
        return fields.as_dict(trainer.read_json(_file(run, CONFIG)))

    def checkpoints(self, run: RunInfo) -> list[Checkpoint]:
        """The step of a checkpoint is its `batch`, with which training continues."""
        return trainer.checkpoints_of(trainer.records(_file(run, CHECKPOINTS)), ("name", "batch"))

    def ending(self, run: RunInfo) -> str:
        """The cookbook's loops end with a checkpoint named `final`."""
        checkpoints = self.checkpoints(run)
        return "" if not checkpoints else "ended" if checkpoints[-1].name == FINAL else "open"

    def code_diff(self, run: RunInfo) -> str:
        return trainer.read_text(_file(run, DIFF), MAX_DIFF_BYTES)

    def files(self, run: RunInfo) -> list[RunFile]:
        folder, prefix = _place(run)
        if folder is None:
            return trainer.described_files([(run.root, Path(run.root).name, "")])
        return trainer.described_files(described(folder, links_of(run), prefix))

    def logtrees(self, run: RunInfo) -> list[tuple[str, int]]:
        return sorted(_logs(run), key=lambda key: (key[0] != "train", *key))

    def logtree(self, run: RunInfo, split: str, step: int) -> LogNode | None:
        """Read the JSON, else the page; if neither can be read, return an outline with the reason."""
        logs = _logs(run).get((split, step))
        return _read(logs)[1] if logs else None

    def reports(self, run: RunInfo) -> list[StepReport]:
        return [StepReport(*key, partial(_search, run, *key, logs)) for key, logs in _logs(run).items()]

    def report_files(self, run: RunInfo, split: str, step: int) -> dict[str, bytes]:
        contents: dict[str, bytes] = {}
        for named in _logs(run).get((split, step), ()):
            if named.kind not in contents:
                with contextlib.suppress(OSError, Unusable):
                    contents[named.kind] = logtree.content(named.location)
        return contents

    def conversations(self, run: RunInfo, split: str, step: int) -> list[LoggedTranscript]:
        return self._conversations(run, split, step).loose

    def all_conversations(self, run: RunInfo, split: str, step: int) -> list[LoggedTranscript]:
        whole = self._conversations(run, split, step)
        shown = [
            LoggedTranscript(
                split=split,
                step=step,
                title=f"group {group}, trajectory {index}{'' if tied.whole else ': the prompt'}",
                turns=tied.turns,
                sample=str(SampleKey(split, step, group, index)),
            )
            for (group, index), tied in whole.tied.items()
        ]
        return whole.loose + shown

    def _conversations(self, run: RunInfo, split: str, step: int) -> Joined:
        logs = _logs(run).get((split, step))
        if not logs:
            return Joined({}, [])
        used, root = _read(logs)
        is_tree = plain_name(used).endswith(TREE)
        whole = joined(run, used, beside(used, TREE, ROLLOUTS), split, step) if is_tree else None
        return whole or join(root, [], split, step)


def _place(run: RunInfo) -> tuple[str | None, str]:
    """Return the folder of a run, and the prefix of its files' names. No folder if one file was opened alone."""
    if is_folder(run.root):
        return run.root, ""
    folder, name = os.path.split(plain_name(run.root))
    if name.endswith(METRICS) and is_below(folder, links_of(run)):
        return folder, name.removesuffix(METRICS)
    return None, ""


def _file(run: RunInfo, name: str) -> Location | None:
    """Return the place of one of the trainer's files, None without a readable one."""
    folder, prefix = _place(run)
    if folder is None:
        is_metrics = name == METRICS and plain_name(run.root).endswith(METRICS)
        return Location(run.root, links_of(run)) if is_metrics else None
    return file_of(folder, prefix + name, links_of(run))


def _logs(run: RunInfo) -> dict[tuple[str, int], list[StepFile]]:
    """Return the logs of each split and step, the best first: the newer layout before the older, trees before pages."""
    folder, prefix = _place(run)
    by_step: dict[tuple[str, int], list[StepFile]] = {}
    for file in find(folder, links_of(run), ("tree", "page")) if folder is not None and not prefix else []:
        if file.split is not None and file.step is not None:
            by_step.setdefault((file.split, file.step), []).append(file)
    return {key: sorted(logs, key=lambda file: (file.flat, file.kind == "page")) for key, logs in by_step.items()}


def _read(logs: list[StepFile]) -> tuple[str, LogNode]:
    """Read the first readable log; return its path as well."""
    reasons = []
    for named in logs:
        try:
            read = logtree.read_tree if named.kind == "tree" else logtree.read_page
            return named.location.path, read(named.location)
        except (OSError, Unusable) as error:
            reasons.append(LogNode(kind="text", text=f"{named.name} could not be read: {error}"))
    return "", LogNode(kind="root", children=reasons)


def _search(
    run: RunInfo, split: str, step: int, logs: list[StepFile], query: TranscriptQuery
) -> list[LoggedTranscript]:
    """Search the first readable log, and join it if the search matches: see `StepReport.search`.

    A tree that is too long ends the search of the report. Its page is not searched instead: samples show the contents
    of the tree, and positions in a page differ.
    """
    reasons = []
    for named in logs:
        is_tree = named.kind == "tree"
        try:
            limit = MAX_SEARCHED_BYTES if is_tree else logtree.MAX_PAGE_BYTES
            data = logtree.content(named.location, limit)
            query.check()
            if is_tree and query.word and logtree.lacks(data, query.word):
                return []
            root = (logtree.tree_in if is_tree else logtree.page_in)(data, query.check)
        except (OSError, Unusable) as error:
            reasons.append(f"{named.name} could not be read: {error}")
            if is_tree and isinstance(error, logtree.TooLong):
                break
            continue
        texts = [logged for logged in texts_of(root, split, step) if query.matches(logged.turns)]
        matching = [logged for logged in logtree.conversations(root) if query.matches(logged.node.turns)]
        if not matching:
            return texts
        places = {".".join(map(str, logged.at)) for logged in matching}
        records = trajectories_beside(run, named.location.path) if is_tree else []
        whole = join(root, records, split, step, query.check)
        return [*(logged for logged in whole.loose if logged.at in places), *texts]
    raise UnreadablePath("; ".join(reasons))
