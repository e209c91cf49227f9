"""The configurations of several runs side by side."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from rolloupe.api.results import Rows, html_table
from rolloupe.api.run import Run
from rolloupe.errors import BadQuery

if TYPE_CHECKING:
    import pyarrow as pa

    from rolloupe.query import CurveQuery
    from rolloupe.query.curves.records import Floats, Ints

SHOWN_KEYS = 50


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


def compare_curves(runs: Sequence[Run], curve: "CurveQuery", *, group_by: str) -> list[GroupedCurve]:
    """Return the mean of a curve over the runs that share a value of a key of their configurations, such as seeds.

    Args:
        runs: what `rolloupe.open` returned, or runs of several of them.
        curve: such as `CurveQuery(kind="sample", name="reward", options=CurveOptions(smooth=10))`.
        group_by: the key, such as `"optim.lr"`; `rolloupe.compare` lists the keys.

    Groups come in ascending order of their values. Raises `BadQuery` if no run has the key, or none of a group the
    curve.
    """
    from rolloupe import query

    opened = [run._ready_for_curves([curve]) for run in runs]  # noqa: SLF001 - the same package
    found = []
    for value, members in query.run_groups(opened, group_by):
        of = query.group_curve(members, curve)
        ids, mean, smooth = [run.id for run in members], of.curve.values, of.curve.smooth
        found.append(GroupedCurve(value, ids, of.curve.steps, mean, of.std, of.low, of.high, of.counts, smooth))
    return found


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
