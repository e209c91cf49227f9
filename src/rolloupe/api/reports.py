"""Reports: the samples of a query in one file of HTML."""

import math
from collections.abc import Callable, Iterator
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, NamedTuple

from msgspec.structs import replace

from rolloupe import query
from rolloupe.errors import BadQuery, NotFound
from rolloupe.export import report
from rolloupe.export.report.contents import MEASURES, TITLES, ReportedSample, measured_by, reward_curve, worst_of

if TYPE_CHECKING:
    from rolloupe.index import OpenRun
    from rolloupe.query import Reader, SampleQuery

Advanced = Callable[[int, int], None]

MAX_KL = "max_kl"
"""A measure that is the first of these columns with a value."""
KL_COLUMNS = ("derived.max_kl", "derived.max_mismatch_kl")
DERIVED = "derived."


class ReportPlan(NamedTuple):
    """The choices of a report. See `Run.report`."""

    title: str
    worst: int | None
    by: str
    tokens: report.ReportedTokens
    advanced: Advanced
    insight: report.Insight


def write(
    run: "OpenRun", reader: "Reader", target: "Path | BinaryIO", wanted: "SampleQuery", plan: ReportPlan
) -> report.WrittenReport:
    """Write the report of a query."""
    worst, by = plan.worst, plan.by
    for rule in plan.tokens.rules:
        query.rule_of(query.UpdateChoice(rule))
    scope, total = report.scope_of(run.info.name, wanted), _total(run, wanted)
    measure = "" if worst is None else by
    if worst is not None and by not in MEASURES:
        wanted = _sorted(run, wanted, by, worst)
        measure = wanted.sort
    samples = _samples(run, reader, wanted, measure, plan.advanced)
    if worst is not None and by in MEASURES:
        samples = iter(worst_of(samples, by, worst))
    if worst is not None:
        first = next(samples, None)
        if first is None:
            raise NotFound(f"no sample has {by}, so nothing was written; `by` takes another measure, such as reward")
        samples = chain([first], samples)
    measure_title = TITLES.get(measure, "")
    if measure and not measure_title:
        labels = {column.name: column.label for column in query.catalogue(run).columns}
        measure_title = labels.get(measure, labels.get(f"{DERIVED}{measure}")) or measure
    about = report.Report(
        title=plan.title or run.info.name,
        about=scope,
        total=total,
        made=report.made_now(),
        measure=measure.removeprefix(DERIVED),
        measure_title=measure_title,
        curve=reward_curve(run, wanted.splits),
    )
    try:
        return report.write_report(target, about, samples, tokens=plan.tokens, insight=plan.insight)
    except ValueError as error:
        raise BadQuery(f"{error}. Next: name a folder, or choose fewer samples") from None


def _sorted(run: "OpenRun", wanted: "SampleQuery", by: str, worst: int) -> "SampleQuery":
    """Return the query for the worst samples by a column: of the reward the lowest, of all others the greatest."""
    if by == MAX_KL:
        rated = [
            replace(wanted, sort=column, where=(*wanted.where, query.Condition(column, ">=", -math.inf)))
            for column in KL_COLUMNS
        ]  # the samples with a value in a column, sorted by it
        wanted = next((one for one in rated if query.samples(run, replace(one, limit=0)).total), rated[0])
        by = wanted.sort
    if not query.has_column(run, by):
        known = ", ".join([MAX_KL, *MEASURES, *query.columns(run)][:40])
        raise BadQuery(f"no measure {by!r}; there are: {known}")
    return replace(wanted, sort=by, descending=by != "reward", limit=worst)


def _total(run: "OpenRun", wanted: "SampleQuery") -> int:
    """Return how many samples match a query, however many of them it asks for."""
    return query.samples(run, replace(wanted, offset=0, limit=0)).total


def _samples(
    run: "OpenRun", reader: "Reader", wanted: "SampleQuery", measure: str, advanced: Advanced
) -> Iterator[ReportedSample]:
    """Yield the samples of a query, each with the value of a column."""
    columns = [measure] if measure and measure not in MEASURES else []
    loss, total = query.loss_of(run), _total(run, wanted)
    total = total if wanted.limit is None else min(total, wanted.limit)
    for number, item in enumerate(query.every(run, wanted, columns), 1):
        (sample,) = query.with_group_advantages(run, [reader(item.key)])
        advanced(number, total)
        measured = measured_by(measure, item.values[0], sample) if columns else None
        yield ReportedSample(run.id, sample, query.neighbours(run, sample.key), loss, measured=measured)
