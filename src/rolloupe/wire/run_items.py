"""Runs for the browser's list. The description of each version of a run is kept, so that many runs list quickly."""

import time
from collections.abc import Sequence
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

import msgspec

from rolloupe import query
from rolloupe.demo import demo_run
from rolloupe.index import OpenRun
from rolloupe.storage import address_of
from rolloupe.wire.encoding import is_finite, number, record_from
from rolloupe.wire.runs import MetricRange, RunItem, SplitItem

MAX_RANGES = 1000

LOOK_S = 0.05
"""How long one call looks again at files of unchanged runs, the runs that have waited longest first."""

SAME_S = 0.2
"""One look at the files serves all messages within this time."""

AGAIN_S = 1.0
"""A list does not look again at files that were looked at within this time."""

FIRST_S = 1.0
"""How long a list looks at the files of new runs. `look_on` looks at the files of the other runs."""

NEVER_S = float("-inf")


class RunDescription(NamedTuple):
    """The description of a run at some version, and the time of the last look at its files."""

    state: tuple[str, bool, str]
    looked_s: float
    item: RunItem


DESCRIPTIONS: WeakKeyDictionary[OpenRun, RunDescription] = WeakKeyDictionary()


def run_items(runs: Sequence[OpenRun]) -> list[RunItem]:
    """Return runs as in the list, in this order. Runs that have changed are described again.

    Facts from files beside the samples, such as their damage, may be older in a long list, or still missing.
    """
    known = [run for run in runs if _current(run) is not None]
    until = time.monotonic() + LOOK_S
    for run in sorted(known, key=lambda run: DESCRIPTIONS[run].looked_s):
        now = time.monotonic()
        if now > until or now - DESCRIPTIONS[run].looked_s < AGAIN_S:
            break
        describe(run)
    until = time.monotonic() + FIRST_S
    return [_now(run, (_current(run) or describe(run, of_files=time.monotonic() < until)).item) for run in runs]


def look_on(runs: list[OpenRun]) -> tuple[list[OpenRun], list[OpenRun]]:
    """Look for a while at the files of described runs whose files were not looked at.

    Returns the runs with newly found problems, and the runs that are left.
    """
    until, found = time.monotonic() + LOOK_S, list[OpenRun]()
    for place, run in enumerate(runs):
        if time.monotonic() > until:
            return found, runs[place:]
        kept = _current(run)
        if kept is not None and kept.looked_s == NEVER_S and describe(run).item.problems != kept.item.problems:
            found.append(run)
    return found, []


def run_item(run: OpenRun, *, of_files: bool = True) -> RunItem:
    """Return a run as in the list. Without `of_files`, `look_on` looks at its files."""
    kept = _current(run)
    if kept is None or (of_files and time.monotonic() - kept.looked_s > SAME_S):
        kept = describe(run, of_files=of_files)
    return _now(run, kept.item)


def _current(run: OpenRun) -> RunDescription | None:
    kept = DESCRIPTIONS.get(run)
    return kept if kept is not None and kept.state == _state(run) else None


def _state(run: OpenRun) -> tuple[str, bool, str]:
    return run.version, run.wait(0), run.progress().phase


def describe(run: OpenRun, *, of_files: bool = True) -> RunDescription:
    """Describe a run; a change meanwhile makes the description outdated at once."""
    version, _, phase = state = _state(run)
    splits = split_items(run)
    bundled = demo_run(run.info.root)
    is_bare = not run.format.has_samples or (not splits and phase == "ready" and query.has_metrics(run))
    item = record_from(
        RunItem,
        run.info,
        id=run.id,
        path=address_of(run.info.root),
        about=bundled.about if bundled else "",
        group=bundled.group if bundled else "",
        splits=splits,
        problems=query.problem_count(run, of_files=of_files),
        may_report=query.may_report(run),
        has_metrics_alone=is_bare,
        logged_reward=number(query.logged_reward(run)) if is_bare and of_files else None,
        version=version,
        reward_range=run.info.reading.reward_range or run.info.reward_range,
        metric_ranges=[
            MetricRange(name=name, worst=worst, best=best)
            for name, worst, best in run.info.metric_ranges[:MAX_RANGES]
            if is_finite(worst) and is_finite(best)
        ],
        **_changing(run),
    )
    kept = DESCRIPTIONS[run] = RunDescription(state, time.monotonic() if of_files else NEVER_S, item)
    return kept


def _now(run: OpenRun, item: RunItem) -> RunItem:
    return msgspec.structs.replace(item, **_changing(run))


def _changing(run: OpenRun) -> dict[str, Any]:
    """Return the fields of a description that change without a new version."""
    changed_s, quiet_s = run.sources.changed_s(), run.sources.rhythm.quiet_s
    return {
        "progress": run.progress(),
        "live": is_live(run, changed_s, quiet_s),
        "has_grown": run.sources.has_grown,
        "ending": run.facts.ending,
        "changed_s": changed_s,
        "quiet_s": quiet_s,
    }


def is_live(run: OpenRun, changed_s: float | None, quiet_s: float) -> bool:
    """True if a run is known to continue. The times of its files alone prove nothing: it may be a copy."""
    is_known = run.facts.ending == "open" or (run.facts.ending == "" and run.sources.has_grown)
    return is_known and changed_s is not None and changed_s < quiet_s


def split_items(run: OpenRun) -> list[SplitItem]:
    """Return the indexed parts of the splits."""
    newest = query.newest(run)
    return [
        record_from(
            SplitItem,
            split,
            reward_min=number(split.reward.min),
            reward_max=number(split.reward.max),
            last_reward=number(last.reward),
            last_response_tokens=number(last.response_tokens),
            last_response_chars=number(last.response_chars),
        )
        for split in query.splits(run, quick=True)
        for last in (newest.get(split.name, query.Newest()),)
    ]
