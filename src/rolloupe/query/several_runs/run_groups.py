"""Runs that share a value of their configurations, such as seeds of one learning rate, and curves over them."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from msgspec.structs import replace

from rolloupe.errors import BadQuery, NotFound
from rolloupe.formats.reading.files import listing_once
from rolloupe.index import OpenRun
from rolloupe.query.curves.curve import check_range, whole_curve
from rolloupe.query.curves.cut import Range, cut
from rolloupe.query.curves.moving_average import average
from rolloupe.query.curves.records import Curve, CurveQuery, Floats, Ints
from rolloupe.query.run.config_differences import flat
from rolloupe.query.run.trainer_files import config
from rolloupe.query.several_runs.config_table import WHOLE


class RunGroup(NamedTuple):
    """Runs with the same value of a key; None for runs without the key."""

    value: str | None
    runs: list[OpenRun]


class GroupCurve(NamedTuple):
    """The mean of a curve over the runs of a group at each step: over those that have a finite value there.

    `spread` of the curve is `std`, the standard deviation of the runs (their number divides the squares, not one
    less); `low` and `high` are their extremes.
    """

    curve: Curve
    std: Floats
    low: Floats
    high: Floats
    counts: Ints
    """The number of runs with a value at each step."""


def run_groups(runs: Sequence[OpenRun], key: str) -> list[RunGroup]:
    """Divide runs by the value of a key of their configurations: in ascending order, runs without the key last.

    Raises `BadQuery` for a key that none of them has.
    """
    by_value: dict[str | None, list[OpenRun]] = {}
    for run in runs:
        by_value.setdefault(flat(config(run), WHOLE).get(key), []).append(run)
    if by_value.keys() <= {None}:
        raise BadQuery(f"none of the runs has {key!r} in its configuration")
    return [RunGroup(value, by_value[value]) for value in sorted(by_value, key=_order)]


def group_curve(
    runs: Sequence[OpenRun],
    query: CurveQuery,
    *,
    most: int | None = None,
    step_min: int | None = None,
    step_max: int | None = None,
) -> GroupCurve:
    """Return the mean of a curve over runs. Runs without the curve are left out; if all are, raises as `curve` does."""
    check_range(most)
    found = _whole_curves(runs, query)
    steps = np.unique(np.concatenate([one.steps for one in found]))
    values = _by_step(found, steps, lambda one: one.values)
    is_finite = np.isfinite(values)
    counts = is_finite.sum(axis=0)
    mean = _mean(values)
    spread = np.sqrt(_ratio((np.where(is_finite, values - mean, 0.0) ** 2).sum(axis=0), counts))
    low = np.where(counts > 0, np.where(is_finite, values, np.inf).min(axis=0), np.nan)
    high = np.where(counts > 0, np.where(is_finite, values, -np.inf).max(axis=0), np.nan)
    whole = Curve(
        query=query,
        steps=steps,
        values=mean,
        spread=spread,
        low=low,
        high=high,
        smooth=average(steps, mean, query.options.smooth),
        points=len(steps),
        left_out=sum(one.left_out for one in found),
        reach=_reach(found),
        x=None if query.x is None else _mean(_by_step(found, steps, lambda one: one.x)),
        x_start_s=next((one.x_start_s for one in found if one.x_start_s is not None), None),
    )
    drawn, chosen = cut(whole, Range(most, step_min, step_max))
    return GroupCurve(drawn, spread[chosen], low[chosen], high[chosen], counts[chosen])


def _whole_curves(runs: Sequence[OpenRun], query: CurveQuery) -> list[Curve]:
    """The curves of the runs that have it: whole, as a range of each would draw other runs together."""
    plain = replace(query, options=replace(query.options, smooth=0, spread=False, band=""))
    found, error = list[Curve](), BadQuery("a group of runs needs at least one run")
    with listing_once():
        for run in runs:
            try:
                found.append(whole_curve(run, plain))
            except (BadQuery, NotFound) as reason:
                error = reason if isinstance(reason, BadQuery) else BadQuery(str(reason))
    if not found:
        raise error
    return found


def _reach(curves: Sequence[Curve]) -> tuple[float, float] | None:
    ends = [one.reach for one in curves if one.reach is not None]
    return (min(low for low, _ in ends), max(high for _, high in ends)) if ends else None


def _by_step(curves: Sequence[Curve], steps: Ints, of: Callable[[Curve], Floats | None]) -> Floats:
    """The values of the curves at all steps, a row each; NaN at a step that a curve lacks."""
    table = np.full((len(curves), len(steps)), np.nan)
    for row, one in zip(table, curves, strict=True):
        row[np.searchsorted(steps, one.steps)] = of(one)
    return table


def _mean(values: Floats) -> Floats:
    is_finite = np.isfinite(values)
    return _ratio(np.where(is_finite, values, 0.0).sum(axis=0), is_finite.sum(axis=0))


def _ratio(sums: Floats, counts: Ints) -> Floats:
    """The sums by their counts; NaN for a step without any."""
    with np.errstate(invalid="ignore", divide="ignore"):
        means: Floats = sums / counts
    return means


def _order(value: str | None) -> tuple[bool, bool, float, str]:
    """Numbers come first, by size, then other texts, then runs without a value."""
    try:
        number = float(value or "")
    except ValueError:
        return value is None, True, 0.0, value or ""
    return False, False, number, value or ""
