"""The columns that a run's samples have: what a person may show, sort and filter by, and what values it may have."""

from collections.abc import Iterable
from typing import NamedTuple

from rolloupe.index import OpenRun, Sketch
from rolloupe.index.columns import NUMERIC
from rolloupe.query.names import WORDS


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
    """The columns of a split, or of all. What annotations say is among the names, but not in the ranges."""
    snapshot = run.snapshot()
    sketches = [sketch for sketch in snapshot.steps.values() if split in (None, sketch.split)]
    seen = _seen(sketches)
    for name in snapshot.annotated():
        seen.pop(name, None)
    declared = {name: (worst, best) for name, worst, best in run.info.metric_ranges}
    reward = run.info.reading.reward_range or run.info.reward_range
    if reward is not None:
        declared["reward"] = reward

    def number(name: str, source: str) -> ColumnInfo:
        return ColumnInfo(name, "number", source, *seen.get(name, (None, None)), *declared.get(name, (None, None)))

    fixed = [*NUMERIC, "step"]
    found = [number(name, "fixed") for name in fixed if name in ("reward", "step", "advantage") or name in seen]
    found += [ColumnInfo(name, "text", "fixed") for name in WORDS]
    taken = {one.name for one in found} | set(NUMERIC)
    found += [number(name, "metric") for name in snapshot.metrics if name not in taken]
    taken |= set(snapshot.metrics)
    found += [ColumnInfo(name, "text", "tag") for name in snapshot.tags if name not in taken]
    sizes = [round(sketch.rows / sketch.groups) for sketch in sketches if sketch.groups > 0]
    return Catalogue(found, max(sizes, default=0))


def _seen(sketches: Iterable[Sketch]) -> dict[str, tuple[float, float]]:
    found: dict[str, tuple[float, float]] = {}
    for sketch in sketches:
        for held in (sketch.metrics, sketch.columns):  # a fixed column wins over a metric of its name
            for name, moments in held.items():
                if moments.count:
                    low, high = found.get(name, (moments.min, moments.max))
                    found[name] = (min(low, moments.min), max(high, moments.max))
    return found
