"""Routes for curves, as answers and as files; alarms, distributions; several runs side by side."""

import contextlib
import hashlib
from collections.abc import Iterator, Sequence
from typing import Any

from msgspec.structs import replace
from starlette.datastructures import QueryParams
from starlette.requests import Request
from starlette.responses import Response

from rolloupe import export, insight, query
from rolloupe.errors import BadQuery, NotFound
from rolloupe.index import OpenRun
from rolloupe.insight.comparison import RewardComparison, compare_rewards, sides_of
from rolloupe.query import Curve, CurveEntry, CurveQuery, SampleQuery
from rolloupe.query.curves.points import BANDS, STATS, Floats
from rolloupe.query.filter.parser import conditions
from rolloupe.questions import INT64
from rolloupe.server import params, people
from rolloupe.server.context import context_of
from rolloupe.server.endpoints import of_run, of_run_now, of_runs_now
from rolloupe.wire import runs as wire
from rolloupe.wire.encoding import plain, record_from

MAX_CURVES = 512
"""Maximum number of curves in one answer, counted for each run separately."""

MAX_POINTS = 20_000
MAX_TOTAL_POINTS = 1_000_000
"""Maximum number of points in one answer; as JSON they take about 30 bytes each."""

MAX_ENTRIES = 10_000
"""Entries of a catalogue in one answer."""

MAX_ALARMS = 200

OF_K = ("pass_at", "pass_all")

LACKING = (BadQuery, NotFound)
"""Errors for a curve that a run lacks."""

COLUMNS, MAX_COLUMNS = 200, 1000
"""Columns of a distribution, unless a request names a number, and the most that it may name."""


@of_run_now
def catalogue(run: OpenRun, parameters: QueryParams) -> wire.CatalogueReply:
    """`GET /api/runs/{run}/catalogue?split=`."""
    entries = query.curve_catalogue(run, parameters.get("split", ""))
    shown = [catalogue_entry(entry) for entry in entries[:MAX_ENTRIES]]
    return wire.CatalogueReply(entries=shown, left_out=len(entries) - len(shown))


def catalogue_entry(entry: CurveEntry) -> wire.CatalogueEntry:
    """Convert a curve of a catalogue to the browser's record."""
    k = entry.query.options.k if entry.query.stat in OF_K else 0
    return record_from(wire.CatalogueEntry, entry, entry.query, k=k, reason=entry.query.options.reason)


async def alarms(request: Request) -> Response:
    """`GET /api/runs/{run}/alarms`."""
    context, run = context_of(request), await context_of(request).run(request)

    def make() -> wire.AlarmsReply:
        raised, unchecked, _ = insight.check(insight.RunCurves(run))
        shown = [record_from(wire.AlarmItem, alarm, rule, rule=rule.name) for rule, alarm in raised[:MAX_ALARMS]]
        left_out = len(raised) - len(shown)
        return wire.AlarmsReply(rules=len(insight.RULES), alarms=shown, left_out=left_out, unchecked=unchecked)

    version = await context.threads.query(lambda: version_of(run))
    return await context.replies.remembered(request, ("alarms", run.id, version), make)


async def curves(request: Request) -> Response:
    """`POST /api/curves`."""
    context, body = context_of(request), await params.body_of(request, wire.CurvesRequest)
    runs = await asked_runs(request, body)
    queries = checked(body, len(runs))

    def make() -> wire.CurvesReply:
        groups = query.run_groups(runs, body.group_by) if body.group_by else None
        found = [
            answered(members, place, curve, body)
            for members in ([[run] for run in runs] if groups is None else groups.values())
            for place, curve in enumerate(queries)
        ]
        drawn = None
        if groups is not None:
            drawn = [wire.CurveGroup(value=value, runs=[run.id for run in of]) for value, of in groups.items()]
        return wire.CurvesReply(versions=versions, curves=found, groups=drawn)

    with query.listing_once():  # the versions and each curve ask which files hold the trainer's metrics
        versions = await context.threads.query(lambda: {run.id: version_of(run) for run in runs})
        digest = hashlib.blake2b(await request.body(), digest_size=16).hexdigest()
        key = ("curves", digest, *(f"{run} {version}" for run, version in versions.items()))
        return await context.replies.remembered(request, key, make)


async def asked_runs(request: Request, body: wire.CurvesRequest) -> list[OpenRun]:
    """Return the runs of some curves, with the judgements of the sender if a filter names these."""
    context, library = context_of(request), await context_of(request).runs(request)
    runs = [library.run(run_id) for run_id in params.run_ids(body.runs)]
    axes = (axis for curve in body.curves for axis in (curve, curve.x) if axis is not None)
    is_judged = False
    for axis in axes:
        with contextlib.suppress(BadQuery):  # of its curve alone
            is_judged |= bool(query.judgements_in(SampleQuery(where=conditions(axis.options.where))))
    return await context.judged(request, runs) if is_judged else runs


def checked(body: wire.CurvesRequest, runs: int) -> list[CurveQuery]:
    """Return the requested curves. Raises `BadQuery` for a request that is too large, or has steps beyond 64 bits."""
    count = runs * len(body.curves)
    if not count:
        raise BadQuery("name at least one run and one curve")
    if not query.LEAST_POINTS <= body.points <= MAX_POINTS:
        raise BadQuery(f"points is {body.points}; a curve has {query.LEAST_POINTS} to {MAX_POINTS:,} points")
    steps = [("step_min", body.step_min), ("step_max", body.step_max)]
    for name, step in [*steps, *(("last_step", curve.options.last_step) for curve in body.curves)]:
        if step is not None and not -INT64 <= step < INT64:
            raise BadQuery(f"{name} is {step}; steps are integers of 64 bits")
    if count > MAX_CURVES or count * body.points > MAX_TOTAL_POINTS:
        raise BadQuery(
            f"{count:,} curves of {body.points:,} points are too many: one answer has at most {MAX_CURVES} curves"
            f" and {MAX_TOTAL_POINTS:,} points. Ask for fewer at once"
        )
    return body.curves


def version_of(run: OpenRun) -> str:
    """Return a version that changes with the samples and with the trainer's files."""
    return f"{run.version} {query.trainer_version(run)}"


def drawn_curve(runs: Sequence[OpenRun], curve: CurveQuery, body: wire.CurvesRequest, most: int | None) -> Curve:
    """Return a curve of a run, or of a group. Raises as `query.curve` does."""
    shown = query.Range(most, body.step_min, body.step_max)
    return query.group_curve(runs, curve, shown).curve if body.group_by else query.curve(runs[0], curve, shown)


def answered(runs: Sequence[OpenRun], place: int, curve: CurveQuery, body: wire.CurvesRequest) -> wire.CurveData:
    """Return one curve of a run or of a group, or why it lacks the curve."""
    run = runs[0]
    try:
        found = drawn_curve(runs, curve, body, body.points)
    except LACKING as error:
        return wire.CurveData(run=run.id, curve=place, error=str(error))
    arrays: dict[str, Any] = {}
    for name in ("steps", "x", "with_value", "samples", "values", "spread", "low", "high", "smooth"):
        array = getattr(found, name)
        arrays[name] = None if array is None else plain(array.tolist())
    reach = found.reach and [*found.reach]
    return record_from(wire.CurveData, found, run=run.id, curve=place, reach=reach, error="", **arrays)


@of_run
def distribution(run: OpenRun, parameters: QueryParams) -> wire.DistributionReply:
    """`GET /api/runs/{run}/distribution?name=&split=&where=&columns=&step_min=&step_max=`."""
    name, split = params.word(parameters, "name"), parameters.get("split", "")
    columns = params.integer(parameters, "columns", COLUMNS, 1, MAX_COLUMNS)
    low, high = params.optional(parameters, "step_min"), params.optional(parameters, "step_max")
    shown = query.Range(columns, low, high)
    found = query.distribution(run, name, split, where=parameters.get("where", ""), shown=shown)
    arrays = ("first_steps", "last_steps", "counts")
    return wire.DistributionReply(edges=found.edges, **{name: getattr(found, name).tolist() for name in arrays})


MAX_CURVES_OF_FILE = 32
"""Nobody can read a chart with more curves."""

Table = dict[str, list[object]]


async def curve_csv(request: Request) -> Response:
    """`GET /api/curve.csv?ask=`: all points of the curves of a chart, as a download; `ask` is a `CurvesRequest`."""
    context = context_of(request)
    body = params.decoded(request.query_params.get("ask", ""), wire.CurvesRequest, "`ask`")
    runs = await asked_runs(request, body)
    if len(body.curves) > MAX_CURVES_OF_FILE:
        raise BadQuery(f"a file has at most {MAX_CURVES_OF_FILE} curves; {len(body.curves)} were requested")
    asked = checked(body, len(runs))
    for curve in asked:
        query.check_curve(curve)

    def begin() -> Iterator[bytes]:
        groups = query.run_groups(runs, body.group_by) if body.group_by else {run.id: [run] for run in runs}
        return _lines([(value or "", _table(of, asked, body)) for value, of in groups.items()], body.group_by or "run")

    name = f"{runs[0].info.name} {_name(asked[0])}.csv".replace("/", "_")
    return await context.downloads.send(request, begin, name, export.KINDS["csv"])


def _name(of: CurveQuery) -> str:
    """Return the name of a curve, and its statistic unless it is the usual one, with the k of pass@k."""
    words = ["elapsed_s" if of.kind == "elapsed" else of.name or of.source or of.kind, of.options.reason]
    if of.stat in OF_K or of.stat not in ("", STATS[of.kind][0]):
        words.append(of.stat)
    if of.stat in OF_K:
        words.append(str(of.options.k))
    return " ".join(filter(None, words))


MARK = "\ufeff".encode()
"""Spreadsheets need it to read UTF-8, but other programs take it for part of a name: ASCII names go without."""


def _lines(tables: list[tuple[str, Table]], title: str = "run") -> Iterator[bytes]:
    """Yield the bytes of the file. The first column names the run or the value of the group, if there are several."""
    names = list(dict.fromkeys(name for _, table in tables for name in table)) or ["step", "value"]
    has_runs = len(tables) > 1 or title != "run"

    def rows() -> Iterator[list[object]]:
        for run, table in tables:
            absent = [None] * len(table.get("step", ()))
            for row in zip(*(table.get(name, absent) for name in names), strict=True):
                yield [run, *row] if has_runs else list(row)

    if not "".join([*names, *(run for run, _ in tables)]).isascii():
        yield MARK
    yield from export.csv_lines([title, *names] if has_runs else names, rows())


def _table(runs: Sequence[OpenRun], asked: Sequence[CurveQuery], body: wire.CurvesRequest) -> Table:
    """Return the columns of the curves of a run or of a group by name: step, x, then the numbers of each curve.

    Leaves out curves that it lacks. If there is one curve and one run, raises its error.
    """
    curves: list[Curve] = []
    is_only = len(asked) == len(body.runs) == 1 and not body.group_by
    for wanted in asked:
        with contextlib.suppress(*(() if is_only else LACKING)):
            curves.append(drawn_curve(runs, wanted, body, None))
    if not curves:
        return {}
    steps = sorted({step for curve in curves for step in curve.steps.tolist()})
    table: Table = {"step": [*steps]}

    def add(name: str, values: dict[int, object]) -> None:
        while name in table:
            name = f"{name}'"
        table[name] = [values.get(step) for step in steps]

    if curves[0].query.x is not None:
        add(_name(curves[0].query.x), {step: x for curve in curves for step, x in _pairs(curve, curve.x)})
    for curve in curves:
        ends = ("min", "max") if body.group_by else BANDS.get(curve.query.options.band, ("low", "high"))
        names = ["value", "std", *ends, "ema"]
        if len(asked) > 1:
            names = [_name(curve.query), *(f"{_name(curve.query)} {name}" for name in names[1:])]
        for name, array in zip(names, (curve.values, curve.spread, curve.low, curve.high, curve.smooth), strict=True):
            if array is not None:
                add(name, dict(_pairs(curve, array)))
    return table


def _pairs(curve: Curve, array: Floats | None) -> Iterator[tuple[int, object]]:
    return zip(curve.steps.tolist(), () if array is None else array.tolist(), strict=array is not None)


LIMIT, MAX_LIMIT = 100, 500

VALUE_CHARS = 2000
"""Maximum length of a value of a configuration; the page of its run has the whole value."""
MAX_COMPARED = 1000
"""Maximum number of runs side by side."""


def runs_of(library: people.Runs, parameters: QueryParams) -> list[OpenRun]:
    """Return the runs that an address names. Raises `BadQuery` for none or too many, `NotFound` for an unknown one."""
    ids = list(dict.fromkeys(parameters.getlist("run")))
    if not 1 <= len(ids) <= MAX_COMPARED:
        raise BadQuery(f"run= names 1 to {MAX_COMPARED} runs; there are {len(ids):,}")
    return [library.run(run_id) for run_id in ids]


@of_runs_now
def compared_configs(library: people.Runs, parameters: QueryParams) -> query.ConfigTable:
    """`GET /api/compare/configs?run=&run=&all=&find=&offset=&limit=`."""
    all_keys, find = params.flag(parameters, "all"), parameters.get("find", "")
    offset = params.integer(parameters, "offset", 0, low=0)
    limit = params.integer(parameters, "limit", LIMIT, low=1, high=MAX_LIMIT)
    table = query.config_table(runs_of(library, parameters), all_keys=all_keys, find=find, offset=offset, limit=limit)
    rows = []
    for row in table.rows:
        cut = [place for place, value in enumerate(row.values) if value is not None and len(value) > VALUE_CHARS]
        rows.append(replace(row, values=[value and value[:VALUE_CHARS] for value in row.values], cut=cut))
    return replace(table, rows=rows)


async def shared_prompts(request: Request) -> Response:
    """`GET /api/compare/prompts?run=&run=&split=&step=&sort=&offset=&limit=`."""
    context, parameters = context_of(request), request.query_params
    runs = runs_of(await context.runs(request), parameters)
    split, step = params.word(parameters, "split"), params.integer(parameters, "step")
    sort = parameters.get("sort") or query.PROMPT_SORTS[0]
    offset = params.integer(parameters, "offset", 0, low=0)
    limit = params.integer(parameters, "limit", LIMIT, low=1, high=MAX_LIMIT)
    versions = " ".join(run.version for run in runs)
    return await context.replies.answer(
        request, versions, lambda: query.shared_prompts(runs, split, step, sort=sort, offset=offset, limit=limit)
    )


async def compared_rewards(request: Request) -> Response:
    """`GET /api/compare/rewards?run=&run=&split=&step_min=&step_max=`: the better of two runs or recipes."""
    context, parameters = context_of(request), request.query_params
    runs = runs_of(await context.runs(request), parameters)
    if len(runs) < 2:
        raise BadQuery("compare two runs: run= names both")
    split = params.word(parameters, "split")
    low, high = (params.optional(parameters, name) for name in ("step_min", "step_max"))

    def make() -> RewardComparison:
        try:
            first, second = sides_of(runs)
        except BadQuery:
            return RewardComparison(split=split)  # the page compares them two by two
        return compare_rewards(first, second, split=split, step_min=low, step_max=high)

    return await context.replies.answer(request, " ".join(run.version for run in runs), make)


async def run_metrics(request: Request) -> Response:
    """`POST /api/run-metrics`."""
    context, body = context_of(request), await params.body_of(request, wire.RunMetricsRequest)
    library = await context.runs(request)
    ids = params.run_ids(body.runs) or [run.id for run in library.runs[: params.MAX_RUNS]]
    runs = [library.run(run_id) for run_id in ids]

    def make() -> wire.RunMetricsReply:
        found, left = query.metric_values(runs, body.curve)
        items = [record_from(wire.RunMetricItem, values, run=run_id) for run_id, values in found.items()]
        return wire.RunMetricsReply(runs=items, left=left)

    return await context.replies.fresh(request, make)


@of_runs_now
def runs_catalogue(library: people.Runs, _: QueryParams) -> wire.RunsCatalogueReply:
    """`GET /api/catalogue`."""
    entries, left = query.runs_catalogue(library.runs[: params.MAX_RUNS])
    return wire.RunsCatalogueReply(entries=[catalogue_entry(entry) for entry in [*entries][:MAX_ENTRIES]], left=left)
