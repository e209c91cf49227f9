"""Facts about a run of the Tinker cookbook beyond its samples, and the conversations that its logs add."""

import contextlib
import os
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from rolloupe.errors import UnreadablePath
from rolloupe.formats.base import StepReport, TranscriptQuery
from rolloupe.formats.reading import logtree
from rolloupe.formats.reading import trainer_files as trainer
from rolloupe.formats.reading.files import file_of, links_of, plain_name
from rolloupe.formats.reading.records import Unusable
from rolloupe.formats.reading.trainer_files import metrics_of
from rolloupe.formats.tinker.join import Joined, Place, join, texts_of
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
from rolloupe.storage import is_below, is_folder

FINAL = "final"
MAX_DIFF_BYTES = 4 * 2**20

MAX_SEARCHED_BYTES = 32 * 2**20
"""A longer log is not searched: a search must end soon after its requester has gone."""

_Reader = Callable[[Location], LogNode]
_READERS: dict[str, _Reader] = {"tree": logtree.read_tree, "page": logtree.read_page}


class TinkerFiles:
    """The trainer files and reports of the cookbook."""

    def metrics(self, run: RunInfo) -> list[MetricRow]:
        """See `Format`. Merges late rows of evaluations, and rows that a resumed run wrote again."""
        return metrics_of(_file(run, METRICS))

    def trainer_files(self, run: RunInfo) -> list[Source]:
        """See `Format`."""
        return trainer.json_sources(run.root, [_file(run, name) for name in (METRICS, CONFIG, CHECKPOINTS)])

    def config(self, run: RunInfo) -> dict[str, Any]:
        """See `Format`."""
        found = trainer.read_json(_file(run, CONFIG))
        return found if isinstance(found, dict) else {}

    def checkpoints(self, run: RunInfo) -> list[Checkpoint]:
        """See `Format`. The step of a checkpoint is its `batch`, with which training continues."""
        return trainer.checkpoints_of(trainer.records(_file(run, CHECKPOINTS)), ("name", "batch"))

    def ending(self, run: RunInfo) -> str:
        """See `Format`. The cookbook's loops end with a checkpoint named `final`."""
        found = self.checkpoints(run)
        return "" if not found else "ended" if found[-1].name == FINAL else "open"

    def code_diff(self, run: RunInfo) -> str:
        """See `Format`."""
        return trainer.read_text(_file(run, DIFF), MAX_DIFF_BYTES)

    def files(self, run: RunInfo) -> list[RunFile]:
        """See `Format`."""
        folder, prefix = _place(run)
        if folder is None:
            return trainer.described_files([(run.root, Path(run.root).name, "")])
        return trainer.described_files(described(folder, links_of(run), prefix))

    def logtrees(self, run: RunInfo) -> list[tuple[str, int]]:
        """See `Format`."""
        found = {(named.split or "", named.step or 0) for named in _logs(run)}
        return sorted(found, key=lambda key: (key[0] != "train", *key))

    def logtree(self, run: RunInfo, split: str, step: int) -> LogNode | None:
        """See `Format`. The JSON, else the page; if neither can be read, an outline with the reason."""
        logs = _logs_of(run, split, step)
        return _read(logs)[1] if logs else None

    def reports(self, run: RunInfo) -> list[StepReport]:
        """See `Format`."""
        by_step: dict[tuple[str, int], list[StepFile]] = {}
        for named in _logs(run):
            by_step.setdefault((named.split or "", named.step or 0), []).append(named)
        return [StepReport(*key, partial(_loose, run, _best_first(logs))) for key, logs in by_step.items()]

    def report_files(self, run: RunInfo, split: str, step: int) -> dict[str, bytes]:
        """See `Format`."""
        found: dict[str, bytes] = {}
        for named in _logs_of(run, split, step):
            if named.kind not in found:
                with contextlib.suppress(OSError, Unusable):
                    found[named.kind] = logtree.content(Location(named.path, named.root))
        return found

    def conversations(self, run: RunInfo, split: str, step: int) -> list[LoggedTranscript]:
        """See `Format`."""
        found = self._conversations(run, split, step)
        return found.loose if found else []

    def all_conversations(self, run: RunInfo, split: str, step: int) -> list[LoggedTranscript]:
        """See `Format`."""
        found = self._conversations(run, split, step)
        tied = found.tied.items() if found else ()
        return [*(found.loose if found else ()), *(_logged_transcript(split, step, place, one) for place, one in tied)]

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
        found = {".".join(map(str, one.at)) for one in logtree.conversations(root) if query.matches(one.node.turns)}
        texts = [one for one in texts_of(root, named.split or "", named.step or 0) if query.matches(one.turns)]
        if not found:
            return texts
        records = trajectories_beside(run, named.path) if is_tree else []
        whole = join(root, records, named.split or "", named.step or 0, query.check)
        return [*(one for one in whole.loose if one.at in found), *texts]
    raise UnreadablePath("; ".join(reasons))
