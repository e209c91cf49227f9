"""Sample metrics at one step: the values of samples, histograms with common bins, the change from the step before."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rolloupe.columns import KNOWN
from rolloupe.errors import BadQuery, NotFound
from rolloupe.index import OpenRun
from rolloupe.query.distribution.bins import bins_of
from rolloupe.query.engine import database
from rolloupe.query.engine.database import Question
from rolloupe.query.records import SampleItem, SampleQuery, Stats
from rolloupe.query.samples.pages import samples
from rolloupe.query.steps.summaries import sample_points, trained_column

MAX_NAMES = 8
MAX_SAMPLES = 5000


class MetricAtStep(NamedTuple):
    """A sample metric at a step, over the trained samples with a finite value."""

    name: str
    stats: Stats
    before: Stats | None
    """At the step before; None at the first step that has values."""
    counts: NDArray[np.int64]
    """The number of samples in each bin; empty for a metric without a histogram."""


class StepValues(NamedTuple):
    """Sample metrics at one step of one split."""

    split: str
    step: int
    before: int | None
    """The step before, of those with samples."""
    edges: list[float]
    """The bins of all histograms: bin `i` holds the values from `edges[i]` up to, not including, `edges[i + 1]`."""
    metrics: list[MetricAtStep]
    samples: Sequence[SampleItem]
    """The first samples that were trained on, with the values of the metrics; those of a group stand together."""
    total: int
    """The number of all samples that were trained on."""


def step_values(
    run: OpenRun, split: str, step: int, names: Sequence[str], also: Sequence[str] = (), *, most: int = MAX_SAMPLES
) -> StepValues:
    """Return sample metrics at a step, with histograms and the values of its first `most` samples.

    Of the metrics in `also`, which follow the others, return the statistics alone.

    Raises `BadQuery` for unknown names and for more than `MAX_NAMES`, `NotFound` for a step without samples.
    """
    if not names or len(names) + len(also) > MAX_NAMES:
        raise BadQuery(f"{len(names) + len(also)} metrics were requested; one answer has 1 to {MAX_NAMES}")
    steps = sorted(of for name, of in run.snapshot().steps if name == split)
    if step not in steps:
        raise NotFound(f"no samples at step {step} of split {split!r} in run {run.id!r}")
    before = max((one for one in steps if one < step), default=None)
    arrays = [_finite(run, split, step, name) for name in names]
    edges = _common_edges(names, arrays)
    counts = [*(_counts(array, edges) for array in arrays), *[np.zeros(0, np.int64)] * len(also)]
    query = SampleQuery(splits=(split,), step_min=step, step_max=step, trained=True, limit=most)
    page = samples(run, query, columns=list(names))
    metrics = [_metric(run, split, name, step, before, own) for name, own in zip([*names, *also], counts, strict=True)]
    return StepValues(split, step, before, edges, metrics, page.samples, page.total)


def _metric(
    run: OpenRun, split: str, name: str, step: int, before: int | None, counts: NDArray[np.int64]
) -> MetricAtStep:
    by_step = {point.step: point.stats for point in sample_points(run, name, split)}
    return MetricAtStep(name, by_step[step], None if before is None else by_step.get(before), counts)


def _finite(run: OpenRun, split: str, step: int, name: str) -> NDArray[np.float64]:
    """The finite values of the trained samples of a step."""
    snapshot = run.snapshot()
    column = trained_column(run, snapshot, name)
    sql = f"""SELECT {column.value} AS value FROM rows
    WHERE split = ? AND step = ? AND isfinite({column.value}) AND discarded = ''"""
    pieces = snapshot.holding([split], step, step)
    question = Question(pieces, sql, [split, step], column.named, overlay=column.overlay)
    values: NDArray[np.float64] = database.table(run, question)["value"].to_numpy()
    return values


def _common_edges(names: Sequence[str], arrays: Sequence[NDArray[np.float64]]) -> list[float]:
    found = [array for array in arrays if len(array)]
    if not found:
        return []
    whole = all((known := KNOWN.get(name)) is not None and known.type in ("integer", "short") for name in names)
    low, high = min(float(one.min()) for one in found), max(float(one.max()) for one in found)
    return bins_of(low, high, whole=whole).edges


def _counts(values: NDArray[np.float64], edges: Sequence[float]) -> NDArray[np.int64]:
    bins = max(0, len(edges) - 1)
    places = np.searchsorted(edges, values, "right") - 1
    return np.bincount(np.clip(places, 0, bins - 1), minlength=bins) if bins else np.zeros(0, np.int64)
