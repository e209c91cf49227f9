"""The columns of a run's samples, with the ranges of their values, and those that a list shows by default."""

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from heapq import nlargest
from itertools import islice
from typing import NamedTuple, TypeAlias

import numpy as np
from msgspec import Struct
from msgspec.structs import replace
from numpy.typing import NDArray

from rolloupe.derive import METRICS, PREFIX
from rolloupe.index import OpenRun
from rolloupe.index.segments.step_stats import Moments, MomentsByName
from rolloupe.model import ANNOTATED, CHARTED, KNOWN, Real
from rolloupe.query.engine.names import EVALS, is_asked, qualified
from rolloupe.query.evals.grader import judge_of
from rolloupe.query.steps.moments import token_series_names
from rolloupe.questions import ColumnQuery

Range: TypeAlias = tuple[float, float]
ALWAYS = ("reward", "step", "advantage")  # columns in every list, with or without values

TEXTUAL = sorted(
    (name for name, column in KNOWN.items() if not column.is_number), key=lambda name: KNOWN[name].group == "identity"
)
"""Facts about a sample first, then its names."""

MOST_PARTS = 4  # maximum number of parts of the reward

LOOKED_AT = 16
"""Number of the newest steps that decide whether a number varies: a list of one step must not cost the whole run."""

_PART = re.compile("reward|score|correct|acc|pass", re.IGNORECASE)

_WHOLE = frozenset(["reward", "score", "total", "total_reward", "final_reward"])
"""The last part of names under which trainers log the reward itself."""

_OTHERS = ("ref_", "valid_")  # prefixes of the names of other rewards than the sample's


class ColumnInfo(Struct, frozen=True):
    """A column of samples. `low` and `high` cover the finite values; None for text, or without such a value."""

    name: str
    kind: str
    """`number` or `text`."""
    source: str
    """`fixed`, `metric`, `tag` or `derived`."""
    low: Real | None = None
    high: Real | None = None
    worst: Real | None = None
    """The declared range, with `best`; if less is better, this is the greater number."""
    best: Real | None = None
    label: str = ""
    """A label for people; empty if it would add nothing to the name."""
    unit: str = ""
    is_empty: bool = False
    """True if no sample has a number; False while annotations or the index may still add one."""


class Catalogue(NamedTuple):
    """The columns, and the number of samples in a group if groups are complete; 0 if unknown."""

    columns: list[ColumnInfo]
    group_size: int


def catalogue(run: OpenRun, split: str | None = None) -> Catalogue:
    """Return the columns of a split, or of all splits. Annotations add names, but do not extend the ranges."""
    snapshot = run.snapshot()
    step_stats = [stats for stats in snapshot.steps.values() if is_asked(stats.split, split)]
    annotated, annotated_metrics = ANNOTATED if snapshot.annotations else (), snapshot.annotated_names()[0]
    of_columns = _ranges((stats.columns for stats in step_stats), annotated)
    of_metrics = _ranges((stats.metrics for stats in step_stats), annotated_metrics)
    declared = {name: (worst, best) for name, worst, best in run.info.metric_ranges}
    reward = run.info.reading.reward_range or run.info.reward_range
    if reward is not None:
        declared["reward"] = reward

    def number(name: str, source: str, ranges: Mapping[str, Range], key: str, later: Collection[str]) -> ColumnInfo:
        info = ColumnInfo(name, "number", source, *ranges.get(key, (None, None)), *declared.get(name, (None, None)))
        return replace(info, is_empty=key not in ranges and key not in later)

    fixed = [name for name in (*CHARTED, "step") if name in ALWAYS or name in of_columns]
    columns = [number(name, "fixed", of_columns, name, (*annotated, "step")) for name in fixed]
    columns += [ColumnInfo(name, "text", "fixed") for name in TEXTUAL]
    columns += [
        number(qualified(name, "metric"), "metric", of_metrics, name, annotated_metrics) for name in snapshot.metrics
    ]
    columns += [ColumnInfo(qualified(name, "tag", snapshot.metrics), "text", "tag") for name in snapshot.tags]
    for place, info in enumerate(columns):
        if info.source == "fixed" and info.name in KNOWN:
            columns[place] = replace(info, label=KNOWN[info.name].label, unit=KNOWN[info.name].unit)
    derived, is_whole = _ranges((stats.derived for stats in step_stats), ()), all(stats.derived for stats in step_stats)
    has_series = any(stats.series for stats in step_stats)
    for name, metric in METRICS.items():
        info = ColumnInfo(f"{PREFIX}{name}", "number", "derived", *derived.get(name, (None, None)))
        is_empty = is_whole and name not in derived and not (metric.of_tokens and has_series)  # a later pass
        columns.append(replace(info, label=metric.label, unit=metric.unit, is_empty=is_empty))
    sizes = [round(stats.rows / stats.groups) for stats in step_stats if stats.groups > 0]
    return Catalogue(columns, max(sizes, default=0))


class RunColumns(Struct, frozen=True):
    """The columns to show, sort and filter samples by."""

    split: str
    columns: list[ColumnInfo]
    series: list[str]
    """The token series of the run's samples: their means over tokens have curves by step."""
    group_size: int
    """The maximum number of samples in a group; 0 if unknown."""


def columns_answer(run: OpenRun, asked: ColumnQuery) -> RunColumns:
    """Return the columns of a split."""
    known = catalogue(run, asked.split)
    return RunColumns(asked.split, known.columns, token_series_names(run), known.group_size)


def _ranges(moments_by_step: Iterable[MomentsByName], annotated: Collection[str]) -> dict[str, Range]:
    """The lowest and the highest finite value of each name, except those that annotations may override."""
    extremes = defaultdict[tuple[str, ...], list[NDArray[np.float64]]](list)
    for moments in moments_by_step:
        extremes[moments.names].append(moments.extremes)
    ranges: dict[str, Range] = {}
    for names, arrays in extremes.items():
        together = np.array(arrays)
        for name, low, high in zip(
            names, together[:, 0].min(axis=0).tolist(), together[:, 1].max(axis=0).tolist(), strict=True
        ):
            if name not in annotated:
                least, most = ranges.get(name, (low, high))
                ranges[name] = (min(least, low), max(most, high))
    return ranges


def usual_columns(run: OpenRun, split: str) -> list[str]:
    """Return reward, advantage, length and parts of the reward that vary in any step; the most telling first.

    An evaluation without rewards has the metric that grades it next.
    """
    snapshot = run.snapshot()
    newest = nlargest(LOOKED_AT, (key for key in snapshot.steps if is_asked(key[0], split)), key=lambda key: key[1])
    looked_at = [snapshot.steps[key] for key in newest]
    fixed = [stats.columns for stats in looked_at]
    metrics = [stats.metrics for stats in looked_at]
    columns = ["reward"]
    if is_asked(split, EVALS) and any(metrics) and not any("reward" in moments for moments in fixed):
        columns.append(qualified(judge_of(run, split).metric, "metric"))
    # no sum includes annotations of the advantage
    if snapshot.annotations or _varies(fixed, "advantage"):
        columns.append("advantage")
    lengths = (name for name in ("response_tokens", "response_chars") if _varies(fixed, name))
    columns += islice(lengths, 1)
    parts = (qualified(name, "metric") for name in snapshot.metrics if is_part(name) and _varies(metrics, name))
    return list(dict.fromkeys([*columns, *islice(parts, MOST_PARTS)]))


def is_part(name: str) -> bool:
    """Return True for the name of a part of the reward, but not of the whole reward."""
    last = re.split(r"[./]", name)[-1]
    return _PART.search(name) is not None and not name.startswith(_OTHERS) and last not in _WHOLE


def _varies(step_moments: Iterable[Mapping[str, Moments]], name: str) -> bool:
    seen = [moments for by_name in step_moments if (moments := by_name.get(name)) is not None and moments.count]
    return bool(seen) and min(moments.min for moments in seen) < max(moments.max for moments in seen)
