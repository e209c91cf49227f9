"""The distribution of a sample metric: at one step with histograms, and over the steps of a run."""

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from rolloupe.errors import BadQuery, NotFound
from rolloupe.index import OpenRun
from rolloupe.model import KNOWN, LARGEST, Real
from rolloupe.query.curves.curve import ALL_STEPS, Range
from rolloupe.query.engine import caches, database
from rolloupe.query.engine.names import is_asked
from rolloupe.query.records import SampleQuery, Stats
from rolloupe.query.samples.pages import samples
from rolloupe.query.steps.moments import sample_points, trained_column
from rolloupe.query.steps.summaries import first_split
from rolloupe.questions import StepValueQuery

MOST_BINS = 48  # more rows of a heat map than this are hard to tell apart
NARROWEST = 1e-12  # the narrowest bins, as a share of the largest value: the digits of narrower ones are lost

MAX_NAMES = 8

MAX_SAMPLES = 5000

KEPT_STEPS = 200_000

_counts = caches.StepAnswers(KEPT_STEPS)


class Bins(NamedTuple):
    """Bins from `first * width` on: bin `i` holds the values from edge `i` up to, not including, edge `i + 1`."""

    width: float
    first: int
    size: int

    @property
    def edges(self) -> list[float]:
        """The `size + 1` edges, as short decimal numbers."""
        edges = (float(f"{(self.first + i) * self.width:.15g}") for i in range(self.size + 1))
        return [max(-LARGEST, min(LARGEST, edge)) for edge in edges]

    def near(self, value: str) -> str:
        """In SQL, the number of the bin of a finite value, or of a neighbour: quotients are rounded."""
        return f"least(greatest(floor({value} / {self.width!r}) - {self.first}, 0), {self.size - 1})::INTEGER"

    def exact(self, value: str, near: str) -> str:
        """In SQL, the number of the bin, by its edges. The outermost bins hold what lies beyond them."""
        edges = self.edges
        low, high = ([*map(repr, side)] for side in (edges[:-1], edges[1:]))
        below = f"({value} < [{', '.join(low)}][{near} + 1])::INTEGER"
        above = f"({value} >= [{', '.join(high)}][{near} + 1])::INTEGER"
        return f"least(greatest({near} - {below} + {above}, 0), {self.size - 1})"


def bins_of(low: float, high: float, *, whole: bool = False) -> Bins:
    """Return at most `MOST_BINS` bins for values from `low` to `high`; `whole` for bins that begin at whole numbers."""
    largest = max(abs(low), abs(high))
    width = _round_up(max(high / (MOST_BINS - 2) - low / (MOST_BINS - 2), largest * NARROWEST, 1e-300))
    if low == high:
        width = _round_up(largest / 10) if largest else 1.0
    if whole:
        width = max(1.0, width)
    first = math.floor(low / width)
    return Bins(width, first, min(MOST_BINS, math.floor(high / width) - first + 1))


def _round_up(width: float) -> float:
    """The next larger number whose only digit is 1, 2 or 5."""
    power = math.floor(math.log10(width))
    round_widths = (float(f"{digit}e{power}") for digit in ("1", "2", "5", "10", "20"))
    return next(rounded for rounded in round_widths if rounded >= width * (1 - 1e-12))


class MetricAtStep(Struct, frozen=True):
    """A sample metric at a step, over the trained samples with a finite value."""

    name: str
    stats: Stats
    before: Stats | None
    """At the step before; None at the first step that has values."""
    counts: list[int]
    """The number of samples in each bin; empty for a metric without a histogram."""


class StepSample(Struct, frozen=True):
    """A sample of the step, with its values of the requested metrics in their order; None for a text."""

    id: str
    group: str
    values: list[Real | None]


class StepValues(Struct, frozen=True):
    """Sample metrics at one step of one split."""

    split: str
    step: int
    before: int | None
    """The previous step that has samples."""
    edges: list[float]
    """The bins of all histograms: bin `i` holds the values from `edges[i]` up to, not including, `edges[i + 1]`."""
    metrics: list[MetricAtStep]
    samples: list[StepSample]
    """The first samples that were trained on; those of a group stand together."""
    total: int
    """The number of all samples that were trained on."""


def step_values(run: OpenRun, asked: StepValueQuery) -> StepValues:
    """Return sample metrics at a step, with histograms and the values of its first `MAX_SAMPLES` samples.

    Of the metrics in `also`, which follow the others, return the statistics alone.

    Raises `BadQuery` for unknown names and for more than `MAX_NAMES`, `NotFound` for a step without samples.
    """
    split, step = asked.split, asked.step
    names, also = (list(dict.fromkeys(chosen)) for chosen in (asked.names, asked.also))
    if not names or len(names) + len(also) > MAX_NAMES:
        raise BadQuery(f"{len(names) + len(also)} metrics were requested; one answer has 1 to {MAX_NAMES}")
    known = [place for place in run.snapshot().steps if is_asked(place[0], split)]
    splits, steps = tuple(dict.fromkeys(name for name, _ in known)), sorted({of for _, of in known})
    if step not in steps:
        raise NotFound(f"no samples at step {step} of split {split!r} in run {run.id!r}")
    before = max((earlier for earlier in steps if earlier < step), default=None)
    arrays = [_finite(run, splits, step, name) for name in names]
    filled = [array for array in arrays if len(array)]
    edges, counts = list[float](), list[list[int]]([[]] * len(arrays))
    if filled:
        low, high = min(float(array.min()) for array in filled), max(float(array.max()) for array in filled)
        edges = bins_of(low, high, whole=all(map(_is_whole, names))).edges
        places = [np.clip(np.searchsorted(edges, array, "right") - 1, 0, len(edges) - 2) for array in arrays]
        counts = [np.bincount(own, minlength=len(edges) - 1).tolist() for own in places]
    query = SampleQuery(splits=splits, step_min=step, step_max=step, trained=True, limit=MAX_SAMPLES)
    page = samples(run, query, columns=names)
    metrics = []
    for name, own in zip([*names, *also], [*counts, *[[]] * len(also)], strict=True):
        by_step = {point.step: point.stats for point in sample_points(run, name, split)}
        earlier = None if before is None else by_step.get(before)
        metrics.append(MetricAtStep(name, by_step[step], earlier, own))
    listed = [
        StepSample(item.id, item.group, [None if isinstance(value, str) else value for value in item.values])
        for item in page.samples
    ]
    return StepValues(split, step, before, edges, metrics, listed, page.total)


def _finite(run: OpenRun, splits: Sequence[str], step: int, name: str) -> NDArray[np.float64]:
    snapshot = run.snapshot()
    value, rows = trained_column(run, snapshot, name)
    sql = f"""SELECT {value} AS value FROM rows
    WHERE split IN (SELECT unnest(?)) AND step = ? AND isfinite({value}) AND discarded = ''"""
    table = database.table(run, rows.question(snapshot.holding(splits, step, step), sql, [list(splits), step]))
    values: NDArray[np.float64] = table["value"].to_numpy()
    return values


def _is_whole(name: str) -> bool:
    return name in KNOWN and KNOWN[name].type in ("integer", "short")


class Distribution(NamedTuple):
    """Counts of the trained samples with a finite value, by bin and column; a column covers adjacent steps."""

    name: str
    split: str
    edges: list[float]  # bin `i` holds the values from `edges[i]` up to, not including, `edges[i + 1]`
    first_steps: NDArray[np.int64]
    last_steps: NDArray[np.int64]
    counts: NDArray[np.int64]  # by column and bin


def distribution(
    run: OpenRun, name: str, split: str = "", *, where: str = "", shown: Range = ALL_STEPS
) -> Distribution:
    """Return the distribution of a sample metric at each step of a range, a column each.

    Only samples that match `where` count. The bins are those of the whole split, so that zooming in and filtering
    leave them as they are. With more steps than columns, neighbours share one. Raises `BadQuery` for an unknown name,
    with the nearest names.
    """
    if shown.most is not None and shown.most < 1:
        raise BadQuery(f"a distribution has at least 1 column; {shown.most} were requested")
    split = split or first_split(run)
    stats = [point.stats for point in sample_points(run, name, split) if point.stats.count]
    low = min((stat.min for stat in stats if stat.min is not None), default=None)
    high = max((stat.max for stat in stats if stat.max is not None), default=None)
    if low is None or high is None:
        empty = np.zeros(0, np.int64)
        return Distribution(name, split, [], empty, empty, np.zeros((0, 0), np.int64))
    bins = bins_of(low, high, whole=_is_whole(name))
    by_step = {
        step: counts
        for step, counts in _counts_by_step(run, name, split, bins, where).items()
        if (shown.step_min is None or step >= shown.step_min) and (shown.step_max is None or step <= shown.step_max)
    }
    steps = np.array(sorted(by_step), dtype=np.int64)
    counts = np.zeros((len(steps), bins.size), np.int64)
    for place, step in enumerate(steps.tolist()):
        counts[place, list(by_step[step])] = list(by_step[step].values())
    width = 1 if shown.most is None else max(1, -(-len(steps) // shown.most))
    starts = np.arange(0, len(steps), width)
    lasts = np.minimum(starts + width, len(steps)) - 1
    columns = np.add.reduceat(counts, starts, axis=0) if len(steps) else counts
    return Distribution(name, split, bins.edges, steps[starts], steps[lasts], columns)


def _counts_by_step(run: OpenRun, name: str, split: str, bins: Bins, where: str) -> Mapping[int, Mapping[int, int]]:
    snapshot = run.snapshot()
    value, rows = trained_column(run, snapshot, name, where)
    sql = f"""
    {rows.own}, near AS (
        SELECT step, {value} AS value, {bins.near(value)} AS near FROM {rows.table}
        WHERE split IN (SELECT unnest(?)) AND isfinite({value}) AND discarded = ''
    ) SELECT step, histogram({bins.exact("value", "near")}) FROM near GROUP BY step"""
    return _counts.get(run, snapshot, split, rows, sql)
