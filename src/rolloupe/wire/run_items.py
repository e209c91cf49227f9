"""Runs for the browser's list: what follows from the version of a run is kept, so that many of them list quickly."""

import time
from collections.abc import Sequence
from typing import NamedTuple
from weakref import WeakKeyDictionary

import msgspec

from rolloupe import query
from rolloupe.index import OpenRun
from rolloupe.index.run_indexer import IndexProgress
from rolloupe.storage import address_of
from rolloupe.wire.encoding import is_finite, number, record_from
from rolloupe.wire.runs import MetricRange, RunItem, SplitItem

MAX_RANGES = 1000

LOOK_S = 0.05
"""A list looks again at files of unchanged runs for so long, at those first that were looked at longest ago."""


SAME_S = 0.2
"""For news that goes to many at once, one look at the files is enough."""

AGAIN_S = 1.0
"""But not at those that a list looked at in this time."""

FIRST_S = 1.0
"""A list looks at the files of new runs for so long. `look_on` looks at those of the others."""

NEVER_S = float("-inf")


class RunDescription(NamedTuple):
    """The description of a run at some version, and the time of the last look at its files."""

    state: tuple[str, bool, str]
    looked_s: float
    item: RunItem


DESCRIPTIONS: WeakKeyDictionary[OpenRun, RunDescription] = WeakKeyDictionary()


def run_items(runs: Sequence[OpenRun]) -> list[RunItem]:
    """Runs in the list, in this order.

    It describes again the runs that have changed. What only files beside the samples say, such as their damage, may be
    older in a long list, or not be there yet.
    """
    current = {run: kept for run in runs if (kept := _current(run)) is not None}
    _look(sorted(current, key=lambda run: current[run].looked_s))
    until = time.monotonic() + FIRST_S
    return [_now(run, (_current(run) or describe(run, of_files=time.monotonic() < until)).item) for run in runs]


def look_on(runs: list[OpenRun]) -> tuple[list[OpenRun], list[OpenRun]]:
    """Look at the files of described runs that nobody has looked at, for a while.

    Returns the runs in which that found problems, and those that are left.
    """
    until, found = time.monotonic() + LOOK_S, list[OpenRun]()
    for place, run in enumerate(runs):
        if time.monotonic() > until:
            return found, runs[place:]
        kept = _current(run)
        if kept is not None and kept.looked_s == NEVER_S and describe(run).item.problems != kept.item.problems:
            found.append(run)
    return found, []


def _look(runs: Sequence[OpenRun]) -> None:
    until = time.monotonic() + LOOK_S
    for run in runs:
        kept = DESCRIPTIONS.get(run)
        if time.monotonic() > until or (kept is not None and time.monotonic() - kept.looked_s < AGAIN_S):
            break
        describe(run)


def run_item(run: OpenRun, *, of_files: bool = True) -> RunItem:
    """A run in the list. Without `of_files`, `look_on` looks at its files."""
    kept = _current(run)
    if kept is None or (of_files and time.monotonic() - kept.looked_s > SAME_S):
        kept = describe(run, of_files=of_files)
    return _now(run, kept.item)


def _current(run: OpenRun) -> RunDescription | None:
    kept = DESCRIPTIONS.get(run)
    is_current = kept is not None and kept.state == (run.version, run.wait(0), run.progress().phase)
    return kept if is_current else None


def describe(run: OpenRun, *, of_files: bool = True) -> RunDescription:
    """Describe a run; what changes meanwhile makes the next description another one."""
    version, _, phase = state = run.version, run.wait(0), run.progress().phase
    splits = split_items(run)
    item = record_from(
        RunItem,
        run.info,
        id=run.id,
        path=address_of(run.info.root),
        splits=splits,
        problems=query.problem_count(run, of_files=of_files),
        may_report=query.may_report(run),
        has_metrics_alone=not run.format.has_samples or (not splits and phase == "ready" and query.has_metrics(run)),
        progress=IndexProgress(0, 0, phase),
        version=version,
        live=False,
        has_grown=False,
        ending="",
        changed_s=None,
        quiet_s=0.0,
        reward_range=run.info.reading.reward_range or run.info.reward_range,
        metric_ranges=[
            MetricRange(name=name, worst=worst, best=best)
            for name, worst, best in run.info.metric_ranges[:MAX_RANGES]
            if is_finite(worst) and is_finite(best)
        ],
    )
    kept = DESCRIPTIONS[run] = RunDescription(state, time.monotonic() if of_files else NEVER_S, item)
    return kept


def _now(run: OpenRun, item: RunItem) -> RunItem:
    """The description with what changes by itself."""
    changed_s, quiet_s = run.changed_s(), run.sources.rhythm.quiet_s
    return msgspec.structs.replace(
        item,
        progress=run.progress(),
        live=is_live(run, changed_s, quiet_s),
        has_grown=run.sources.has_grown,
        ending=run.facts.ending,
        changed_s=changed_s,
        quiet_s=quiet_s,
    )


def is_live(run: OpenRun, changed_s: float | None, quiet_s: float) -> bool:
    """True if a run is known to continue. The times of its files alone prove nothing: they may be those of a copy."""
    is_known = run.facts.ending == "open" or (run.facts.ending == "" and run.sources.has_grown)
    return is_known and changed_s is not None and changed_s < quiet_s


def split_items(run: OpenRun) -> list[SplitItem]:
    """Return the indexed parts of the splits."""
    newest, unknown = query.newest(run), query.Newest()
    return [
        record_from(
            SplitItem,
            split,
            reward_min=number(split.reward.min),
            reward_max=number(split.reward.max),
            last_reward=number(newest.get(split.name, unknown).reward),
            last_response_tokens=number(newest.get(split.name, unknown).response_tokens),
            last_response_chars=number(newest.get(split.name, unknown).response_chars),
        )
        for split in query.splits(run, quick=True)
    ]
