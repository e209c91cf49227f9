"""The sentences of a brief, and how a sentence writes its numbers."""

from collections.abc import Callable
from enum import IntEnum
from typing import Literal, NamedTuple

from msgspec import Struct

from rolloupe.insight.curves import CurveName

SentenceKind = Literal["reward", "held_out", "paid_for", "answers", "data", "curves"]


class Rank(IntEnum):
    """The order of sentences. Of one rank, those that `brief` lists first come first."""

    CAUSE = 0
    """What happened to the answers, the prompts or the grader that explains the reward."""
    FALL = 1
    """Of the reward, since its best step or within one."""
    ERROR = 2
    """Samples or curves that are wrong, an evaluation that fell, a reward that jumped."""
    SUSPECT = 3
    UNVERIFIED = 4
    """What nobody can verify, what spread unpaid, and samples that need a look."""
    HINT = 5
    """In the curves, if nothing is paid for and nothing spread."""
    CHANGE = 6
    """Of the reward, or none; an evaluation that rose."""
    STEADY = 7
    """Evaluations without a change."""
    REST = 8


class Evidence(Struct, frozen=True, kw_only=True):
    """Where a sentence can be seen: a page, and what it shows there."""

    page: Literal["rollouts", "metrics", "evals", "findings"]
    split: str = ""
    where: str = ""
    """A filter of samples."""
    sort: str = ""
    descending: bool = False
    discarded: bool = False
    """True if the samples were discarded."""
    curve: CurveName | None = None
    finding: str = ""
    """The phrase or the behaviour of a finding, or a rule that samples break."""
    samples: list[str] = []
    """The ids of some samples, the clearest first."""


class BriefSentence(Struct, frozen=True, kw_only=True):
    """One sentence, and what shows it."""

    text: str
    kind: SentenceKind
    steps: tuple[int, int] | None = None
    """The first and the last of the steps that it is about; None for all of a run."""
    evidence: Evidence


class Ranked(NamedTuple):
    """A sentence and its place among others."""

    rank: Rank
    sentence: BriefSentence
    way: int = 0
    """1 if it says that something rose, -1 if it fell, else 0."""


def figure(value: float) -> str:
    """Return a number in three digits."""
    return f"{value:.3g}".replace("-", "−")


def percent(value: float) -> str:
    """Return a share in whole percent."""
    return f"{value:.0%}"


def change_of(before: float, after: float, shown: Callable[[float], str] = figure) -> str:
    """Return two numbers with an arrow between them."""
    return f"{shown(before)} → {shown(after)}"
