"""The configurations of several runs side by side."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from rolloupe.api.results import SHOWN_ROWS, Rows, html_table
from rolloupe.api.run import Run
from rolloupe.errors import BadQuery, NotFound

if TYPE_CHECKING:
    import pyarrow as pa

    from rolloupe.insight.comparison import RewardComparison
    from rolloupe.query import CurveQuery
    from rolloupe.query.curves.points import Floats, Ints

SHOWN_KEYS = 50
COLUMNS = {"step": "steps", "mean": "mean", "std": "std", "min": "min", "max": "max", "count": "counts"}
"""The columns of a table of curves, each with its field of a curve."""


class ComparedKey(NamedTuple):
    """A key of configurations, and its value as text in each run, by its id; None for a missing key."""

    key: str
    differs: bool
    values: dict[str, str | None]


class ConfigComparison(Rows[ComparedKey]):
    """The keys of the configurations of runs, one a row; as a table, with a column for each run."""

    def arrow(self) -> "pa.Table":
        """Return a `pyarrow.Table` of `key`, `differs`, and the values of each run under its id."""
        import pyarrow as pa

        runs = list(self[0].values) if self else []
        values = [pa.array([row.values[run] for row in self], pa.string()) for run in runs]
        keys = pa.array([row.key for row in self], pa.string())
        return pa.table([keys, pa.array([row.differs for row in self], pa.bool_()), *values], ["key", "differs", *runs])

    def _repr_html_(self) -> str:
        return html_table([{"key": row.key, **row.values} for row in self[:SHOWN_KEYS]], len(self))


class GroupedCurve(NamedTuple):
    """The mean of a curve over the runs with one value of a key, by step. The arrays are as long as `steps`."""

    value: str | None
    """The value as text; None for runs without the key."""
    runs: list[str]
    """Their ids."""
    steps: "Ints"
    mean: "Floats"
    std: "Floats"
    """The population standard deviation of the runs."""
    min: "Floats"
    max: "Floats"
    counts: "Ints"
    """The number of runs with a finite value."""
    smooth: "Floats | None"


class CurveComparison(Rows[GroupedCurve]):
    """A curve over the runs of each group; as a table, with a row for each group and step."""

    def arrow(self) -> "pa.Table":
        """Return a `pyarrow.Table` of `value`, `step`, `mean`, `std`, `min`, `max`, `count`, and `smooth` if asked."""
        import numpy as np
        import pyarrow as pa

        values = [curve.value for curve in self for _ in curve.steps]
        columns: dict[str, Any] = {"value": pa.array(values, pa.string())}
        smooth = {"smooth": "smooth"} if any(curve.smooth is not None for curve in self) else {}
        for name, field in (COLUMNS | smooth).items():
            empty = np.zeros(0, np.int64 if name in ("step", "count") else np.float64)
            columns[name] = np.concatenate([empty, *(getattr(curve, field) for curve in self)])
        return pa.table(columns)

    def _repr_html_(self) -> str:
        table = self.arrow()
        return html_table(table.slice(0, SHOWN_ROWS).to_pylist(), table.num_rows)


def compare_curves(runs: Sequence[Run], curve: "CurveQuery | str", *, group_by: str | None = None) -> CurveComparison:
    """Return a curve of each run, or its mean over the runs that share a value of a key, such as seeds.

    Args:
        runs: what `rolloupe.open` returned, or runs of several of them.
        curve: such as `CurveQuery(kind="sample", name="reward", options=CurveOptions(smooth=10))`, or a name as in
            `Run.curves`, with the meaning that it has in the first run that has it.
        group_by: a key of their configurations, such as `"optim.lr"`; `rolloupe.compare` lists the keys. Without it,
            each run is a group of its own, whose `value` is its id; runs without the curve are left out.

    Groups come in ascending order of their values. Raises `BadQuery` if no run has the key, or none of a group the
    curve.
    """
    from rolloupe import query

    asked = _query_of(runs, curve)
    opened = [run._ready_for_curves([asked]) for run in runs]  # noqa: SLF001 - the same package
    each = [(run.id, [run]) for run in opened]
    groups = each if group_by is None else query.run_groups(opened, group_by).items()
    curves, error = CurveComparison(), None
    for value, members in groups:
        try:
            of = query.group_curve(members, asked)
        except (BadQuery, NotFound) as reason:
            if group_by is not None:
                raise
            error = error or reason
            continue
        mean, ids = of.curve, [run.id for run in members]
        row = GroupedCurve(value, ids, mean.steps, mean.values, of.std, of.low, of.high, of.counts, mean.smooth)
        curves.append(row)
    if error and not curves:
        raise error
    return curves


def _query_of(runs: Sequence[Run], curve: "CurveQuery | str") -> "CurveQuery":
    """Return the query that a name of a curve means in the first run that has it."""
    error = BadQuery("no run is there to compare")
    for run in runs:
        try:
            return run._curve_of(curve)  # noqa: SLF001 - the same package
        except BadQuery as reason:
            error = reason
    raise error


def compare(runs: Sequence[Run], *, all_keys: bool = False) -> ConfigComparison:
    """Compare the configurations of runs: the keys that differ, the most telling first.

    Args:
        runs: what `rolloupe.open` returned, or runs of several of them.
        all_keys: also return the keys whose values are the same in all runs, after the others.

    A run without a configuration has no values, and differs in no key. Raises `BadQuery` if two runs share an id.
    """
    import math

    from rolloupe import query

    ids = [run.id for run in runs]
    if len(set(ids)) < len(ids):
        raise BadQuery(f"two of the runs share an id: {', '.join(ids[:20])}; open their folders together")
    opened = [run._opened() for run in runs]  # noqa: SLF001 - the same package
    table = query.config_table(opened, all_keys=all_keys, max_s=math.inf)
    return ConfigComparison(
        ComparedKey(row.key, row.differs, dict(zip(table.runs, row.values, strict=True))) for row in table.rows
    )


def sides_of(runs: Sequence[Run]) -> list[list[Run]]:
    """Return the two sides of a comparison: two runs, or the runs of two recipes. Raises `BadQuery` for other runs.

    Runs whose configurations differ in their seeds alone are of one recipe.
    """
    from rolloupe.insight import comparison

    by_opened = {run._opened(): run for run in runs}  # noqa: SLF001 - the same package
    return [[by_opened[opened] for opened in side] for side in comparison.sides_of([*by_opened])]


def compare_rewards(
    first: "Run | Sequence[Run]", second: "Run | Sequence[Run]", *, split: str = "train",
    step_min: int | None = None, step_max: int | None = None,
) -> "RewardComparison":  # fmt: skip
    """Compare the mean rewards of two runs, or of two groups of runs that differ by their seeds alone.

    Args:
        first: a run, or several of one recipe.
        second: the other run, or the runs of the other recipe.
        split: the split whose rewards are compared.
        step_min: the first step of the window. Default: the middle of the steps that both have.
        step_max: the last step of the window, inclusive.

    Returns which side is `better`, the `difference` of their means with its 95% interval from `low` to `high`, and
    `since`, the step at which they part; `text` says it in words. Of two runs with few common steps, the interval is
    over `prompts` that both answer. Raises `BadQuery` for a run on both sides.
    """
    from rolloupe.insight import comparison

    sides = [side if isinstance(side, Sequence) else [side] for side in (first, second)]
    opened = [[run.indexed() for run in side] for side in sides]
    return comparison.compare_rewards(opened[0], opened[1], split=split, step_min=step_min, step_max=step_max)
