"""What a run of the Tinker cookbook holds beside its samples, and the conversations that its logs add to them."""

import contextlib
import os
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from rolloupe.errors import UnreadablePath
from rolloupe.formats.base import StepReport, Wanted
from rolloupe.formats.reading import logtree
from rolloupe.formats.reading import trainer_files as trainer
from rolloupe.formats.reading.files import file_of, links_of, plain_name
from rolloupe.formats.reading.jsonl import Unusable
from rolloupe.formats.tinker.join import Joined, Place, join
from rolloupe.formats.tinker.log import TREE, beside, joined, trajectories_beside
from rolloupe.formats.tinker.names import CHECKPOINTS, CONFIG, DIFF, METRICS, ROLLOUTS, StepFile, described, find
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
from rolloupe.storage import is_below

FINAL = "final"
MAX_DIFF_BYTES = 4 * 2**20

MAX_SEARCHED_BYTES = 32 * 2**20
"""A longer log is searched by nobody: a search must end soon after who asked for it has gone."""

_Reader = Callable[[Location], LogNode]
_READERS: dict[str, _Reader] = {"tree": logtree.read_tree, "page": logtree.read_page}


class TinkerFiles:
    """The `TrainerFiles` of the cookbook."""

    def metrics(self, run: RunInfo) -> list[MetricRow]:
        """See `TrainerFiles`. Late rows of evaluations, and those that a resumed run wrote again, are merged."""
        return trainer.merged_metrics(trainer.records(_file(run, METRICS)))

    def beside(self, run: RunInfo) -> list[Source]:
        """See `HasBeside`."""
        return trainer.json_sources(run.root, [_file(run, name) for name in (METRICS, CONFIG, CHECKPOINTS)])

    def config(self, run: RunInfo) -> dict[str, Any]:
        """See `TrainerFiles`."""
        found = trainer.read_json(_file(run, CONFIG))
        return found if isinstance(found, dict) else {}

    def checkpoints(self, run: RunInfo) -> list[Checkpoint]:
        """See `TrainerFiles`. The step of a checkpoint is its `batch`, the one that training goes on with."""
        return trainer.checkpoints_of(trainer.records(_file(run, CHECKPOINTS)), ("name", "batch"))

    def ending(self, run: RunInfo) -> str:
        """See `Endings`. The cookbook's loops end with a checkpoint of the name `final`."""
        found = self.checkpoints(run)
        return "" if not found else "ended" if found[-1].name == FINAL else "open"

    def code_diff(self, run: RunInfo) -> str:
        """See `TrainerFiles`."""
        return trainer.read_text(_file(run, DIFF), MAX_DIFF_BYTES)

    def files(self, run: RunInfo) -> list[RunFile]:
        """See `TrainerFiles`."""
        folder, prefix = _place(run)
        if folder is None:
            return trainer.described_files([(run.root, Path(run.root).name, "")])
        return trainer.described_files(described(folder, links_of(run), prefix))

    def logtrees(self, run: RunInfo) -> list[tuple[str, int]]:
        """See `TrainerFiles`."""
        found = {(named.split or "", named.step or 0) for named in _logs(run)}
        return sorted(found, key=lambda key: (key[0] != "train", *key))

    def logtree(self, run: RunInfo, split: str, step: int) -> LogNode | None:
        """See `TrainerFiles`. The JSON, else the page; where neither can be read, an outline that says why."""
        logs = _logs_of(run, split, step)
        return _read(logs)[1] if logs else None

    def reports(self, run: RunInfo) -> list[StepReport]:
        """See `HasReports`."""
        by_step: dict[tuple[str, int], list[StepFile]] = {}
        for named in _logs(run):
            by_step.setdefault((named.split or "", named.step or 0), []).append(named)
        return [StepReport(*key, partial(_loose, run, _best_first(logs))) for key, logs in by_step.items()]

    def report_files(self, run: RunInfo, split: str, step: int) -> dict[str, bytes]:
        """See `HasReports`."""
        found: dict[str, bytes] = {}
        for named in _logs_of(run, split, step):
            if named.kind not in found:
                with contextlib.suppress(OSError, Unusable):
                    found[named.kind] = logtree.content(Location(named.path, named.root))
        return found

    def conversations(self, run: RunInfo, split: str, step: int) -> list[LoggedTranscript]:
        """See `TrainerFiles`."""
        found = self._conversations(run, split, step)
        return found.loose if found else []

    def all_conversations(self, run: RunInfo, split: str, step: int) -> list[LoggedTranscript]:
        """See `HasReports`."""
        found = self._conversations(run, split, step)
        tied = found.tied.items() if found else ()
        return [*(found.loose if found else ()), *(_told(split, step, place, one) for place, one in tied)]

    def _conversations(self, run: RunInfo, split: str, step: int) -> Joined | None:
        logs = _logs_of(run, split, step)
        if not logs:
            return None
        used, root = _read(logs)
        is_tree = plain_name(used).endswith(TREE)
        found = joined(run, used, beside(used, TREE, ROLLOUTS), split, step) if is_tree else None
        return found or join(root, [], split, step)


def _told(split: str, step: int, place: Place, tied: Tied) -> LoggedTranscript:
    """A conversation, or a prompt, that a sample shows."""
    group, index = place
    title = f"group {group}, trajectory {index}{'' if tied.whole else ': the prompt'}"
    return LoggedTranscript(
        split=split, step=step, title=title, turns=tied.turns, sample=str(SampleKey(split, step, group, index))
    )


def _place(run: RunInfo) -> tuple[str | None, str]:
    """Return the folder of a run, and what its files' names begin with. No folder where one file was opened alone."""
    if os.path.isdir(run.root):
        return run.root, ""
    folder, name = os.path.split(run.root)
    if name.endswith(METRICS) and is_below(folder, links_of(run)):
        return folder, name.removesuffix(METRICS)
    return None, ""


def _file(run: RunInfo, name: str) -> Location | None:
    """Return where one of the trainer's files lies, None where there is none that may be read."""
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
    """Read the first of some logs that can be read; returns its path as well."""
    reasons = []
    for named in logs:
        try:
            return named.path, _READERS[named.kind](Location(named.path, named.root))
        except (OSError, Unusable) as error:
            reasons.append(LogNode(kind="text", text=f"{named.name} could not be read: {error}"))
    return "", LogNode(kind="root", children=reasons)


def _loose(run: RunInfo, logs: list[StepFile], wanted: Wanted) -> list[LoggedTranscript]:
    """See `StepReport.loose`: the first of some logs that can be read is searched, and joined where it holds something.

    A tree that is too long ends the search of the report. Its page is not searched instead: the samples show what the
    tree holds, and the places in a page are other places.
    """
    reasons = []
    for named in logs:
        is_tree = named.kind == "tree"
        try:
            limit = MAX_SEARCHED_BYTES if is_tree else logtree.MAX_PAGE_BYTES
            data = logtree.content(Location(named.path, named.root), limit)
            wanted.check()
            if is_tree and wanted.word and logtree.lacks(data, wanted.word):
                return []
            root = (logtree.tree_in if is_tree else logtree.page_in)(data, wanted.check)
        except (OSError, Unusable) as error:
            reasons.append(f"{named.name} could not be read: {error}")
            if is_tree and isinstance(error, logtree.TooLong):
                break
            continue
        found = {".".join(map(str, one.at)) for one in logtree.conversations(root) if wanted.holds(one.node.turns)}
        if not found:
            return []
        records = trajectories_beside(run, named.path) if is_tree else []
        whole = join(root, records, named.split or "", named.step or 0, wanted.check)
        return [one for one in whole.loose if one.at in found]
    raise UnreadablePath("; ".join(reasons))
