"""Curves of runs: the catalogue, many curves in one answer or file, alarms, and the distribution of a metric."""

import hashlib
from collections.abc import Iterator, Sequence
from typing import Any

import msgspec
import numpy as np
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from rolloupe import export, insight, query
from rolloupe.errors import BadQuery, NotFound
from rolloupe.index import OpenRun
from rolloupe.query import Curve, CurveEntry, CurveQuery
from rolloupe.query.curves.records import BANDS, STATS, Floats
from rolloupe.server import params, replies
from rolloupe.server.context import context_of
from rolloupe.server.params import body_of
from rolloupe.wire.encoding import number, record_from
from rolloupe.wire.runs import (
    AlarmItem,
    AlarmsReply,
    CatalogueEntry,
    CatalogueReply,
    CurveData,
    CurveGroup,
    CurvesReply,
    CurvesRequest,
    DistributionReply,
)

MAX_CURVES = 512
"""Maximum number of curves in one answer, counted for each run separately."""

MAX_POINTS = 20_000
MAX_TOTAL_POINTS = 1_000_000
"""Maximum number of points in one answer; as JSON they take about 30 bytes each."""


MAX_ENTRIES = 10_000
"""Entries of a catalogue in one answer."""

MAX_ALARMS = 200

OF_K = ("pass_at", "pass_all")

COLUMNS, MAX_COLUMNS = 200, 1000
"""Columns of a distribution, unless a request names a number, and the most that it may name."""


async def catalogue(request: Request) -> Response:
    """`GET /api/runs/{run}/catalogue?split=`."""
    context, run = context_of(request), await context_of(request).run(request)
    split = request.query_params.get("split", "")

    def make() -> CatalogueReply:
        found = query.curve_catalogue(run, split)
        entries = [catalogue_entry(one) for one in found[:MAX_ENTRIES]]
        return CatalogueReply(run=run.id, entries=entries, left_out=max(0, len(found) - MAX_ENTRIES))

    return await context.replies.fresh(request, make)


def catalogue_entry(entry: CurveEntry) -> CatalogueEntry:
    """Convert a curve of a catalogue to the browser's record."""
    k = entry.query.options.k if entry.query.stat in OF_K else 0
    return record_from(CatalogueEntry, entry, entry.query, k=k, reason=entry.query.options.reason)


async def alarms(request: Request) -> Response:
    """`GET /api/runs/{run}/alarms`."""
    context, run = context_of(request), await context_of(request).run(request)

    def make() -> AlarmsReply:
        raised, unchecked, _ = insight.check(insight.RunCurves(run))
        alarms = [
            record_from(
                AlarmItem, alarm, rule=rule.name, severity=rule.severity, words=rule.words, curves=[*alarm.curves]
            )
            for rule, alarm in raised[:MAX_ALARMS]
        ]
        left_out = max(0, len(raised) - MAX_ALARMS)
        rules = len(insight.RULES)
        return AlarmsReply(run=run.id, rules=rules, alarms=alarms, left_out=left_out, unchecked=unchecked)

    version = await context.threads.query(lambda: version_of(run))
    return await context.replies.remembered(request, ("alarms", run.id, version), make)


async def curves(request: Request) -> Response:
    """`POST /api/curves`."""
    context, body = context_of(request), await body_of(request, CurvesRequest)
    library = await context.runs(request)
    runs = [library.run(run_id) for run_id in params.run_ids(body.runs)]
    queries = checked(body, len(runs))

    def make() -> CurvesReply:
        groups = query.run_groups(runs, body.group_by) if body.group_by else {}
        found = [
            answered(of, place, one, body)
            for of in (groups.values() if body.group_by else [[run] for run in runs])
            for place, one in enumerate(queries)
        ]
        drawn = [CurveGroup(value=value, runs=[run.id for run in of]) for value, of in groups.items()]
        return CurvesReply(versions=versions, curves=found, groups=drawn if body.group_by else None)

    with query.listing_once():  # the versions and each curve ask which files hold the trainer's metrics
        versions = await context.threads.query(lambda: {run.id: version_of(run) for run in runs})
        digest = hashlib.blake2b(await request.body(), digest_size=16).hexdigest()
        key = ("curves", digest, *(f"{run} {version}" for run, version in versions.items()))
        return await context.replies.remembered(request, key, make)


def checked(body: CurvesRequest, runs: int) -> list[CurveQuery]:
    """Return the requested curves. Raises `BadQuery` for a request that is too large, or has steps beyond 64 bits."""
    count = runs * len(body.curves)
    if not count:
        raise BadQuery("name at least one run and one curve")
    if not query.LEAST_POINTS <= body.points <= MAX_POINTS:
        raise BadQuery(f"points is {body.points}; a curve has {query.LEAST_POINTS} to {MAX_POINTS:,} points")
    steps = [("step_min", body.step_min), ("step_max", body.step_max)]
    for name, step in [*steps, *(("last_step", curve.options.last_step) for curve in body.curves)]:
        if step is not None and not -params.INT64 <= step < params.INT64:
            raise BadQuery(f"{name} is {step}; steps are integers of 64 bits")
    if count > MAX_CURVES or count * body.points > MAX_TOTAL_POINTS:
        raise BadQuery(
            f"{count:,} curves of {body.points:,} points are too many: one answer has at most {MAX_CURVES} curves"
            f" and {MAX_TOTAL_POINTS:,} points. Ask for fewer at once"
        )
    return body.curves


def version_of(run: OpenRun) -> str:
    """Return the version of the samples and of the trainer's files, which may grow alone."""
    trainer = hashlib.blake2b(query.trainer_version(run).encode("utf-8", "replace"), digest_size=8).hexdigest()
    return f"{run.version} {trainer}"


def drawn_curve(runs: Sequence[OpenRun], curve: CurveQuery, body: CurvesRequest, most: int | None) -> Curve:
    """Return a curve of a run, or of a group. Raises as `query.curve` does."""
    if body.group_by:
        return query.group_curve(runs, curve, most=most, step_min=body.step_min, step_max=body.step_max).curve
    return query.curve(runs[0], curve, most=most, step_min=body.step_min, step_max=body.step_max)


def answered(runs: Sequence[OpenRun], place: int, curve: CurveQuery, body: CurvesRequest) -> CurveData:
    """Return one curve of a run or of a group, or why it lacks the curve."""
    run = runs[0]
    try:
        found = drawn_curve(runs, curve, body, body.points)
    except (BadQuery, NotFound) as error:
        return CurveData(run=run.id, curve=place, error=str(error))
    return curve_data(run.id, place, found)


def curve_data(run_id: str, place: int, curve: Curve) -> CurveData:
    """Convert a curve to the browser's record."""
    plain = ("steps", "x", "with_value", "samples")
    arrays: dict[str, Any] = {}
    for name in (*plain, "values", "spread", "low", "high", "smooth"):
        array = getattr(curve, name)
        values = None if array is None else array.tolist()
        is_finite = array is None or name in plain or np.isfinite(array).all()
        arrays[name] = values if is_finite or values is None else [number(value) for value in values]
    return record_from(CurveData, curve, run=run_id, curve=place, reach=curve.reach and [*curve.reach], **arrays)


async def distribution(request: Request) -> Response:
    """`GET /api/runs/{run}/distribution?name=&split=&where=&columns=&step_min=&step_max=`."""
    context, run = context_of(request), await context_of(request).run(request)
    parameters, version = request.query_params, run.version
    name, split = params.word(parameters, "name"), parameters.get("split", "")
    columns = params.integer(parameters, "columns", COLUMNS, 1, MAX_COLUMNS)
    where = parameters.get("where", "")
    low, high = params.optional(parameters, "step_min"), params.optional(parameters, "step_max")

    def make() -> DistributionReply:
        found = query.distribution(run, name, split, where=where, shown=query.Range(columns, low, high))
        return DistributionReply(
            run=run.id, version=version, name=name, split=found.split, edges=found.edges,
            first_steps=found.first_steps.tolist(), last_steps=found.last_steps.tolist(), counts=found.counts.tolist(),
        )  # fmt: skip

    return await context.replies.answer(request, version, make)


MAX_CURVES_OF_FILE = 32
"""Nobody can read a chart with more curves."""

Table = dict[str, list[object]]


async def curve_csv(request: Request) -> Response:
    """`GET /api/curve.csv?ask=`: all points of the curves of a chart, as a download; `ask` is a `CurvesRequest`."""
    context = context_of(request)
    try:
        body = msgspec.json.decode(request.query_params.get("ask", ""), type=CurvesRequest)
    except (msgspec.MsgspecError, UnicodeError, RecursionError) as error:
        raise BadQuery(f"`ask` is not a CurvesRequest: {error}") from None
    library = await context.runs(request)
    runs = [library.run(run_id) for run_id in params.run_ids(body.runs)]
    if len(body.curves) > MAX_CURVES_OF_FILE:
        raise BadQuery(f"a file has at most {MAX_CURVES_OF_FILE} curves; {len(body.curves)} were requested")
    asked = checked(body, len(runs))
    for one in asked:
        query.check_curve(one)

    def begin() -> Iterator[bytes]:
        if not body.group_by:
            return _lines(
                [(run.id, _table(_found([run], asked, body, is_only=len(runs) == 1), is_group=False)) for run in runs]
            )
        groups = query.run_groups(runs, body.group_by)
        tables = [
            (value or "", _table(_found(of, asked, body, is_only=False), is_group=True)) for value, of in groups.items()
        ]
        return _lines(tables, body.group_by)

    name = f"{runs[0].info.name} {_name(asked[0])}.csv"
    headers = replies.attachment(name.replace("/", "_"))
    return StreamingResponse(
        await context.downloads.send(request, begin), media_type=export.KINDS["csv"], headers=headers
    )


def _name(of: CurveQuery) -> str:
    """The name of a curve; its statistic follows where it is not the usual one, with the k of pass@k."""
    name = "elapsed_s" if of.kind == "elapsed" else of.name or of.source or of.kind
    if of.options.reason:
        name = f"{name} {of.options.reason}"
    if of.stat in OF_K:
        return f"{name} {of.stat} {of.options.k}"
    return f"{name} {of.stat}" if of.stat not in ("", STATS[of.kind][0]) else name


MARK = "\ufeff".encode()
"""Without it, spreadsheets misread UTF-8; plain names need none, and other programs take it for part of a name."""


def _found(
    runs: Sequence[OpenRun], asked: Sequence[CurveQuery], body: CurvesRequest, *, is_only: bool
) -> list[Curve | None]:
    """Return the curves of a run or of a group, None for those that it lacks.

    Raises what a run raises if nothing else is there.
    """
    found: list[Curve | None] = []
    for one in asked:
        try:
            found.append(drawn_curve(runs, one, body, None))
        except (BadQuery, NotFound):
            if is_only and len(asked) == 1:
                raise
            found.append(None)
    return found


def _lines(tables: list[tuple[str, Table]], title: str = "run") -> Iterator[bytes]:
    """The bytes of the file. The first column names the run or the value of the group, if there are several."""
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


def _table(curves: Sequence[Curve | None], *, is_group: bool) -> Table:
    """The columns of the curves of a run by name: step, x where it is another, then the numbers of each curve."""
    known = [one for one in curves if one is not None]
    if not known:
        return {}
    steps = sorted({step for one in known for step in one.steps.tolist()})
    table: Table = {"step": [*steps]}

    def add(name: str, values: dict[int, object]) -> None:
        while name in table:
            name = f"{name}'"
        table[name] = [values.get(step) for step in steps]

    if known[0].query.x is not None:
        add(_name(known[0].query.x), {step: x for one in known for step, x in _pairs(one, one.x)})
    for one in known:
        ends = ("min", "max") if is_group else BANDS.get(one.query.options.band, ("low", "high"))
        names = ["value", "std", *ends, "ema"]
        if len(curves) > 1:
            names = [_name(one.query), *(f"{_name(one.query)} {name}" for name in names[1:])]
        for name, array in zip(names, (one.values, one.spread, one.low, one.high, one.smooth), strict=True):
            if array is not None:
                add(name, dict(_pairs(one, array)))
    return table


def _pairs(curve: Curve, array: Floats | None) -> Iterator[tuple[int, object]]:
    return zip(curve.steps.tolist(), () if array is None else array.tolist(), strict=array is not None)
