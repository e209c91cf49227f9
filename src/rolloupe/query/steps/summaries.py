"""Summaries of splits, steps, groups and datasets: from step statistics, or from one look at the samples."""

from collections import defaultdict
from collections.abc import Mapping
from typing import NamedTuple

from rolloupe.errors import NotFound
from rolloupe.garbage import gc_paused
from rolloupe.index import OpenRun, Snapshot, StepKey, StepStats, added_stamps
from rolloupe.index.segments.columns import ColumnRef
from rolloupe.query.engine import caches, database, relation
from rolloupe.query.engine.names import is_annotated, is_asked
from rolloupe.query.records import SplitSummary, StepSummary
from rolloupe.query.steps.moments import NONE, TrainedColumn, by_step, stats_of, trained_column

REWARD = ColumnRef("fixed", "reward")

MEANS = ("reward", "response_tokens", "response_chars")
MOST_STEPS = 200_000  # number of summaries of steps to cache
MOST_SPLITS = 20_000  # number of splits whose newest means are cached


class DatasetSummary(NamedTuple):
    """The samples of one dataset in a split."""

    name: str
    samples: int
    reward: float | None  # the mean of the finite rewards of trained samples; None without one


class Newest(NamedTuple):
    """Means over the trained samples, each at the newest step that has one."""

    reward: float | None = None
    response_tokens: float | None = None
    response_chars: float | None = None


def splits(run: OpenRun, *, quick: bool = False) -> list[SplitSummary]:
    """The splits of a run: `train` first, the others by name. Rewards cover trained samples, as those of steps do.

    `quick` looks at no sample: `groups` is -1, and annotations of rewards and discards are ignored. If annotations
    record discards, `discarded` is None, and `reward` covers those samples too.
    """
    snapshot = run.snapshot()
    by_split: dict[str, list[StepStats]] = defaultdict(list)
    for stats in snapshot.steps.values():
        by_split[stats.split].append(stats)
    counted = _counted_groups(run, [s for s in snapshot.steps.values() if s.groups < 0 and not quick])
    trained = TrainedColumn(run, snapshot, REWARD, quick=quick)
    summaries = []
    for name in sorted(by_split, key=lambda split: (split != "train", split)):
        members = by_split[name]
        reward, count, rows = NONE, 0, sum(s.rows for s in members)
        for stats in members:
            reward, count = reward.merge(trained.moments(stats)), count + trained.count(stats)
        groups = -1 if quick else sum(s.groups if s.groups >= 0 else counted[s.split, s.step] for s in members)
        numbers = [s.step for s in members]
        ends, again = (min(numbers), max(numbers)), sum(s.superseded for s in members)
        discarded = None if quick and snapshot.annotates_discarded else rows - count
        summaries.append(
            SplitSummary(name, len(members), groups, rows, *ends, stats_of(reward, count), again, discarded)
        )
    return summaries


def first_split(run: OpenRun) -> str:
    """The name of the first split of a run; `train` for a run without samples."""
    names = {split for split, _ in run.snapshot().steps}
    return "train" if "train" in names else min(names, default="train")


def _counted_groups(run: OpenRun, step_stats: list[StepStats]) -> dict[StepKey, int]:
    """Count the distinct groups of steps in several segments, whose own counts do not add up."""
    counts: dict[StepKey, int] = defaultdict(int)
    by_split: dict[str, list[int]] = defaultdict(list)
    for stats in step_stats:
        by_split[stats.split].append(stats.step)
    for split, numbers in by_split.items():
        low, high = min(numbers), max(numbers)
        sql = "SELECT step, count(DISTINCT grp) FROM rows WHERE split = ? AND step BETWEEN ? AND ? GROUP BY step"
        question = database.Question(run.snapshot().holding([split], low, high), sql, [split, low, high])
        counts.update({(split, step): count for step, count in database.ask(run, question)})
    return counts


_steps: caches.AnswerCache[list[StepSummary]] = caches.AnswerCache(MOST_STEPS, len)


def steps(run: OpenRun, split: str) -> list[StepSummary]:
    """Return the steps of a split, ascending; of `eval`, those of all evaluations together. Raises `NotFound`."""
    snapshot = run.snapshot()  # which has a new version when the states of steps change
    states = run.facts.step_states
    return _steps.get(run, snapshot, split, lambda: _summaries(run, snapshot, split, states)).copy()


@gc_paused()
def _summaries(run: OpenRun, snapshot: Snapshot, split: str, states: Mapping[StepKey, str]) -> list[StepSummary]:
    trained = TrainedColumn(run, snapshot, REWARD)
    summaries = []
    for step, members in by_step(snapshot, split).items():
        rows, stamp = members[0].rows, members[0].stamp
        if len(members) > 1:
            rows, stamp = sum(s.rows for s in members), added_stamps(s.stamp for s in members)
        state = next(filter(None, (states.get((s.split, step)) for s in members)), "") if states else ""
        reward = trained.together(members)
        discarded = rows - reward.count - reward.excluded
        summaries.append(StepSummary(split, step, rows, reward, state, stamp, discarded))
    if not summaries:
        names = ", ".join(sorted({key[0] for key in snapshot.steps})) or "none yet"
        raise NotFound(f"no split {split!r} in run {run.id!r}; its splits: {names}")
    return sorted(summaries, key=lambda summary: summary.step)


def datasets(run: OpenRun, split: str) -> list[DatasetSummary]:
    """Return the datasets, or environments, that samples of a split name, by name; `eval` covers all evaluations."""
    snapshot = run.snapshot()
    names = sorted({name for name, _ in snapshot.steps if is_asked(name, split)})
    pieces = snapshot.holding(names) if names else []
    reward, rows = trained_column(run, snapshot, "reward", beside=["env"])
    is_counted = f"discarded = '' AND isfinite({reward})"
    sql = f"""
    SELECT env, count(*), {relation.mean_of(f"CASE WHEN {is_counted} THEN {reward} END")}
    FROM rows WHERE split IN (SELECT unnest(?)) AND env <> '' GROUP BY env ORDER BY env"""
    return [DatasetSummary(*dataset) for dataset in database.ask(run, rows.question(pieces, sql, [names]))]


def value_names(run: OpenRun) -> tuple[list[str], list[str]]:
    """The names of the sample metrics and of the tags of the run's samples, including annotations."""
    snapshot = run.snapshot()
    metrics, tags = snapshot.annotated_names()
    return list(dict.fromkeys([*snapshot.metrics, *metrics])), list(dict.fromkeys([*snapshot.tags, *tags]))


_newest = caches.AnswerCache[dict[str, Newest]](MOST_SPLITS, len)


def newest(run: OpenRun) -> dict[str, Newest]:
    """The newest means of each split. If annotations decide, only those of the first split, at its last step."""
    snapshot = run.snapshot()
    return _newest.get(run, snapshot, "newest", lambda: _means(run, snapshot))


def _means(run: OpenRun, snapshot: Snapshot) -> dict[str, Newest]:
    if snapshot.annotates_discarded or is_annotated(snapshot, MEANS):
        return _annotated_means(run, snapshot)
    by_split: dict[str, dict[str, float]] = defaultdict(dict)
    for stats in sorted(snapshot.steps.values(), key=lambda stats: stats.step):
        means = by_split[stats.split]
        for name in MEANS:
            if (moments := stats.columns.get(name)) is not None and moments.count:
                means[name] = moments.mean
    return {split: Newest(**means) for split, means in by_split.items()}


def _annotated_means(run: OpenRun, snapshot: Snapshot) -> dict[str, Newest]:
    """One look at the samples of one step: quick for a run of any length."""
    keys = sorted(snapshot.steps, key=lambda key: (key[0] != "train", key[0], -key[1]))
    if not keys:
        return {}
    split, step = keys[0]
    means = ", ".join(relation.mean_of(f"{relation.quote(name)}::DOUBLE") for name in MEANS)
    sql = f"SELECT {means} FROM rows WHERE split = ? AND step = ? AND discarded = ''"
    overlay = relation.AnnotationOverlay(snapshot.annotations, [*MEANS, "discarded"])
    pieces = snapshot.holding([split], step, step)
    ((reward, tokens, chars),) = database.ask(run, database.Question(pieces, sql, [split, step], overlay=overlay))
    return {split: Newest(reward, tokens, chars)}
