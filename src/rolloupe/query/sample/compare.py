"""The answers of a group side by side: their common beginning, and where each departs from a reference answer.

An answer is everything after the prompt, turn by turn, as pieces of one kind. Two answers part at the first piece that
differs in role, kind or text. Text of an answer beyond `ANSWER_CHARS` is not compared, and the member records that.
"""

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import NamedTuple

import numpy as np

from rolloupe import text
from rolloupe.errors import NotFound, RolloupeError
from rolloupe.index import OpenRun
from rolloupe.model import SampleKey, Turn
from rolloupe.query.sample.load import GroupMember, annotation_places, group_members, read_sample
from rolloupe.query.search.pattern import NO_MASK, Mask

MOST = 64  # number of answers to read at a time
ALL_CHARS = 16_000_000
ANSWER_CHARS = 2_000_000
"""Maximum length of one answer to compare; with many answers less, so that all stay below `ALL_CHARS`."""

PROMPT_CHARS = 100_000
PIECES = 5000


class TextPiece(NamedTuple):
    """A stretch of a turn; `turn` counts the turns of the sample from 0."""

    turn: int
    role: str
    name: str
    kind: str
    text: str


class Spot(NamedTuple):
    """A place in an answer: before character `char` of a piece."""

    piece: int
    char: int


class GroupAnswer(NamedTuple):
    """One answer. `parts_at` is None if it equals the reference, is the reference, or has no answer."""

    key: SampleKey
    pieces: list[TextPiece]
    chars: int  # the full length of the answer
    left_out: int  # characters at its end that were not compared
    parts_at: Spot | None = None
    error: str = ""  # why it could not be read


class Compared(NamedTuple):
    """`members` from `offset` of `total`, each compared with `against`.

    `common` is the first place at which any of them parts: the beginning if none does.
    """

    total: int
    offset: int
    against: SampleKey
    best: SampleKey  # the one with the greatest reward, the first of several
    members: list[GroupAnswer]
    reference: GroupAnswer  # the reference, which need not be on the page
    common: Spot
    prompt: list[TextPiece]
    prompt_chars: int
    label: str


class _Read(NamedTuple):
    member: GroupAnswer
    prompt: list[TextPiece]
    prompt_chars: int
    label: str


def compared(
    run: OpenRun, key: SampleKey, against: SampleKey | None = None, only: Sequence[SampleKey] = (), mask: Mask = NO_MASK
) -> Compared:
    """Read the members of a sample's group, `MOST` around it or those of `only`, and compare them.

    The reference is `against`, of this group or another, else the answer with the greatest reward. If `only` names that
    answer alone, the reference is the best of the others. Raises `NotFound` for an unknown sample.
    """
    group = group_members(run, key)
    is_away = against is not None and against.shared[:3] != key.shared[:3]
    of_other_group = group_members(run, against) if against is not None and is_away else []
    members_by_key = {member.key: member for member in (*group, *of_other_group)}
    requested = (key, *([against] if against else []), *only)
    for wanted in requested:
        if wanted not in members_by_key:
            raise NotFound(f"no sample {wanted} in this group of run {run.id!r}: load the list again")
    named, shown = set(requested), set(only)  # a group may have a hundred thousand samples
    current = [member for member in group if member.counts or member.key in named]
    chosen = [member for member in current if member.key in shown] if shown else current
    place = next((n for n, member in enumerate(chosen) if member.key == key), 0)
    offset = place // MOST * MOST
    page = chosen[offset : offset + MOST]
    best = _best(current)
    others = [member for member in current if member.key != key] if list(only) == [key] else []
    other = members_by_key[against] if against else _best(others or current)
    limit = min(ANSWER_CHARS, ALL_CHARS // max(1, len(page) + 1))
    wanted_members = list({member.key: member for member in (*page, other)}.values())
    read = {answer.member.key: answer for answer in _read(run, wanted_members, limit, mask)}
    reference = read[other.key].member
    members = [
        member._replace(parts_at=parting(member.pieces, reference.pieces))
        if member.key != reference.key and member.pieces and reference.pieces
        else member
        for member in (read[own.key].member for own in page)
    ]
    _, prompt, prompt_chars, label = read.get(key, read[other.key])
    common = min((spot for member in members if (spot := member.parts_at)), default=Spot(0, 0))
    return Compared(len(chosen), offset, other.key, best.key, members, reference, common, prompt, prompt_chars, label)


def _best(members: Sequence[GroupMember]) -> GroupMember:
    rewards = (member.row.reward for member in members)
    return members[int(np.argmax([-np.inf if r is None or not np.isfinite(r) else r for r in rewards]))]


def _read(run: OpenRun, members: Sequence[GroupMember], limit: int, mask: Mask) -> Iterator[_Read]:
    noted = annotation_places(run, [member.row.uid for member in members])
    for key, row, _ in members:
        try:
            sample = read_sample(run, key, row.locator, noted.get(row.uid, []))
        except RolloupeError as error:
            yield _Read(GroupAnswer(key, [], 0, 0, error=str(error)), [], 0, "")
            continue
        mask.apply_to(sample)
        first = next((n for n, turn in enumerate(sample.turns) if turn.origin == "response"), len(sample.turns))
        prompt, prompt_chars = pieces_of(sample.turns[:first], 0, PROMPT_CHARS)
        answer, chars = pieces_of(sample.turns[first:], first, limit)
        left_out = chars - sum(len(piece.text) for piece in answer)
        yield _Read(GroupAnswer(key, answer, chars, left_out), prompt, prompt_chars, sample.label)


def pieces_of(turns: Sequence[Turn], first: int, limit: int) -> tuple[list[TextPiece], int]:
    """The texts of some turns, up to a length and `PIECES`, and the length of all. `first` numbers the first turn."""
    pieces: list[TextPiece] = []
    chars = 0
    for number, turn in enumerate(turns, first):
        for part in turn.parts:
            content = part.text if part.call is None else text.call_text(part.call)
            room = limit - chars
            chars += len(content)
            if room > 0 and len(pieces) < PIECES:
                pieces.append(TextPiece(number, turn.role, turn.name, part.kind, content[:room]))
    return pieces, chars


def parting(a: Sequence[TextPiece], b: Sequence[TextPiece]) -> Spot | None:
    """The place where two answers part, the same in both; None if they do not."""
    for number, (piece, other) in enumerate(zip(a, b, strict=False)):
        if (piece.role, piece.kind) != (other.role, other.kind):
            return Spot(number, 0)
        if piece.text != other.text:
            return Spot(number, text.alike(piece.text, other.text))
    return None if len(a) == len(b) else Spot(min(len(a), len(b)), 0)


def chars_before(pieces: Sequence[TextPiece], spot: Spot) -> int:
    """The number of characters of an answer before a place."""
    return sum(len(piece.text) for piece in islice(pieces, spot.piece)) + spot.char
