"""Routes for one prompt: the answers of a group side by side, and the same prompt at other steps."""

from collections.abc import Iterator, Sequence

from starlette.requests import Request
from starlette.responses import Response

from rolloupe import query, text
from rolloupe.query import Compared, GroupAnswer, TextPiece
from rolloupe.server import params
from rolloupe.server.context import context_of
from rolloupe.wire.encoding import record_from
from rolloupe.wire.samples import MemberPiece, MembersReply, MemberText

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

    def make() -> MembersReply:
        asked = (run.id, version, str(key), str(against), *map(str, only))
        compared = context.members.get_or_make(asked, lambda: query.compared(run, key, against, only), chars_of)
        longest = max(compared.members, key=lambda one: len(one.pieces), default=None)
        is_away = all(one.key != compared.against for one in compared.members)
        each = REPLY_CHARS // (len(compared.members) + is_away)
        chars, lead = min(max_chars, each), min(max_lead, each)
        return record_from(
            MembersReply,
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


def _answer(compared: Compared, member: GroupAnswer, chars: int, lead: int) -> MemberText:
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
        MemberText,
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


def _windowed(pieces: Sequence[TextPiece], window: tuple[int, int], marks: tuple[int, int]) -> Iterator[MemberPiece]:
    """Yield the characters of a window by piece, cut where `common` and `shared` end; counted over all pieces."""
    start, stop = window
    common, shared = marks
    passed = 0
    for piece in pieces:
        low, high = _within(piece.text, start - passed), _within(piece.text, stop - passed)
        if low < high:
            first, second = (min(high, max(low, mark - passed)) for mark in (common, max(common, shared)))
            common_text, shared_text, own = piece.text[low:first], piece.text[first:second], piece.text[second:high]
            yield record_from(MemberPiece, piece, common=common_text, shared=shared_text, own=own)
        passed += len(piece.text)


def _within(whole: str, place: int) -> int:
    """Return a position in a text, moved to the end of the character that contains it."""
    place = max(0, min(place, len(whole)))
    most = min(len(whole), place + text.MOST_BACK)
    while place < most and text.goes_on(whole, place):
        place += 1
    return place
