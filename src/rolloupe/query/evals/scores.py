"""Scores of evaluations by step and by prompt: mean, pass@k, pass^k, and the grid of prompts by steps.

The grid serves every split: of training prompts it has those that recur at other steps.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from math import comb, fsum, inf, sqrt
from typing import Literal, NamedTuple

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from rolloupe.errors import BadQuery, NotFound
from rolloupe.index import OpenRun
from rolloupe.model import Real
from rolloupe.query.engine import database
from rolloupe.query.engine.compile import FILE_ORDER, matching
from rolloupe.query.engine.names import hash_of_word, prompt_word
from rolloupe.query.evals.grader import Cells, cells_of, evaluations, telling_judge, value_of
from rolloupe.query.samples.rows import KEY, ORDER, keyed_values, prompt_texts
from rolloupe.questions import AnswerQuery, EvalQuery, GridQuery

Verdict = Literal["solved", "lost", "always", "never", "mixed"]

VERDICTS: tuple[Verdict, ...] = ("solved", "lost", "mixed", "never", "always")

SORTS = ("index", "last", "change", "share")

MAX_KS = 16
MAX_K = 10_000


def pass_at(n: int, c: int, k: int) -> float | None:
    """Return the probability that at least one of k answers is correct: 1 - C(n-c, k) / C(n, k)."""
    return None if n < k else 1.0 - comb(n - c, k) / comb(n, k)


def pass_all(n: int, c: int, k: int) -> float | None:
    """Return the probability that all of k answers are correct (pass^k): C(c, k) / C(n, k)."""
    return None if n < k else comb(c, k) / comb(n, k)


def ks_of(most: int) -> tuple[int, ...]:
    """Return the values of k worth a column, given the largest number of answers to a prompt: 1, 2, 4, ..., all."""
    powers = [1 << bit for bit in range(most.bit_length()) if 1 << bit <= most]
    return tuple(dict.fromkeys([*powers, most] if most else []))


def mean(values: Iterable[float]) -> float | None:
    """Return the mean; None without values."""
    numbers = list(values)
    return fsum(numbers) / len(numbers) if numbers else None


class EvalStep(Struct, frozen=True):
    """One step of an evaluation. `score` is the mean value, `correct` the share of correct answers.

    `pass_at` and `pass_all` are means over the prompts with at least k answers, `prompts_at` their number.
    """

    step: int
    prompts: int
    samples: int
    without: int
    """Samples without a finite value: no other number counts them."""
    score: Real | None
    correct: Real | None
    pass_at: list[Real | None]
    pass_all: list[Real | None]
    prompts_at: list[int]


class EvalSummary(Struct, frozen=True):
    """One evaluation: the metric and threshold that grade it, and the scores by step, for each of `ks`."""

    split: str
    metric: str
    bar: Real
    falls: bool
    reason: str
    metrics: list[str]
    ks: tuple[int, ...]
    steps: list[EvalStep]


GRADED = 1e-3
"""Scores of right answers that differ by more, as a share of the largest, are grades; so are those of wrong ones."""


class PromptScores(Struct, frozen=True):
    """A row of the grid: `n` answers and `c` correct ones at each step, -1 and 0 for a step without the prompt.

    `beat` is true if any answer had a higher reward than its own reference, None without a reference.
    """

    name: str
    prompt: str
    verdict: Verdict
    n: list[int]
    c: list[int]
    beat: bool | None


class PromptGrid(Struct, frozen=True, kw_only=True):
    """Prompts by steps, a page of them: `total` prompts of the requested kind."""

    split: str
    metric: str
    metrics: list[str]
    bar: Real
    falls: bool
    reason: str
    """The origin of the bar."""
    steps: list[int]
    total: int
    offset: int
    prompts: list[PromptScores]
    counts: dict[str, int]
    """Number of prompts by verdict; `unbeaten` counts those without an answer that beat its reference."""
    once: int
    """Training prompts that appear at only one step; the grid leaves them out."""


class Answer(Struct, frozen=True):
    """A sample of a cell; `correct` is None without a finite value."""

    id: str
    value: Real | None
    correct: bool | None
    discarded: str
    status: str
    preview: str
    """The start of the response."""


def evals(run: OpenRun, metric: str = "", threshold: float | None = None, ks: Sequence[int] = ()) -> list[EvalSummary]:
    """Return the evaluations of a run; without a metric, each is graded by `telling_judge`. Raises `BadQuery`."""
    if any(k < 1 for k in ks) or len(ks) > MAX_KS:
        raise BadQuery(f"each k must be positive, and there may be {MAX_KS} of them")
    if metric:
        value_of(run.snapshot(), metric)
    return [eval_summary(run, split, metric, threshold, tuple(ks)) for split in evaluations(run)]


class RunEvals(Struct, frozen=True):
    """Every split that is an evaluation."""

    evals: list[EvalSummary]


def evals_answer(run: OpenRun, asked: EvalQuery) -> RunEvals:
    """Return the evaluations of a run. Raises as `evals` does."""
    words = [word.strip() for word in asked.k.split(",") if word.strip()]
    if not all(word.isascii() and word.isdigit() and len(word) < 6 and 1 <= int(word) <= MAX_K for word in words):
        raise BadQuery(f"k={asked.k[:40]!r} is not a list of whole numbers from 1 to {MAX_K}, such as 1,4,8")
    return RunEvals(evals(run, asked.metric, asked.bar, [int(word) for word in words]))


def eval_summary(
    run: OpenRun, split: str, metric: str, threshold: float | None, ks: tuple[int, ...], where: str = ""
) -> EvalSummary:
    """Return one evaluation by step, of the samples that match a filter. Raises as `evals` does."""
    judge = telling_judge(run, split, metric, threshold)
    cells, bar = cells_of(run, judge, where), judge.bar
    ks = ks or ks_of(int(cells.n.max(initial=0)))
    steps = [_step(cells, number, int(step), ks) for number, step in enumerate(cells.steps)]
    return EvalSummary(split, judge.metric, bar.value, bar.falls, bar.reason, judge.metrics, ks, steps)


LASTS = 2 / 3
"""Of the steps of an evaluation, how many a prompt spans that is compared with itself."""


class PairedChange(NamedTuple):
    """The change of the share of correct answers over all steps, along a straight line for each prompt."""

    prompts: int
    """How many prompts are asked over most of the steps."""
    mean: float
    error: float
    """The standard error of the mean."""


def paired_change(run: OpenRun, split: str, *, by_score: bool = False) -> PairedChange:
    """Return how the prompts of an evaluation changed, each compared with itself: in correct answers, or in scores."""
    cells = cells_of(run, telling_judge(run, split))
    is_graded = cells.n > 0
    prompt, step = cells.prompt[is_graded], cells.step[is_graded]
    values = cells.total if by_score else cells.c
    shares, steps = values[is_graded] / cells.n[is_graded], np.unique(step)
    places, count = np.searchsorted(steps, step).astype(float), len(cells.names)
    middles = np.bincount(prompt, places, count) / np.maximum(np.bincount(prompt, minlength=count), 1)
    gaps = places - middles[prompt]
    squares = np.bincount(prompt, gaps * gaps, count)
    first, last = np.full(count, inf), np.full(count, -inf)
    np.minimum.at(first, prompt, places)
    np.maximum.at(last, prompt, places)
    lasts = (squares > 0) & (last - first >= LASTS * (len(steps) - 1))
    slopes = np.bincount(prompt, gaps * shares, count)[lasts] / squares[lasts]
    if len(slopes) < 2:
        return PairedChange(0, 0.0, inf)
    changes = slopes * (len(steps) - 1)
    return PairedChange(len(changes), float(changes.mean()), float(changes.std(ddof=1)) / sqrt(len(changes)))


def graded_deviation(run: OpenRun, split: str) -> float | None:
    """Return the standard deviation of the scores of an evaluation; None if its answers are just right or wrong."""
    cells = cells_of(run, telling_judge(run, split))
    known = cells.n > 0
    n, c, scores = cells.n[known], cells.c[known], cells.total[known] / cells.n[known]
    scale = float(np.abs(scores).max(initial=0.0)) or 1.0
    is_graded = any(np.ptp(scores[of]) > GRADED * scale for of in (c == n, c == 0) if of.any())
    return float((scores / scale).std()) * scale if is_graded else None


def _step(cells: Cells, number: int, step: int, ks: Sequence[int]) -> EvalStep:
    here = cells.step == number
    n, c = cells.n[here], cells.c[here]
    drawn = int(n.sum())
    pairs = Counter(zip(n.tolist(), c.tolist(), strict=True))
    at, every, counts = [], [], []
    for k in ks:
        fit = [(pair, times) for pair, times in pairs.items() if pair[0] >= k]
        at.append(mean(v for (n, c), times in fit for v in [pass_at(n, c, k) or 0.0] * times))
        every.append(mean(v for (n, c), times in fit for v in [pass_all(n, c, k) or 0.0] * times))
        counts.append(sum(times for _, times in fit))
    without = int(cells.without[here].sum())
    score = float(cells.total[here].sum()) / drawn if drawn else None
    correct = int(c.sum()) / drawn if drawn else None
    return EvalStep(step, int((n > 0).sum()), drawn + without, without, score, correct, at, every, counts)


def grid(run: OpenRun, asked: GridQuery) -> PromptGrid:
    """Return a page of the prompts of a split by its steps; of `train`, only prompts that occur at several steps.

    Verdicts cover the steps from `step_min` to `step_max`, or all without these. No answer to an `unbeaten` prompt had
    a higher reward than its own reference. Raises `BadQuery`, and `NotFound` for an unknown split.
    """
    only, is_train = asked.only, asked.split == "train"
    if only not in ("", "unbeaten", *VERDICTS) or asked.sort not in SORTS:
        raise BadQuery(f"only= is one of {', '.join(VERDICTS)}, unbeaten; sort= is one of {', '.join(SORTS)}")
    judge = telling_judge(run, asked.split, asked.metric, asked.bar)
    cells = _between(cells_of(run, judge), asked.step_min, asked.step_max)
    kinds, beat, occurrences = _fared(cells)
    recurs = occurrences > 1 if is_train else occurrences > 0
    of_kind: dict[str, NDArray[np.bool_]] = {verdict: kinds == number for number, verdict in enumerate(VERDICTS)}
    of_kind["unbeaten"] = beat == 0
    counts = {kind: int((is_of & recurs).sum()) for kind, is_of in of_kind.items()}
    rows = _sorted(cells, np.flatnonzero(of_kind[only] & recurs if only else recurs), asked.sort)
    return PromptGrid(
        split=asked.split,
        metric=judge.metric,
        metrics=judge.metrics,
        bar=judge.bar.value,
        falls=judge.bar.falls,
        reason=judge.bar.reason,
        steps=cells.steps.tolist(),
        total=len(rows),
        offset=asked.offset,
        prompts=_prompts(run, asked.split, cells, rows[asked.offset : asked.offset + asked.limit], kinds, beat),
        counts=counts,
        once=int((occurrences == 1).sum()) if is_train else 0,
    )


def _between(cells: Cells, step_min: int | None, step_max: int | None) -> Cells:
    low, high = -inf if step_min is None else step_min, inf if step_max is None else step_max
    is_wanted = (cells.steps >= low) & (cells.steps <= high)
    if is_wanted.all():
        return cells
    inside = is_wanted[cells.step]
    columns = {name: getattr(cells, name)[inside] for name in Cells._fields if name not in ("names", "steps", "step")}
    places = (np.cumsum(is_wanted) - 1).astype(np.int32)
    return cells._replace(steps=cells.steps[is_wanted], step=places[cells.step[inside]], **columns)


def _fared(cells: Cells) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Return by prompt its verdict, whether it beat the reference (-1: unknown), and its number of steps."""
    count, is_graded = len(cells.names), cells.n > 0
    prompt, good = cells.prompt[is_graded], (2 * cells.c > cells.n)[is_graded]
    occurrences, well = np.bincount(prompt, minlength=count), np.bincount(prompt, good, count)
    correct = np.bincount(prompt, cells.c[is_graded], count)
    last = np.zeros(count, dtype=bool)
    last[prompt] = good  # cells are in order of steps: the last one counts
    kinds = np.full(count, VERDICTS.index("mixed"))
    kinds[~last & (well > 0)] = VERDICTS.index("lost")
    kinds[last] = VERDICTS.index("solved")
    kinds[correct == 0] = VERDICTS.index("never")
    kinds[(well == occurrences) & (occurrences > 0)] = VERDICTS.index("always")
    compared, above = (np.bincount(cells.prompt, of, count) for of in (cells.compared, cells.beat))
    beat = np.where(compared > 0, (above > 0).astype(np.int64), -1)
    return kinds, beat, occurrences


def _sorted(cells: Cells, rows: NDArray[np.int64], sort: str) -> NDArray[np.int64]:
    if sort == "index":
        return rows
    count, is_graded = len(cells.names), cells.n > 0
    prompt, n, c = cells.prompt[is_graded], cells.n[is_graded], cells.c[is_graded]
    if sort == "share":
        by = np.bincount(prompt, c, count) / np.maximum(np.bincount(prompt, n, count), 1)
    else:
        last, first = np.zeros(count), np.zeros(count)
        last[prompt] = c / n
        first[prompt[::-1]] = (c / n)[::-1]
        by = last if sort == "last" else last - first
    order: NDArray[np.int64] = rows[np.argsort(by[rows], kind="stable")]
    return order


def _prompts(
    run: OpenRun, split: str, cells: Cells, page: NDArray[np.int64], kinds: NDArray[np.int64], beat: NDArray[np.int64]
) -> list[PromptScores]:
    texts = prompt_texts(run, run.snapshot().holding([split]), cells.names[page])
    prompts = []
    for number in page.tolist():
        low, high = np.searchsorted(cells.prompt, (number, number + 1))
        n, c = np.full(len(cells.steps), -1), np.zeros(len(cells.steps), dtype=np.int64)
        n[cells.step[low:high]], c[cells.step[low:high]] = cells.n[low:high], cells.c[low:high]
        name = int(cells.names[number])
        beats = None if beat[number] < 0 else bool(beat[number])
        prompts.append(
            PromptScores(prompt_word(name), texts.get(name, ""), VERDICTS[kinds[number]], n.tolist(), c.tolist(), beats)
        )
    return prompts


class CellAnswers(Struct, frozen=True):
    """The samples of a cell of the grid."""

    answers: list[Answer]


def answers(run: OpenRun, asked: AnswerQuery) -> CellAnswers:
    """Return the samples of a cell, at most 1,000. Raises `NotFound` for an empty cell."""
    snapshot, split, step = run.snapshot(), asked.split, asked.step
    pieces, prompt_hash = snapshot.holding([split], step, step), hash_of_word(asked.prompt)
    if prompt_hash is None or not pieces:
        raise NotFound(f"no prompt {asked.prompt[:40]!r} at step {step} of {split!r}")
    judge = telling_judge(run, split, asked.metric, asked.bar)
    name, value = value_of(snapshot, judge.metric)
    sql = f"""
    SELECT (row_number() OVER (ORDER BY {FILE_ORDER})) - 1 AS nth, {", ".join((*KEY, *ORDER))}, {value} AS judged,
           CASE WHEN isfinite({value}::DOUBLE) THEN {judge.bar.sql(value)} END AS is_correct, discarded, status,
           response_preview
    FROM rows WHERE split = ? AND step = ? AND prompt_hash = ? ORDER BY nth LIMIT 1000"""
    terms = matching(snapshot, "", [name, "discarded"])
    rows = database.table(run, terms.question(pieces, sql, [split, step, prompt_hash]))
    if not len(rows):
        raise NotFound(f"no prompt {asked.prompt!r} at step {step} of {split!r}")
    shown = ("judged", "is_correct", "discarded", "status", "response_preview")
    return CellAnswers([Answer(str(key), *values) for key, values in keyed_values(run, snapshot, rows, shown)])
