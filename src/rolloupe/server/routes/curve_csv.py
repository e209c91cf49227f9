"""One curve of some runs as a file (`curve_csv`), with all its points."""

from collections.abc import Iterator

import msgspec
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from rolloupe import export, query, wire
from rolloupe.errors import BadQuery, NotFound
from rolloupe.index import OpenRun
from rolloupe.query import Curve, CurveQuery
from rolloupe.server import params, replies
from rolloupe.server.context import context_of
from rolloupe.server.routes.curves import checked


async def curve_csv(request: Request) -> Response:
    """`GET /api/curve.csv?ask=`: all points of a curve, as a download; `ask` is a `CurvesRequest` of one curve."""
    context = context_of(request)
    try:
        body = msgspec.json.decode(request.query_params.get("ask", ""), type=wire.CurvesRequest)
    except (msgspec.MsgspecError, UnicodeError, RecursionError) as error:
        raise BadQuery(f"`ask` is not a CurvesRequest: {error}") from None
    library = await context.library()
    runs = [library.run(run_id) for run_id in params.run_ids(body.runs)]
    if len(body.curves) != 1:
        raise BadQuery(f"a file has one curve; {len(body.curves)} were requested")
    (asked,) = checked(body, len(runs))

    def begin() -> Iterator[bytes]:
        return _lines(_found(runs, asked, body))

    name = f"{runs[0].info.name} {asked.name or asked.source or asked.kind}.csv"
    headers = replies.attachment(name.replace("/", "_"))
    return StreamingResponse(await context.file(request, begin), media_type=export.KINDS["csv"], headers=headers)


def _found(runs: list[OpenRun], asked: CurveQuery, body: wire.CurvesRequest) -> list[tuple[str, Curve | None]]:
    """Return the curve of each run, None for a run without it. Raises what a run raises if it is the only one."""
    found: list[tuple[str, Curve | None]] = []
    for run in runs:
        try:
            found.append((run.id, query.curve(run, asked, step_min=body.step_min, step_max=body.step_max)))
        except (BadQuery, NotFound):
            if len(runs) == 1:
                raise
            found.append((run.id, None))
    return found


def _lines(found: list[tuple[str, Curve | None]]) -> Iterator[bytes]:
    """The bytes of the file. The first column names the run, if there are several."""
    columns = [(run, _columns(one)) for run, one in found if one is not None]
    names = list(dict.fromkeys(name for _, of in columns for name in of)) or ["step", "value"]
    has_runs = len(found) > 1

    def rows() -> Iterator[list[object]]:
        for run, of in columns:
            absent = [None] * len(of["step"])
            for row in zip(*(of.get(name, absent) for name in names), strict=True):
                yield [run, *row] if has_runs else list(row)

    return export.csv_lines(["run", *names] if has_runs else names, rows())


def _columns(curve: Curve) -> dict[str, list[object]]:
    """The columns of a curve by name: those that it has."""
    arrays = {"step": curve.steps, "value": curve.values, "std": curve.spread, "ema": curve.smooth}
    return {name: array.tolist() for name, array in arrays.items() if array is not None}
