"""What the tokens of a step have in common: shares that rules take out, curves by position, words of the vocabulary."""

from collections import defaultdict
from typing import NamedTuple

from rolloupe.formats.token_texts import tokenizer_of
from rolloupe.index import OpenRun, StepKey
from rolloupe.index.token_stats import mask_sums, positions, words
from rolloupe.index.token_stats.files import WHOLE_STEP
from rolloupe.index.token_stats.mask_sums import MaskedSums
from rolloupe.index.token_stats.positions import EDGES
from rolloupe.index.token_stats.words import KLS
from rolloupe.query.records import SampleQuery
from rolloupe.query.tokens.token_index import IndexedRow, TokenCoverage, indexed, left_out
from rolloupe.tokenizer import decode_tokens


class MaskedShares(NamedTuple):
    """What a rule with its usual thresholds takes out at a step, as shares of the trained tokens."""

    split: str
    step: int
    rule: str
    """A name of `tokens.MASK_RULES`, or `recorded` for what the trainer recorded."""
    tokens: int
    masked: float
    high: float
    low: float
    update_lost: float | None
    """The share of the update, as the sum of `abs(g)`; None if nothing is known to be pushed."""


class MaskedBySteps(NamedTuple):
    """Every rule at every step."""

    shares: list[MaskedShares]
    coverage: TokenCoverage


def masked_shares(run: OpenRun, query: SampleQuery) -> MaskedBySteps:
    """The shares of tokens that each rule takes out, by step, for the rules that the recorded series suffice for."""
    rows, coverage = _whole_steps(run, query, "masked", ("prob_delta", "advantages"))
    sums: dict[tuple[str, int, str], MaskedSums] = defaultdict(MaskedSums)
    for row in rows:
        for rule, one in mask_sums.unpacked(row.values[0]).items():
            sums[row.split, row.step, rule] = sums[row.split, row.step, rule].plus(one)
    shares = [
        MaskedShares(
            *key,
            tokens=one.tokens,
            masked=one.masked / one.tokens,
            high=one.high / one.tokens,
            low=one.low / one.tokens,
            update_lost=one.lost / one.update if one.update else None,
        )
        for key, one in sorted(sums.items(), key=lambda one: (one[0][0] != "train", one[0]))
        if one.tokens
    ]
    return MaskedBySteps(shares, coverage)


class PositionCurve(NamedTuple):
    """The mean of a series by position at a step, over the trained tokens."""

    split: str
    step: int
    series: str
    first: list[int]
    """The first position of each bucket: how many trained tokens of the sample precede it."""
    tokens: list[int]
    means: list[float | None]
    """None for a bucket without tokens."""


class CurvesByPosition(NamedTuple):
    """The entropy, and a KL, at every step."""

    curves: list[PositionCurve]
    coverage: TokenCoverage


def position_curves(run: OpenRun, query: SampleQuery) -> CurvesByPosition:
    """The means of the entropy and of a KL by position in the response, by step."""
    rows, coverage = _whole_steps(run, query, "positions", ("entropy", *KLS))
    sums: dict[tuple[str, int, str], tuple[list[int], list[float]]] = {}
    for row in rows:
        for series, one in positions.unpacked(row.values[0]).items():
            counts, totals = sums.setdefault((row.split, row.step, series), ([], []))
            missing = len(one.tokens) - len(counts)
            counts += [0] * missing
            totals += [0.0] * missing
            for at, (count, total) in enumerate(zip(one.tokens, one.total, strict=True)):
                counts[at] += count
                totals[at] += total
    curves = [
        PositionCurve(
            *key,
            EDGES[: len(counts)].tolist(),
            counts,
            [total / count if count else None for count, total in zip(counts, totals, strict=True)],
        )
        for key, (counts, totals) in sorted(sums.items(), key=lambda one: (one[0][0] != "train", one[0]))
    ]
    return CurvesByPosition(curves, coverage)


class TokenWord(NamedTuple):
    """The trained tokens of a step that are one word."""

    word: str
    """The token string; for an id without a tokenizer, the id in digits."""
    token_id: int | None
    tokens: int
    kl: float
    """The sum of their KL."""
    probability: float
    """The sum of their probabilities at sampling."""


class StepWords(NamedTuple):
    """The words of a step, the most frequent first."""

    split: str
    step: int
    words: list[TokenWord]
    kl: str
    """The series that `TokenWord.kl` sums; empty if the samples have no KL."""
    tokens: int
    """How many trained tokens have a word."""
    listed: int
    """How many of them are tokens of the words listed: the others are of rarer words with less KL."""


class WordsBySteps(NamedTuple):
    """The words of every step."""

    steps: list[StepWords]
    coverage: TokenCoverage


def step_words(run: OpenRun, query: SampleQuery) -> WordsBySteps:
    """The most frequent words, and those with most KL, of each step.

    Where a step lies in several segments, the sums of a word are over those segments that kept it; `listed` says how
    much of the step is covered.
    """
    rows, coverage = _whole_steps(run, query, "words", (*KLS, "logprobs"))
    by_step: dict[StepKey, list[words.KeptWords]] = defaultdict(list)
    for row in rows:
        by_step[row.split, row.step].append(words.unpacked(row.values[0]))
    steps = [
        _words_of(run, *key, some)
        for key, some in sorted(by_step.items(), key=lambda one: (one[0][0] != "train", one[0]))
        if any(one.tokens for one in some)
    ]
    return WordsBySteps(steps, coverage)


def _words_of(run: OpenRun, split: str, step: int, some: list[words.KeptWords]) -> StepWords:
    kl = next((one.kl for one in some if one.kl), "")
    sums: dict[str | int, list[float]] = {}
    for kept in some:
        for one in kept.words:
            found = sums.setdefault(one.word, [0, 0.0, 0.0])
            found[0] += one.tokens
            found[1] += one.kl if kept.kl == kl else 0.0
            found[2] += one.probability
    decoder = tokenizer_of(run.info)
    ids = [word for word in sums if isinstance(word, int)]
    names = dict(zip(ids, (decode_tokens(decoder, [one])[0] if decoder else str(one) for one in ids), strict=True))
    listed = [
        TokenWord(word, None, int(count), kl_sum, p)
        if isinstance(word, str)
        else TokenWord(names[word], word, int(count), kl_sum, p)
        for word, (count, kl_sum, p) in sums.items()
    ]
    listed.sort(key=lambda one: (-one.tokens, one.word))
    return StepWords(split, step, listed, kl, sum(one.tokens for one in some), sum(one.tokens for one in listed))


def _whole_steps(
    run: OpenRun, query: SampleQuery, column: str, series: tuple[str, ...]
) -> tuple[list[IndexedRow], TokenCoverage]:
    """A column of the rows without a series; none if annotations complete one of the series that it is made of."""
    snapshot = run.snapshot()
    if reason := next(filter(None, (left_out(snapshot, name) for name in series)), ""):
        return [], TokenCoverage(0, left_out=reason)
    return indexed(run, snapshot, query, [column], WHOLE_STEP)
