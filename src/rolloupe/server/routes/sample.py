"""Routes for samples: one sample, its turns, record, text, images and finds; the answers of its group side by side."""

import re
from collections.abc import Iterator, Sequence

from starlette.requests import Request
from starlette.responses import Response

from rolloupe import query, text
from rolloupe.errors import BadQuery, NotFound
from rolloupe.index import OpenRun
from rolloupe.model import Sample, SampleKey
from rolloupe.query import Compared, GroupAnswer, TextPiece
from rolloupe.query.search import utf16_length
from rolloupe.server import params, replies
from rolloupe.server.context import context_of
from rolloupe.server.endpoints import of_sample
from rolloupe.text import images
from rolloupe.wire import samples, to_wire
from rolloupe.wire.encoding import record_from

MAX_SPANS = 5000
"""Places to send; more places are only counted."""

MAX_TEXT = 1000
RAW_BYTES = 4 * 2**20
TEXT_CHARS = 4_000_000
MAX_TOKEN = 200


def loaded(request: Request, run: OpenRun, key: SampleKey) -> tuple[Sample, Sequence[SampleKey]]:
    """Return the whole sample and its group, from a small cache.

    With `after=`, the prompt ends there if no template divides it.
    """
    context, token = context_of(request), request.query_params.get("after", "")[:MAX_TOKEN]

    def load() -> tuple[Sample, Sequence[SampleKey]]:
        found, group = query.sample_and_group(run, key)
        if token:
            found.turns = text.after(found.turns, token)
        context.mask.apply_to(found)
        return found, group

    return context.samples.get_or_make(
        (run.id, run.version, str(key), token), load, lambda made: made[0].locator.length
    )


@of_sample
def sample(request: Request, run: OpenRun, key: SampleKey) -> samples.SampleReply:
    """`GET /api/runs/{run}/sample?id=&after=`."""
    found, group = loaded(request, run, key)
    reply = to_wire.sample_reply(run.id, found, group, query.count_steps(run, found.row.prompt_hash))
    run.looked_at.set()
    return reply


@of_sample
def turns(request: Request, run: OpenRun, key: SampleKey) -> samples.TurnsReply:
    """`GET /api/runs/{run}/sample/turns?id=&after=&from=` or `&until=`: a page of turns that begins or ends there."""
    until = params.integer(request.query_params, "until", -1, low=-1)
    start = params.integer(request.query_params, "from", 0, low=0)
    found = loaded(request, run, key)[0].turns
    place = to_wire.page_before(found, min(until, len(found))) if until >= 0 else min(start, len(found))
    page = to_wire.turn_views(found, place, to_wire.page_after(found, place))
    return samples.TurnsReply(turns=page, turn_from=place, turn_total=len(found))


@of_sample
def raw(request: Request, run: OpenRun, key: SampleKey) -> samples.RawReply:
    """`GET /api/runs/{run}/sample/raw?id=&start=`: a block of the source record."""
    start = params.integer(request.query_params, "start", 0, low=0)
    locator, record = query.raw(run, key)
    stop = block_end(record, start, RAW_BYTES)
    return samples.RawReply(
        source=to_wire.source_info(locator),
        text=record[start:stop].decode("utf-8", "replace"),
        size_bytes=len(record),
        start=min(start, len(record)),
        stop=stop,
    )


def block_end(record: bytes, start: int, size: int) -> int:
    """Return where a block of about `size` bytes ends without splitting a UTF-8 character."""
    stop = min(start + size, len(record))
    if stop == len(record):
        return stop
    starts = (place for place in range(stop, stop - 4, -1) if record[place] & 0xC0 != 0x80)
    return next(starts, stop)


@of_sample
def whole(request: Request, run: OpenRun, key: SampleKey) -> samples.TextReply:
    """`GET /api/runs/{run}/sample/text?id=&start=`: a block of the sample as one text."""
    start = params.integer(request.query_params, "start", 0, low=0)
    found = text.whole(query.sample(run, key))
    block = found.text[start : start + TEXT_CHARS]
    chars = len(found.text)
    stop = start + len(block)
    return record_from(samples.TextReply, found, text=block, chars=chars, start=min(start, chars), stop=stop)


@of_sample
def image(request: Request, run: OpenRun, key: SampleKey) -> replies.Reply:
    """`GET /api/runs/{run}/sample/image?id=&after=&at=`: an image in the record, in its own format."""
    at = params.word(request.query_params, "at")
    media = to_wire.media_at(loaded(request, run, key)[0], at)
    if media is None:
        raise NotFound(f"sample {key} holds no image at {at[:40]!r}")
    try:
        found = images.picture(media)
    except images.NotShown as reason:
        raise NotFound(f"this image cannot be shown: {reason}") from None
    return replies.Reply(found.data, found.kind)


@of_sample
def find(request: Request, run: OpenRun, key: SampleKey) -> samples.FindReply:
    """`GET /api/runs/{run}/sample/find?id=&after=&text=&case=`: every place of a text in the sample."""
    wanted, is_cased = params.word(request.query_params, "text"), params.flag(request.query_params, "case")
    if len(wanted) > MAX_TEXT:
        raise BadQuery(f"text= is longer than {MAX_TEXT:,} characters")
    return places_of(wanted, loaded(request, run, key)[0], is_cased=is_cased)


def places_of(wanted: str, sample: Sample, *, is_cased: bool) -> samples.FindReply:
    """Return every place of a plain text, in reading order, in linear time."""
    pattern = re.compile(re.escape(wanted), 0 if is_cased else re.IGNORECASE)
    spans: list[samples.Span] = []
    total = 0
    for at, shown in to_wire.named_texts(sample):
        place = units = 0  # a browser counts UTF-16 units
        for match in pattern.finditer(shown):
            total += 1
            if len(spans) < MAX_SPANS:
                start = units + utf16_length(shown[place : match.start()])
                place, units = match.end(), start + utf16_length(match[0])
                spans.append(samples.Span(at=at, start=start, stop=units))
    return samples.FindReply(total=total, spans=spans)


CHARS = 20_000
LEAD = 600
PROMPT_CHARS = 20_000
FAR_CHARS = 400_000
"""The reply includes the place where an answer diverges, up to this far, and some text after it."""

REPLY_CHARS = 4_000_000
"""Maximum for all answers of a reply together."""

MAX_ONLY = 1000


async def members(request: Request) -> Response:
    """`GET /api/runs/{run}/members`: see `MembersReply`."""
    context, run = context_of(request), await context_of(request).run(request)
    parameters, version = request.query_params, run.version
    key = query.sample_key(params.word(parameters, "id"))
    against = query.sample_key(parameters["against"]) if parameters.get("against") else None
    only = [query.sample_key(one) for one in parameters.getlist("only")[:MAX_ONLY] if one]
    max_chars = params.integer(parameters, "chars", CHARS, low=0, high=REPLY_CHARS)
    max_lead = params.integer(parameters, "lead", LEAD, low=0, high=REPLY_CHARS)

    def make() -> samples.MembersReply:
        asked = (run.id, version, str(key), str(against), *map(str, only))
        compared = context.members.get_or_make(
            asked, lambda: query.compared(run, key, against, only, context.mask), chars_of
        )
        longest = max(compared.members, key=lambda one: len(one.pieces), default=None)
        is_away = all(one.key != compared.against for one in compared.members)
        each = REPLY_CHARS // (len(compared.members) + is_away)
        chars, lead = min(max_chars, each), min(max_lead, each)
        return record_from(
            samples.MembersReply,
            compared,
            id=str(key),
            run=run.id,
            against=str(compared.against),
            best=str(compared.best),
            common=query.chars_before(longest.pieces, compared.common) if longest else 0,
            answers=[_answer(compared, one, chars, lead) for one in compared.members],
            reference=_answer(compared, compared.reference, chars, lead) if is_away else None,
            prompt=list(_windowed(compared.prompt, (0, PROMPT_CHARS), (0, 0))),
            label=text.clean(compared.label[:PROMPT_CHARS]),
        )

    return await context.replies.answer(request, version, make)


def chars_of(compared: Compared) -> int:
    """Return how many characters the answers have."""
    return sum(len(piece.text) for one in (*compared.members, compared.reference) for piece in one.pieces)


def _answer(compared: Compared, member: GroupAnswer, chars: int, lead: int) -> samples.MemberText:
    available = member.chars - member.left_out
    common = min(available, query.chars_before(member.pieces, compared.common))
    shared = available if member.parts_at is None else query.chars_before(member.pieces, member.parts_at)
    is_self = member.key == compared.against
    shared = common if is_self or not member.pieces else shared
    start = max(0, common - lead)
    stop = max(common + chars, min(shared + chars // 2, common + FAR_CHARS))
    pieces = list(_windowed(member.pieces, (start, stop), (common, shared)))
    sent = sum(len(one.common) + len(one.shared) + len(one.own) for one in pieces)
    return record_from(
        samples.MemberText,
        member,
        id=str(member.key),
        pieces=pieces,
        skipped=start,
        cut=member.chars - start - sent,
        verdict=_verdict(member, is_self=is_self, shared=shared),
        parts_at=-1 if member.parts_at is None else shared,
    )


def _verdict(member: GroupAnswer, *, is_self: bool, shared: int) -> str:
    if member.error:
        return "error"
    if not member.pieces:
        return "none"
    if is_self:
        return "self"
    if member.parts_at is None:
        return "alike" if member.left_out else "same"
    return "ends" if shared == member.chars else "parts"


def _windowed(
    pieces: Sequence[TextPiece], window: tuple[int, int], marks: tuple[int, int]
) -> Iterator[samples.MemberPiece]:
    """Yield the characters of a window by piece, cut where `common` and `shared` end; counted over all pieces."""
    start, stop = window
    common, shared = marks
    passed = 0
    for piece in pieces:
        low, high = _within(piece.text, start - passed), _within(piece.text, stop - passed)
        if low < high:
            first, second = (min(high, max(low, mark - passed)) for mark in (common, max(common, shared)))
            common_text, shared_text, own = piece.text[low:first], piece.text[first:second], piece.text[second:high]
            yield record_from(samples.MemberPiece, piece, common=common_text, shared=shared_text, own=own)
        passed += len(piece.text)


def _within(whole: str, place: int) -> int:
    """Return a position in a text, moved to the end of the character that contains it."""
    place = max(0, min(place, len(whole)))
    most = min(len(whole), place + text.MOST_BACK)
    while place < most and text.goes_on(whole, place):
        place += 1
    return place
