"""Splits, steps, groups and curves: what is answered from the sketches, and what needs one look at a step."""

import functools
import math
from collections import defaultdict
from collections.abc import Iterable, Sequence

from rolloupe.errors import BadQuery, NotFound
from rolloupe.index import Moments, OpenRun, Sketch, Snapshot, StepKey, added_stamps
from rolloupe.index.segments.columns import NUMERIC, Meant, kind_of
from rolloupe.query.engine import database
from rolloupe.query.engine.compile import said_discarded
from rolloupe.query.engine.database import Question
from rolloupe.query.engine.names import free, is_annotated, meaning
from rolloupe.query.engine.relation import Column, Said, mean_of, quote
from rolloupe.query.records import GroupSummary, SeriesPoint, SplitSummary, Stats, StepSummary
from rolloupe.query.splits import is_asked
from rolloupe.query.steps.discards import discarded_by_step

NONE = Moments()


def stats_of(moments: Moments, rows: int) -> Stats:
    """The statistics that moments of `rows` samples stand for."""
    if not moments.count:
        return Stats(0, None, None, None, None, rows)
    mean, std = moments.sum / moments.count, math.sqrt(max(0.0, moments.m2) / moments.count)
    return Stats(moments.count, mean, std, moments.min, moments.max, rows - moments.count)


REWARD = Meant("fixed", "reward")


class _Trained:
    """A column of what was trained on, by step: as the sketches have it, or where annotations say more, as they do."""

    def __init__(self, run: OpenRun, snapshot: Snapshot, of: Meant, *, quick: bool = False) -> None:
        asked = not quick and (is_annotated(snapshot, [of.column]) or snapshot.says_discarded)
        self._of = of
        self._said = _said_moments(run, snapshot, of.column) if asked else None
        self._discarded = None if quick else discarded_by_step(run)

    def moments(self, sketch: Sketch) -> Moments:
        """The moments of a step."""
        if self._said is None:
            return (sketch.columns if self._of.kind == "fixed" else sketch.metrics).get(self._of.name, NONE)
        return self._said.get((sketch.split, sketch.step), NONE)

    def count(self, sketch: Sketch) -> int:
        """How many samples of a step were trained on, with a value or without one."""
        if self._discarded is None:
            return sketch.trained
        return sketch.rows - self._discarded.get((sketch.split, sketch.step), 0)

    def together(self, sketches: Sequence[Sketch]) -> Stats:
        """The statistics of one step, or of several splits at a step."""
        return stats_of(merged(map(self.moments, sketches)), sum(map(self.count, sketches)))


def merged(moments: Iterable[Moments]) -> Moments:
    """The moments of all values together."""
    return functools.reduce(Moments.merge, moments, NONE)


def _by_step(snapshot: Snapshot, asked: str) -> dict[int, list[Sketch]]:
    """The sketches of the splits that are asked for, by step."""
    found: dict[int, list[Sketch]] = defaultdict(list)
    for sketch in snapshot.steps.values():
        if is_asked(sketch.split, asked):
            found[sketch.step].append(sketch)
    return found


def splits(run: OpenRun, *, quick: bool = False) -> list[SplitSummary]:
    """The splits of a run: `train` first, the others by name. Rewards are of what was trained on, as those of steps.

    `quick` looks at no sample: `groups` is -1, and what annotations say of rewards and discards is left aside, so that
    where they say what was discarded `discarded` is None, and `reward` is of those samples too.
    """
    snapshot = run.snapshot()
    by_split: dict[str, list[Sketch]] = defaultdict(list)
    for sketch in snapshot.steps.values():
        by_split[sketch.split].append(sketch)
    counted = {} if quick else _counted_groups(run, [s for s in snapshot.steps.values() if s.groups < 0])
    trained = _Trained(run, snapshot, REWARD, quick=quick)
    found = []
    for name in sorted(by_split, key=lambda split: (split != "train", split)):
        members = by_split[name]
        reward, count, rows = NONE, 0, sum(s.rows for s in members)
        for sketch in members:
            reward, count = reward.merge(trained.moments(sketch)), count + trained.count(sketch)
        groups = -1 if quick else sum(s.groups if s.groups >= 0 else counted[s.split, s.step] for s in members)
        numbers = [s.step for s in members]
        found.append(
            SplitSummary(
                name,
                len(members),
                groups,
                rows,
                min(numbers),
                max(numbers),
                stats_of(reward, count),
                sum(s.superseded for s in members),
                None if quick and snapshot.says_discarded else rows - count,
            )
        )
    return found


def _counted_groups(run: OpenRun, sketches: list[Sketch]) -> dict[tuple[str, int], int]:
    """Distinct groups of steps that lie in several segments, whose own counts do not add."""
    counts: dict[tuple[str, int], int] = defaultdict(int)
    by_split: dict[str, list[int]] = defaultdict(list)
    for sketch in sketches:
        by_split[sketch.split].append(sketch.step)
    for split, numbers in by_split.items():
        pieces = run.snapshot().holding([split], min(numbers), max(numbers))
        sql = "SELECT step, count(DISTINCT grp) FROM rows WHERE split = ? AND step BETWEEN ? AND ? GROUP BY step"
        if pieces:
            for step, count in database.ask(run, Question(pieces, sql, [split, min(numbers), max(numbers)])):
                counts[split, step] = count
    return counts


def steps(run: OpenRun, split: str) -> list[StepSummary]:
    """The steps of a split, ascending; of `eval` those of all evaluations, their samples together.

    Raises `NotFound`, naming the splits there are.
    """
    snapshot = run.snapshot()
    trained = _Trained(run, snapshot, REWARD)
    found = []
    for step, members in _by_step(snapshot, split).items():
        rows, count = sum(s.rows for s in members), sum(map(trained.count, members))
        states = (run.step_states.get((s.split, step), "") for s in members)
        state = next(filter(None, states), "")
        stamp = added_stamps(s.stamp for s in members)
        found.append(StepSummary(split, step, rows, trained.together(members), state, stamp, rows - count))
    if not found:
        known = ", ".join(sorted({key[0] for key in run.snapshot().steps})) or "none yet"
        raise NotFound(f"no split {split!r} in run {run.id!r}; its splits: {known}")
    return sorted(found, key=lambda summary: summary.step)


def value_names(run: OpenRun) -> tuple[list[str], list[str]]:
    """The names of the sample metrics and of the tags that samples of the run have, those of annotations included."""
    snapshot = run.snapshot()
    metrics, tags = snapshot.said_names()
    return list(dict.fromkeys([*snapshot.metrics, *metrics])), list(dict.fromkeys([*snapshot.tags, *tags]))


def columns(run: OpenRun) -> list[str]:
    """The names a list may be sorted and a curve drawn by: fixed numbers, then the run's sample metrics."""
    return [*NUMERIC, *(free(name, "metric") for name in run.snapshot().metrics)]


def token_series_names(run: OpenRun) -> list[str]:
    """The token series of which the index keeps something."""
    return list(dict.fromkeys(name for sketch in run.snapshot().steps.values() for name in sketch.series))


def series(run: OpenRun, name: str, split: str | None = None) -> list[SeriesPoint]:
    """A sample metric by step, of one split or all; or the token series of that name, where no sample metric has it.

    Of `eval` a point is of all evaluations at its step together. A point of a token series is of the tokens that have
    a value, and there is none where none has. Raises `BadQuery`, naming what there is.
    """
    snapshot = run.snapshot()
    if split is None:
        places = [(key, [sketch]) for key, sketch in snapshot.steps.items()]
    else:
        places = [((split, step), members) for step, members in _by_step(snapshot, split).items()]
    of = meaning(snapshot, name)
    if of is not None and (of.kind == "metric" or (of.kind == "fixed" and of.name in NUMERIC)):
        trained = _Trained(run, snapshot, of)
        points = [SeriesPoint(*key, trained.together(members)) for key, members in places]
    elif name in (known := token_series_names(run)):
        held = ((key, [s.series[name].moments for s in members if name in s.series]) for key, members in places)
        points = [SeriesPoint(*key, stats_of(merged(own), sum(m.count for m in own))) for key, own in held if own]
    else:
        also = f"; token series: {', '.join(known)}" if known else ""
        raise BadQuery(f"no sample metric {name!r}; there are: {', '.join(columns(run)[:40])}{also}")
    return sorted(points, key=lambda point: (point.split, point.step))


def _said_moments(run: OpenRun, snapshot: Snapshot, column: str) -> dict[StepKey, Moments]:
    """The moments of a column where annotations say something of it, or of what was trained on: sketches are older."""
    value = quote(column)
    sql = f"""
    SELECT split, step, count({value}), sum({value}), var_pop({value}) * count({value}), min({value}), max({value})
    FROM rows WHERE isfinite({value}) AND discarded = '' GROUP BY split, step"""
    pieces = snapshot.holding()
    named = [Column(column, kind)] if (kind := kind_of(column)) else []
    answer = (
        database.ask(run, Question(pieces, sql, named=named, said=Said(snapshot.annotations, [column, "discarded"])))
        if pieces
        else []
    )
    return {(split, step): Moments(*numbers) for split, step, *numbers in answer}


GROUPS = f"""
, placed AS (SELECT *, row(source, ordinal, byte_start, part) AS place FROM rows WHERE split = ? AND step = ?)
, own AS (SELECT *, min(place) OVER (PARTITION BY grp) AS lead FROM placed)
SELECT grp, arg_min(prompt_preview, place), count(*), count(reward) FILTER (isfinite(reward)),
       {mean_of("reward")}, stddev_pop(reward) FILTER (isfinite(reward)),
       min(reward) FILTER (isfinite(reward)), max(reward) FILTER (isfinite(reward)), arg_min(env, place),
       coalesce(mode(nullif(discarded, '')), '')
FROM own WHERE {{}} GROUP BY grp ORDER BY min(lead)
"""


def groups(run: OpenRun, split: str, step: int, *, trained: bool | None = None) -> list[GroupSummary]:
    """The groups of a step in order of their first sample. Raises `NotFound` where the step has no sample.

    `trained` as in `SampleQuery`: of a step that has no such sample there are no groups.
    """
    snapshot = run.snapshot()
    pieces = snapshot.holding([split], step, step)
    which = "true" if trained is None else f"discarded {'=' if trained else '<>'} ''"
    question = Question(pieces, GROUPS.format(which), [split, step], said=said_discarded(snapshot))
    found: list[GroupSummary] = []
    first = 0
    answer = database.ask(run, question) if pieces else []
    for group, prompt, count, finite, mean, std, low, high, env, reason in answer:
        found.append(
            GroupSummary(group, prompt, count, first, Stats(finite, mean, std, low, high, count - finite), env, reason)
        )
        first += count
    if not pieces:
        raise NotFound(f"no samples at step {step} of split {split!r} in run {run.id!r}")
    return found
