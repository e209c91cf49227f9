"""Evaluations by step, and the grid of problems."""

from msgspec import Struct

from rolloupe.server.wire.numbers import Number


class EvalStepItem(Struct, kw_only=True):
    """One step of an evaluation: the mean value, the share of right answers, and for each k pass@k and pass^k.

    `problems_at` is how many problems have at least k answers, over which the two are means.
    """

    step: int
    problems: int
    samples: int
    without: int
    """Samples without a finite value: in no other number."""
    score: Number
    right: Number
    pass_at: list[Number]
    pass_all: list[Number]
    problems_at: list[int]


class EvalItem(Struct, kw_only=True):
    """One evaluation: an answer is right where `metric` reaches `bar` (falls to it, where less is better)."""

    split: str
    metric: str
    bar: Number
    falls: bool
    reason: str
    """Where the bar comes from."""
    metrics: list[str]
    ks: list[int]
    steps: list[EvalStepItem]


class EvalsReply(Struct, kw_only=True):
    """`GET /api/runs/{run}/evals?metric=&bar=&k=`: every split that is an evaluation."""

    run: str
    version: str
    evals: list[EvalItem]


class ProblemRow(Struct, kw_only=True):
    """A row of the grid: how many answers there were at each step, -1 where it was not asked, and how many were right.

    `beat`: whether its best reward was ever above the reference model's, null where there is none.
    """

    problem: str
    prompt: str
    verdict: str
    """`solved`, `lost`, `mixed`, `never` or `always`."""
    n: list[int]
    c: list[int]
    beat: bool | None


class GridReply(Struct, kw_only=True):
    """`GET /api/runs/{run}/grid?split=&metric=&bar=&only=&sort=&offset=&limit=`: problems by steps, a page of them."""

    run: str
    split: str
    version: str
    metric: str
    metrics: list[str]
    bar: Number
    falls: bool
    reason: str
    steps: list[int]
    total: int
    offset: int
    problems: list[ProblemRow]
    counts: dict[str, int]
    """Problems by verdict; `unbeaten` are those that never were above the reference."""
    once: int
    """Training prompts that came at one step alone, and are not in the grid."""


class AnswerItem(Struct, kw_only=True):
    """A sample of a cell."""

    id: str
    value: Number
    right: bool | None
    discarded: str
    status: str
    preview: str


class CellReply(Struct, kw_only=True):
    """`GET /api/runs/{run}/evals/answers?split=&step=&problem=&metric=&bar=`: the samples of a cell of the grid."""

    run: str
    answers: list[AnswerItem]
