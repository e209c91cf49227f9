"""The routes about samples: a page of a list, one whole, its source record, its token series."""

import codecs

from starlette.requests import Request
from starlette.responses import Response

from rolloupe import query
from rolloupe.errors import NotFound
from rolloupe.query import SampleQuery
from rolloupe.server import params, replies, views, wire
from rolloupe.server.cache import Reply
from rolloupe.server.context import context_of

LIMIT = 200
MAX_LIMIT = 5000
RAW_BYTES = 4 * 2**20


async def samples(request: Request) -> Response:
    """`GET /api/runs/{run}/samples?split=&step=&trained=&sort=&descending=&offset=&limit=&around=`."""
    context, run = context_of(request), await context_of(request).run(request)
    given, version = request.query_params, run.version
    split, step = params.word(given, "split"), params.integer(given, "step")
    around = params.sample_key(given["around"]) if given.get("around") else None
    asked = SampleQuery(
        splits=(split,),
        step_min=step,
        step_max=step,
        trained=params.trained(given),
        sort=given.get("sort") or "index",
        descending=params.flag(given, "descending"),
        offset=params.integer(given, "offset", 0, low=0),
        limit=params.integer(given, "limit", LIMIT, low=1, high=MAX_LIMIT),
    )

    def make() -> wire.SamplesReply:
        page = query.samples(run, asked, around)
        return wire.SamplesReply(
            run=run.id,
            split=split,
            step=step,
            version=version,
            total=page.total,
            offset=page.offset,
            stamp=page.stamp,
            samples=[views.sample_item(item) for item in page.samples],
        )

    return await context.answer(request, version, make)


async def sample(request: Request) -> Response:
    """`GET /api/runs/{run}/sample?id=`."""
    context, run = context_of(request), await context_of(request).run(request)
    key, version = params.sample_key(params.word(request.query_params, "id")), run.version

    def make() -> wire.SampleReply:
        return views.sample_reply(run.id, *query.sample_and_group(run, key))

    return await context.answer(request, version, make)


async def raw(request: Request) -> Response:
    """`GET /api/runs/{run}/sample/raw?id=&whole=`."""
    context, run = context_of(request), await context_of(request).run(request)
    key, version = params.sample_key(params.word(request.query_params, "id")), run.version
    whole = params.flag(request.query_params, "whole")

    def make() -> wire.RawReply:
        locator, record = query.raw(run, key)
        shown = record if whole else record[:RAW_BYTES]
        return wire.RawReply(
            id=str(key),
            source=views.source_info(locator),
            text=verbatim(shown, is_end=len(shown) == len(record)),
            size_bytes=len(record),
            shown_bytes=len(shown),
        )

    return await context.answer(request, version, make)


def verbatim(record: bytes, *, is_end: bool) -> str:
    """Bytes as text, what is no UTF-8 replaced; a character that the cut went through is left out."""
    return codecs.getincrementaldecoder("utf-8")("replace").decode(record, final=is_end)


async def series(request: Request) -> Response:
    """`GET /api/runs/{run}/sample/series?id=&name=`: little-endian float32, NaN for an absent value."""
    context, run = context_of(request), await context_of(request).run(request)
    key, version = params.sample_key(params.word(request.query_params, "id")), run.version
    name = params.word(request.query_params, "name")

    def make() -> Reply:
        found = query.sample(run, key).series
        for one in found:
            if one.name == name:
                return Reply(replies.float32(one.values), replies.BINARY)
        known = ", ".join(one.name for one in found) or "none"
        raise NotFound(f"no token series {name!r} in sample {key}; it has: {known}")

    return await context.answer(request, version, make)
