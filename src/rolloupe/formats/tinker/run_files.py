"""The files in a `log_path` of the Tinker cookbook, in both layouts: their names, and what a run has beyond samples.

Flat (until March 2026): `{base}_iteration_{step:06d}{suffix}`; since then `iteration_{step:06d}/{base}{suffix}`. `base`
is `train` or `eval_{label}`. A run that continued after an upgrade has both.
"""

import contextlib
import os
import re
from collections.abc import Callable, Iterable
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
    Place,
    beside,
    join,
    joined,
    texts_of,
    trajectories_beside,
)
from rolloupe.formats.tinker.turns import Tied
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

_Reader = Callable[[Location], LogNode]
_READERS: dict[str, _Reader] = {"tree": logtree.read_tree, "page": logtree.read_page}

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
_WHAT = {
    METRICS: "metrics",
    CONFIG: "configuration",
    CHECKPOINTS: "checkpoints",
    DIFF: "changes of the code",
    "logs.log": "log",
    "timing_spans.jsonl": "timing",
    "trace_events.jsonl": "trace",
}
_GANTT = re.compile(r"timing_gantt(_[0-9]+)?\.html")
_BEFORE = re.compile(r"metrics\.jsonl\.pre_resume_[0-9]+")


class StepFile(NamedTuple):
    """A file that belongs to a step, as its name declares. `name` is its path relative to the run's folder."""

    path: str
    name: str
    kind: Kind
    split: str | None
    step: int | None
    flat: bool
    root: str


def find(folder: str, link_root: str, kinds: Iterable[Kind] = ("rollouts", "tree", "page")) -> list[StepFile]:
    """List the files of a run by step and split, those of the older layout first."""
    suffixes = tuple(suffix for suffix, kind in SUFFIXES.items() if kind in tuple(kinds))
    iteration = ITERATION.fullmatch(Path(folder).name)
    step = fields.integer(iteration[1]) if iteration else None
    found = [named for e in files(folder, link_root, suffixes) if (named := _at_top(e, step))]
    for below in folders(folder, link_root):
        if number := ITERATION.fullmatch(below.name):
            step = fields.integer(number[1])
            listed = files(below.path, link_root, suffixes)
            found += [named for e in listed if (named := _inside(e, f"{below.name}/{e.name}", step))]
    return sorted(found, key=lambda n: (-1 if n.step is None else n.step, n.split or "", not n.flat, n.name))


def of_file(path: Path, root: str) -> StepFile:
    """Identify a file of samples by its name and its folder's."""
    number = ITERATION.fullmatch(path.parent.name)
    entry = FolderEntry(path.name, str(path), False, 0, root)
    found = _at_top(entry, fields.integer(number[1]) if number else None)
    return found or StepFile(str(path), path.name, "rollouts", None, None, False, root)


def _at_top(entry: FolderEntry, step: int | None) -> StepFile | None:
    match = _FLAT.fullmatch(plain_name(entry.name))
    number = fields.integer(match["step"]) if match else None
    if match is None or number is None:
        inside = _inside(entry, entry.name, step)
        return inside if step is not None or (inside and inside.kind == "rollouts") else None
    return StepFile(entry.path, entry.name, SUFFIXES[match["suffix"]], _split(match), number, True, entry.root)


def _inside(entry: FolderEntry, name: str, step: int | None) -> StepFile | None:
    match = _INSIDE.fullmatch(plain_name(entry.name))
    if match:
        return StepFile(entry.path, name, SUFFIXES[match["suffix"]], _split(match), step, False, entry.root)
    if plain_name(entry.name).endswith(ROLLOUTS):
        return StepFile(entry.path, name, "rollouts", None, step, False, entry.root)
    return None


def _split(match: re.Match[str]) -> str:
    return "train" if match["base"] == "train" else f"eval/{match['label']}"


def prefixes(folder: str, link_root: str) -> list[str]:
    """Return the prefixes of the metrics files in a folder: usually one, empty."""
    return [plain_name(entry.name).removesuffix(METRICS) for entry in files(folder, link_root, (METRICS,))]


def described(folder: str, link_root: str, prefix: str) -> list[tuple[str, str, str]]:
    """List the files of a run's folder: path, name, and description. With a prefix, only files with that prefix."""
    by_path = {} if prefix else {named.path: named for named in find(folder, link_root)}
    listed = [
        (e.path, e.name, e.name.removeprefix(prefix))
        for e in files(folder, link_root, ("",))
        if e.name.startswith(prefix)
    ]
    for below in [] if prefix else folders(folder, link_root):
        if ITERATION.fullmatch(below.name):
            listed += [(e.path, f"{below.name}/{e.name}", e.name) for e in files(below.path, link_root, ("",))]
    return [(path, name, _what(by_path.get(path), base_name)) for path, name, base_name in listed[:MAX_FILES]]


def _what(named: StepFile | None, base_name: str) -> str:
    if named is not None:
        place = "" if named.step is None else f", step {named.step}"
        return f"{_ITEMS[named.kind]}: {named.split or 'unknown split'}{place}"
    plain = plain_name(base_name)
    if _GANTT.fullmatch(plain):
        return "timing chart"
    return "metrics before a resume" if _BEFORE.fullmatch(plain) else _WHAT.get(plain, "")


class TinkerFiles:
    """The trainer files and reports of the cookbook."""

    def metrics(self, run: RunInfo) -> list[MetricRow]:
        """Return the metrics. Late rows of evaluations, and rows that a resumed run wrote again, are merged."""
        return metrics_of(_file(run, METRICS))

    def trainer_files(self, run: RunInfo) -> list[Source]:
        return trainer.json_sources(run.root, [_file(run, name) for name in (METRICS, CONFIG, CHECKPOINTS)])

    def config(self, run: RunInfo) -> dict[str, Any]:
        found = trainer.read_json(_file(run, CONFIG))
        return found if isinstance(found, dict) else {}

    def checkpoints(self, run: RunInfo) -> list[Checkpoint]:
        """The step of a checkpoint is its `batch`, with which training continues."""
        return trainer.checkpoints_of(trainer.records(_file(run, CHECKPOINTS)), ("name", "batch"))

    def ending(self, run: RunInfo) -> str:
        """The cookbook's loops end with a checkpoint named `final`."""
        found = self.checkpoints(run)
        return "" if not found else "ended" if found[-1].name == FINAL else "open"

    def code_diff(self, run: RunInfo) -> str:
        return trainer.read_text(_file(run, DIFF), MAX_DIFF_BYTES)

    def files(self, run: RunInfo) -> list[RunFile]:
        folder, prefix = _place(run)
        if folder is None:
            return trainer.described_files([(run.root, Path(run.root).name, "")])
        return trainer.described_files(described(folder, links_of(run), prefix))

    def logtrees(self, run: RunInfo) -> list[tuple[str, int]]:
        found = {(named.split or "", named.step or 0) for named in _logs(run)}
        return sorted(found, key=lambda key: (key[0] != "train", *key))

    def logtree(self, run: RunInfo, split: str, step: int) -> LogNode | None:
        """Read the JSON, else the page; if neither can be read, return an outline with the reason."""
        logs = _logs_of(run, split, step)
        return _read(logs)[1] if logs else None

    def reports(self, run: RunInfo) -> list[StepReport]:
        by_step: dict[tuple[str, int], list[StepFile]] = {}
        for named in _logs(run):
            by_step.setdefault((named.split or "", named.step or 0), []).append(named)
        return [StepReport(*key, partial(_loose, run, _best_first(logs))) for key, logs in by_step.items()]

    def report_files(self, run: RunInfo, split: str, step: int) -> dict[str, bytes]:
        found: dict[str, bytes] = {}
        for named in _logs_of(run, split, step):
            if named.kind not in found:
                with contextlib.suppress(OSError, Unusable):
                    found[named.kind] = logtree.content(Location(named.path, named.root))
        return found

    def conversations(self, run: RunInfo, split: str, step: int) -> list[LoggedTranscript]:
        found = self._conversations(run, split, step)
        return found.loose if found else []

    def all_conversations(self, run: RunInfo, split: str, step: int) -> list[LoggedTranscript]:
        found = self._conversations(run, split, step)
        tied = found.tied.items() if found else ()
        return [
            *(found.loose if found else ()),
            *(_logged_transcript(split, step, place, logged) for place, logged in tied),
        ]

    def _conversations(self, run: RunInfo, split: str, step: int) -> Joined | None:
        logs = _logs_of(run, split, step)
        if not logs:
            return None
        used, root = _read(logs)
        is_tree = plain_name(used).endswith(TREE)
        found = joined(run, used, beside(used, TREE, ROLLOUTS), split, step) if is_tree else None
        return found or join(root, [], split, step)


def _logged_transcript(split: str, step: int, place: Place, tied: Tied) -> LoggedTranscript:
    """A conversation, or a prompt, that a sample shows."""
    group, index = place
    title = f"group {group}, trajectory {index}{'' if tied.whole else ': the prompt'}"
    return LoggedTranscript(
        split=split, step=step, title=title, turns=tied.turns, sample=str(SampleKey(split, step, group, index))
    )


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
        is_it = name == METRICS and plain_name(run.root).endswith(METRICS)
        return Location(run.root, links_of(run)) if is_it else None
    return file_of(folder, prefix + name, links_of(run))


def _logs(run: RunInfo) -> list[StepFile]:
    folder, prefix = _place(run)
    found = find(folder, links_of(run), ("tree", "page")) if folder is not None and not prefix else []
    return [named for named in found if named.split is not None and named.step is not None]


def _logs_of(run: RunInfo, split: str, step: int) -> list[StepFile]:
    """Return the logs of a step, the best first: the newer layout before the older, trees before pages."""
    return _best_first([named for named in _logs(run) if (named.split, named.step) == (split, step)])


def _best_first(logs: list[StepFile]) -> list[StepFile]:
    return sorted(logs, key=lambda named: (named.flat, named.kind == "page"))


def _read(logs: list[StepFile]) -> tuple[str, LogNode]:
    """Read the first readable log; return its path as well."""
    reasons = []
    for named in logs:
        try:
            return named.path, _READERS[named.kind](Location(named.path, named.root))
        except (OSError, Unusable) as error:
            reasons.append(LogNode(kind="text", text=f"{named.name} could not be read: {error}"))
    return "", LogNode(kind="root", children=reasons)


def _loose(run: RunInfo, logs: list[StepFile], query: TranscriptQuery) -> list[LoggedTranscript]:
    """Search the first readable log, and join it if the search matches: see `StepReport.search`.

    A tree that is too long ends the search of the report. Its page is not searched instead: samples show the contents
    of the tree, and positions in a page differ.
    """
    reasons = []
    for named in logs:
        is_tree = named.kind == "tree"
        try:
            limit = MAX_SEARCHED_BYTES if is_tree else logtree.MAX_PAGE_BYTES
            data = logtree.content(Location(named.path, named.root), limit)
            query.check()
            if is_tree and query.word and logtree.lacks(data, query.word):
                return []
            root = (logtree.tree_in if is_tree else logtree.page_in)(data, query.check)
        except (OSError, Unusable) as error:
            reasons.append(f"{named.name} could not be read: {error}")
            if is_tree and isinstance(error, logtree.TooLong):
                break
            continue
        found = {
            ".".join(map(str, logged.at)) for logged in logtree.conversations(root) if query.matches(logged.node.turns)
        }
        texts = [logged for logged in texts_of(root, named.split or "", named.step or 0) if query.matches(logged.turns)]
        if not found:
            return texts
        records = trajectories_beside(run, named.path) if is_tree else []
        whole = join(root, records, named.split or "", named.step or 0, query.check)
        return [*(logged for logged in whole.loose if logged.at in found), *texts]
    raise UnreadablePath("; ".join(reasons))
