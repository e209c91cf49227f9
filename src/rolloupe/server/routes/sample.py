"""Routes for one sample: the sample, turns, record, text, images, finds."""

import re
from collections.abc import Callable, Sequence

from starlette.requests import Request
from starlette.responses import Response

from rolloupe import query, text
from rolloupe.errors import BadQuery, NotFound
from rolloupe.index import OpenRun
from rolloupe.model import Sample, SampleKey
from rolloupe.query.search import utf16_length
from rolloupe.server import params
from rolloupe.server.context import context_of
from rolloupe.server.replies import Made, Reply
from rolloupe.text import images
from rolloupe.wire import to_wire
from rolloupe.wire.samples import FindReply, RawReply, Span, TextReply, TurnsReply

MAX_SPANS = 5000
"""Places to send; further ones are only counted."""

MAX_TEXT = 1000


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

    samples = context_of(request).samples
    return samples.get_or_make((run.id, run.version, str(key), token), load, lambda made: made[0].locator.length)


async def sample(request: Request) -> Response:
    """`GET /api/runs/{run}/sample?id=&after=`."""
    return await answered(request, lambda run, key: to_wire.sample_reply(run.id, *_in_group(request, run, key)))


async def turns(request: Request) -> Response:
    """`GET /api/runs/{run}/sample/turns?id=&after=&from=` or `&until=`: a page of turns that begins or ends there."""
    parameters = request.query_params
    until = params.integer(parameters, "until", -1, low=-1)
    start = params.integer(parameters, "from", 0, low=0)

    def make(run: OpenRun, key: SampleKey) -> TurnsReply:
        found = loaded(request, run, key).turns
        place = to_wire.page_before(found, min(until, len(found))) if until >= 0 else min(start, len(found))
        page = [to_wire.turn_view(turn) for turn in to_wire.page(found, place)]
        return TurnsReply(id=str(key), turns=page, turn_from=place, turn_total=len(found))

    return await answered(request, make)


async def raw(request: Request) -> Response:
    """`GET /api/runs/{run}/sample/raw?id=&start=`: a block of the source record."""
    start = params.integer(request.query_params, "start", 0, low=0)

    def make(run: OpenRun, key: SampleKey) -> RawReply:
        locator, record = query.raw(run, key)
        stop = block_end(record, start, RAW_BYTES)
        return RawReply(
            id=str(key),
            source=to_wire.source_info(locator),
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

    def make(run: OpenRun, key: SampleKey) -> TextReply:
        found = text.whole(query.sample(run, key))
        block = found.text[start : start + TEXT_CHARS]
        return TextReply(
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
        media = to_wire.media_at(loaded(request, run, key), at)
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
    if len(wanted) > MAX_TEXT:
        raise BadQuery(f"text= is longer than {MAX_TEXT:,} characters")
    return await answered(request, lambda run, key: places_of(wanted, loaded(request, run, key), is_cased=is_cased))


def places_of(wanted: str, sample: Sample, *, is_cased: bool) -> FindReply:
    """Return every place of a plain text, in reading order, in linear time whatever the sample contains."""
    pattern = re.compile(re.escape(wanted), 0 if is_cased else re.IGNORECASE)
    spans: list[Span] = []
    total = 0
    for at, shown in to_wire.named_texts(sample):
        place = units = 0  # a browser counts UTF-16 units
        for match in pattern.finditer(shown):
            total += 1
            if len(spans) < MAX_SPANS:
                start = units + utf16_length(shown[place : match.start()])
                place, units = match.end(), start + utf16_length(match[0])
                spans.append(Span(at=at, start=start, stop=units))
    return FindReply(total=total, spans=spans)
