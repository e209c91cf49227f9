"""Evaluations by step, and the grid of prompts."""

from msgspec import Struct

from rolloupe.wire.records.numbers import Number


class EvalStepItem(Struct, kw_only=True):
    """One step of an evaluation: the mean value, the share of correct answers, and pass@k and pass^k for each k.

    `prompts_at` counts the prompts with at least k answers, over which pass@k and pass^k are means.
    """

    step: int
    prompts: int
    samples: int
    without: int
    """Samples without a finite value: no other number counts them."""
    score: Number
    correct: Number
    pass_at: list[Number]
    pass_all: list[Number]
    prompts_at: list[int]


class EvalItem(Struct, kw_only=True):
    """One evaluation: an answer is correct if `metric` reaches `bar` (or falls to it, if less is better)."""

    split: str
    metric: str
    bar: Number
    falls: bool
    reason: str
    """The origin of the bar."""
    metrics: list[str]
    ks: list[int]
    steps: list[EvalStepItem]


class EvalsReply(Struct, kw_only=True):
    """`GET /api/runs/{run}/evals?metric=&bar=&k=`: every split that is an evaluation."""

    run: str
    version: str
    evals: list[EvalItem]


class PromptRow(Struct, kw_only=True):
    """A row of the grid: the number of answers at each step, -1 at steps without the prompt, and of correct answers.

    `beat`: whether any answer had a higher reward than the reference answer beside it; null without a reference.
    """

    name: str
    """The hash of the prompt, which addresses use as its name."""
    prompt: str
    verdict: str
    """`solved`, `lost`, `mixed`, `never` or `always`."""
    n: list[int]
    c: list[int]
    beat: bool | None


class GridReply(Struct, kw_only=True):
    """`GET /api/runs/{run}/grid?split=&metric=&bar=&only=&sort=&offset=&limit=`: prompts by steps, a page of them."""

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
    prompts: list[PromptRow]
    counts: dict[str, int]
    """Number of prompts by verdict; `unbeaten` counts those of which no answer beat its reference."""
    once: int
    """Training prompts that appear at only one step; the grid leaves them out."""


class AnswerItem(Struct, kw_only=True):
    """A sample of a cell."""

    id: str
    value: Number
    correct: bool | None
    discarded: str
    status: str
    preview: str


class CellReply(Struct, kw_only=True):
    """`GET /api/runs/{run}/evals/answers?split=&step=&prompt=&metric=&bar=`: the samples of a cell of the grid."""

    run: str
    answers: list[AnswerItem]
