"""Routes for one sample: the sample, turns, record, text, images, finds."""

from collections.abc import Callable, Sequence

from starlette.requests import Request
from starlette.responses import Response

from rolloupe import query, text, wire
from rolloupe.errors import BadQuery, NotFound
from rolloupe.index import OpenRun
from rolloupe.model import Sample, SampleKey
from rolloupe.server import params, text_places
from rolloupe.server.context import context_of
from rolloupe.server.replies import Made, Reply
from rolloupe.text import images
from rolloupe.wire.views import items, transcripts

RAW_BYTES = 4 * 2**20
TEXT_CHARS = 4_000_000
MAX_TOKEN = 200


async def answered(request: Request, make: Callable[[OpenRun, SampleKey], Made]) -> Response:
    """Reply about the sample in the address."""
    context, run = context_of(request), await context_of(request).run(request)
    key, version = query.sample_key(params.word(request.query_params, "id")), run.version
    return await context.replies.answer(request, version, lambda: make(run, key), lambda: query.locate(run, key).length)


def loaded(request: Request, run: OpenRun, key: SampleKey) -> Sample:
    """Return the whole sample from a small cache; with `after=`, cut its prompt there if no template divides it."""
    return _in_group(request, run, key)[0]


def _in_group(request: Request, run: OpenRun, key: SampleKey) -> tuple[Sample, Sequence[SampleKey]]:
    token = request.query_params.get("after", "")[:MAX_TOKEN]

    def load() -> tuple[Sample, Sequence[SampleKey]]:
        found, group = query.sample_and_group(run, key)
        if token:
            found.turns = text.after(found.turns, token)
        return found, group

    return context_of(request).samples.get_or_make((run.id, run.version, str(key), token), load, _size)


def _size(sample_and_group: tuple[Sample, Sequence[SampleKey]]) -> int:
    return sample_and_group[0].locator.length


async def sample(request: Request) -> Response:
    """`GET /api/runs/{run}/sample?id=&after=`."""
    return await answered(request, lambda run, key: items.sample_reply(run.id, *_in_group(request, run, key)))


async def turns(request: Request) -> Response:
    """`GET /api/runs/{run}/sample/turns?id=&after=&from=` or `&until=`: a page of turns that begins or ends there."""
    parameters = request.query_params
    until = params.integer(parameters, "until", -1, low=-1)
    start = params.integer(parameters, "from", 0, low=0)

    def make(run: OpenRun, key: SampleKey) -> wire.TurnsReply:
        found = loaded(request, run, key).turns
        place = transcripts.page_before(found, min(until, len(found))) if until >= 0 else min(start, len(found))
        page = [transcripts.turn_view(turn) for turn in transcripts.page(found, place)]
        return wire.TurnsReply(id=str(key), turns=page, turn_from=place, turn_total=len(found))

    return await answered(request, make)


async def raw(request: Request) -> Response:
    """`GET /api/runs/{run}/sample/raw?id=&start=`: a block of the source record."""
    start = params.integer(request.query_params, "start", 0, low=0)

    def make(run: OpenRun, key: SampleKey) -> wire.RawReply:
        locator, record = query.raw(run, key)
        stop = block_end(record, start, RAW_BYTES)
        return wire.RawReply(
            id=str(key),
            source=items.source_info(locator),
            text=record[start:stop].decode("utf-8", "replace"),
            size_bytes=len(record),
            start=min(start, len(record)),
            stop=stop,
        )

    return await answered(request, make)


def block_end(record: bytes, start: int, size: int) -> int:
    """Return where a block of about `size` bytes ends without splitting a UTF-8 character."""
    stop = min(start + size, len(record))
    for back in range(4):
        if stop == len(record) or record[stop - back] & 0xC0 != 0x80:
            return stop - back if stop < len(record) else stop
    return stop


async def whole(request: Request) -> Response:
    """`GET /api/runs/{run}/sample/text?id=&start=`: a block of the sample as one text."""
    start = params.integer(request.query_params, "start", 0, low=0)

    def make(run: OpenRun, key: SampleKey) -> wire.TextReply:
        found = text.whole(query.sample(run, key))
        block = found.text[start : start + TEXT_CHARS]
        return wire.TextReply(
            id=str(key),
            text=block,
            chars=len(found.text),
            start=min(start, len(found.text)),
            stop=start + len(block),
            is_own=found.is_own,
            origin=found.origin,
        )

    return await answered(request, make)


async def image(request: Request) -> Response:
    """`GET /api/runs/{run}/sample/image?id=&after=&at=`: an image in the record, in its own format."""
    at = params.word(request.query_params, "at")

    def make(run: OpenRun, key: SampleKey) -> Reply:
        media = transcripts.media_at(loaded(request, run, key), at)
        if media is None:
            raise NotFound(f"sample {key} holds no image at {at[:40]!r}")
        try:
            found = images.picture(media)
        except images.NotShown as reason:
            raise NotFound(f"this image cannot be shown: {reason}") from None
        return Reply(found.data, found.kind)

    return await answered(request, make)


async def find(request: Request) -> Response:
    """`GET /api/runs/{run}/sample/find?id=&after=&text=&case=`: every place of a text in the sample."""
    wanted, is_cased = params.word(request.query_params, "text"), params.flag(request.query_params, "case")
    if len(wanted) > text_places.MAX_TEXT:
        raise BadQuery(f"text= is longer than {text_places.MAX_TEXT:,} characters")
    return await answered(
        request, lambda run, key: text_places.find(loaded(request, run, key), wanted, is_cased=is_cased)
    )
