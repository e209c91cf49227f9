"""The columns that a run's samples have: what a person may show, sort and filter by, and what values it may have."""

from collections.abc import Collection, Iterable, Mapping
from typing import NamedTuple, TypeAlias

from rolloupe.index import OpenRun
from rolloupe.index.segments.columns import NUMERIC, SAID
from rolloupe.index.segments.step_stats import Moments
from rolloupe.query.engine.names import WORDS, free
from rolloupe.query.splits import is_asked

Range: TypeAlias = tuple[float, float]


class ColumnInfo(NamedTuple):
    """A column of samples. `low` and `high` are of the finite values seen; None where there is none, or it is text."""

    name: str
    kind: str
    """`number` or `text`."""
    source: str
    """`fixed`, `metric` or `tag`."""
    low: float | None = None
    high: float | None = None
    worst: float | None = None
    """As the run declares it, with `best`; the greater of both where less is better."""
    best: float | None = None


class Catalogue(NamedTuple):
    """The columns, and how many samples a group has where groups are whole; 0 where that is not known."""

    columns: list[ColumnInfo]
    group_size: int


def catalogue(run: OpenRun, split: str | None = None) -> Catalogue:
    """The columns of a split, or of all, by the names by which they are asked for.

    What annotations say is among the names, but not in the ranges.
    """
    snapshot = run.snapshot()
    sketches = [sketch for sketch in snapshot.steps.values() if is_asked(sketch.split, split)]
    of_columns = _ranges((sketch.columns for sketch in sketches), SAID if snapshot.annotations else ())
    of_metrics = _ranges((sketch.metrics for sketch in sketches), snapshot.said_names()[0])
    declared = {name: (worst, best) for name, worst, best in run.info.metric_ranges}
    reward = run.info.reading.reward_range or run.info.reward_range
    if reward is not None:
        declared["reward"] = reward

    def number(name: str, source: str, known: Mapping[str, Range], own: str) -> ColumnInfo:
        return ColumnInfo(name, "number", source, *known.get(own, (None, None)), *declared.get(name, (None, None)))

    fixed = [name for name in (*NUMERIC, "step") if name in ("reward", "step", "advantage") or name in of_columns]
    found = [number(name, "fixed", of_columns, name) for name in fixed]
    found += [ColumnInfo(name, "text", "fixed") for name in WORDS]
    found += [number(free(name, "metric"), "metric", of_metrics, name) for name in snapshot.metrics]
    found += [ColumnInfo(free(name, "tag", snapshot.metrics), "text", "tag") for name in snapshot.tags]
    sizes = [round(sketch.rows / sketch.groups) for sketch in sketches if sketch.groups > 0]
    return Catalogue(found, max(sizes, default=0))


def _ranges(held: Iterable[Mapping[str, Moments]], said: Collection[str]) -> dict[str, Range]:
    """The lowest and the highest finite value that was seen of each name, but of those that annotations say."""
    found: dict[str, Range] = {}
    for one in held:
        for name, moments in one.items():
            if moments.count and name not in said:
                low, high = found.get(name, (moments.min, moments.max))
                found[name] = (min(low, moments.min), max(high, moments.max))
    return found
