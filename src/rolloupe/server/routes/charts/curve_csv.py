"""The curves of one chart, of some runs, as a file (`curve_csv`), with all their points."""

from collections.abc import Iterator, Sequence

import msgspec
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from rolloupe import export, query, wire
from rolloupe.errors import BadQuery, NotFound
from rolloupe.index import OpenRun
from rolloupe.query import Curve, CurveQuery
from rolloupe.query.curves.records import BANDS, STATS, Floats
from rolloupe.server import params, replies
from rolloupe.server.context import context_of
from rolloupe.server.routes.charts.curves import OF_K, checked, drawn_curve

MAX_CURVES = 32
"""Nobody can read a chart with more curves."""

Table = dict[str, list[object]]


async def curve_csv(request: Request) -> Response:
    """`GET /api/curve.csv?ask=`: all points of the curves of a chart, as a download; `ask` is a `CurvesRequest`."""
    context = context_of(request)
    try:
        body = msgspec.json.decode(request.query_params.get("ask", ""), type=wire.CurvesRequest)
    except (msgspec.MsgspecError, UnicodeError, RecursionError) as error:
        raise BadQuery(f"`ask` is not a CurvesRequest: {error}") from None
    library = await context.runs(request)
    runs = [library.run(run_id) for run_id in params.run_ids(body.runs)]
    if len(body.curves) > MAX_CURVES:
        raise BadQuery(f"a file has at most {MAX_CURVES} curves; {len(body.curves)} were requested")
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
    runs: Sequence[OpenRun], asked: Sequence[CurveQuery], body: wire.CurvesRequest, *, is_only: bool
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
