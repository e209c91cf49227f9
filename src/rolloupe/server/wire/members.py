"""The answers of a group side by side, and one prompt at all steps."""

from msgspec import Struct

from rolloupe.server.wire.numbers import Number


class MemberPiece(Struct, kw_only=True):
    """A stretch of an answer: what all answers begin with, what is also in the one compared with, and the rest."""

    turn: int
    role: str
    name: str
    kind: str
    """As of `PartView`."""
    common: str
    shared: str
    own: str


class MemberText(Struct, kw_only=True):
    """The answer of a member of a group, or the part of it around the place at which it parts."""

    id: str
    pieces: list[MemberPiece]
    chars: int
    """How long all of it is."""
    skipped: int
    """So many characters in front, which all answers share, are not sent."""
    cut: int
    """So many at the end are not sent."""
    verdict: str
    """`parts`, `ends` (where the other goes on), `same`, `alike` (as far as compared), `self`, `none`, `error`."""
    parts_at: int
    """Characters in front of the place where it parts from the one compared with; -1 where it does not."""
    error: str


class MembersReply(Struct, kw_only=True):
    """`GET /api/runs/{run}/members?id=&against=&only=&chars=&lead=`: the answers of a sample's group, side by side.

    At most 64: those around the sample, or around it among those of `only`, which may stand several times. `chars` are
    sent of each beyond what all share, and of that the last `lead`.
    """

    id: str
    run: str
    against: str
    """The one that the others are compared with: as asked for, else the best by reward."""
    best: str
    total: int
    offset: int
    common: int
    """So many characters all answers shown begin with; those without any text aside."""
    answers: list[MemberText]
    reference: MemberText | None
    """The one compared with, where it is not one of `answers`."""
    prompt: list[MemberPiece]
    """Of the sample asked for, its beginning; `own` has the text."""
    prompt_chars: int
    label: str


class SameStep(Struct, kw_only=True):
    """The answers to a prompt at a step; `id` is the first of them."""

    split: str
    step: int
    id: str
    groups: int
    samples: int
    discarded: int
    """How many of the samples were not trained on; the mean is over all."""
    reward_mean: Number
    reward_std: Number
    response_tokens: Number
    """Mean, where they are told."""


class SameReply(Struct, kw_only=True):
    """`GET /api/runs/{run}/same?id=` or `?problem=`: where one prompt was answered, by split and step."""

    run: str
    problem: str
    """By this the prompt is known in every run."""
    steps: list[SameStep]
    is_cut: bool
    """True where there are more steps than are told."""
