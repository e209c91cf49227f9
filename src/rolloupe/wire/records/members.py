"""The answers of a group side by side, and one prompt at all steps."""

from msgspec import Struct

from rolloupe.wire.records.numbers import Number


class MemberPiece(Struct, kw_only=True):
    """A stretch of an answer: the start that all answers share, text shared with the compared answer, or the rest."""

    turn: int
    role: str
    name: str
    kind: str
    """As in `PartView`."""
    common: str
    shared: str
    own: str


class MemberText(Struct, kw_only=True):
    """The answer of a member of a group, or the part of it around the place where it diverges."""

    id: str
    pieces: list[MemberPiece]
    chars: int
    """Length of the whole answer."""
    skipped: int
    """Characters at the start, which all answers share, that are not sent."""
    cut: int
    """Characters at the end that are not sent."""
    verdict: str
    """`parts`, `ends` (where the other goes on), `same`, `alike` (in what was compared), `self`, `none`, `error`."""
    parts_at: int
    """Characters before the place where it diverges from the compared answer; -1 if it does not."""
    error: str


class MembersReply(Struct, kw_only=True):
    """`GET /api/runs/{run}/members?id=&against=&only=&chars=&lead=`: the answers of a sample's group, side by side.

    At most 64 answers: those around the sample, or around it among those of `only`, which may appear several times.
    Each has up to `chars` characters after the shared start, and the last `lead` characters of that start.
    """

    id: str
    run: str
    against: str
    """The answer that the others are compared with: the requested one, else the best by reward."""
    best: str
    total: int
    offset: int
    common: int
    """Number of characters that all shown answers begin with, except answers without text."""
    answers: list[MemberText]
    reference: MemberText | None
    """The compared answer, if it is not one of `answers`."""
    prompt: list[MemberPiece]
    """The start of the requested sample; `own` has its text."""
    prompt_chars: int
    label: str


class SharedPromptItem(Struct, kw_only=True):
    """A prompt; each list has an entry for every run, 0 samples and no mean for a run without the prompt."""

    name: str
    """The hash of the prompt, which addresses use as its name."""
    prompt: str
    samples: list[int]
    """All samples of the prompt, including discarded ones."""
    discarded: list[int]
    reward_mean: list[Number]


class SharedPromptsReply(Struct, kw_only=True):
    """`GET /api/compare/prompts?run=&run=&split=&step=&sort=&offset=&limit=`: prompts that several runs answered."""

    runs: list[str]
    split: str
    step: int
    prompts_of: list[int]
    """The number of prompts of each run at the step."""
    total: int
    offset: int
    prompts: list[SharedPromptItem]
    is_cut: bool
    """True if a run has more prompts at the step than were compared."""
