"""The words of the vocabulary at each step: how often each is a token, its KL, its probability, and how they change."""

from collections import defaultdict
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from msgspec.structs import replace

from rolloupe.errors import BadQuery, NotFound
from rolloupe.formats.token_texts import tokenizer_of
from rolloupe.index import OpenRun, StepKey
from rolloupe.index.token_stats import words
from rolloupe.index.token_stats.words import KeptWords
from rolloupe.query.records import SampleQuery
from rolloupe.query.run_tokens.token_index import TokenCoverage, whole_steps
from rolloupe.tokenizer import text_of_token
from rolloupe.tokens import Flags, Floats

ORDERS = ("kl", "tokens")
COMPARED = ("probability", "share")

MIN_TOKENS = 10
"""How often a word must be a token for its mean probability to be compared."""


class TokenWord(NamedTuple):
    """The trained tokens that are one word."""

    word: str
    """The token string; for an id without a tokenizer, the id in digits."""
    token_id: int | None
    tokens: int
    kl: float
    """The sum of their KL."""
    with_kl: int
    """How many of them have a KL."""
    rated: int
    """How many of them have a probability at sampling."""
    probability: float
    """The sum of those."""
    is_exact: bool
    """False if some of its tokens may be missing: the index kept the word in some segments and not in others."""


class WordsOfSteps(NamedTuple):
    """The words of several steps together."""

    words: list[TokenWord]
    kl: str
    """The series that `TokenWord.kl` sums; empty if the samples have no KL."""
    tokens: int
    """How many trained tokens have a word."""
    listed: int
    """How many of them are tokens of words that the index kept."""
    coverage: TokenCoverage


class WordChange(NamedTuple):
    """A word at two steps."""

    before: TokenWord
    after: TokenWord
    change: float
    """The change of the mean probability, or of the share of all tokens."""


class WordChanges(NamedTuple):
    """The words that changed most between two steps."""

    split: str
    steps: tuple[int, int]
    tokens: tuple[int, int]
    """How many trained tokens each step has."""
    gained: list[WordChange]
    """The greatest gain first."""
    lost: list[WordChange]
    """The greatest loss first."""
    compared: int
    """How many words were compared."""
    unknown: int
    """How many words are frequent enough at one of the steps, but too rare for the index at the other."""
    min_tokens: int
    coverage: TokenCoverage


def words_of_steps(run: OpenRun, query: SampleQuery, *, by: str = "kl", limit: int = 50) -> WordsOfSteps:
    """The words with most KL, or the most frequent ones (`tokens`), in all steps of a query together.

    Raises `BadQuery` for another order, and for a query with a group or a filter.
    """
    _one_of(by, ORDERS)
    by_step, coverage = _kept(run, query)
    sums = _SumsByWord([words_of_step for kept in by_step.values() for words_of_step in kept])
    values = sums.sums[_KL if by == "kl" else _COUNT]
    order = np.lexsort((np.arange(len(sums)), -sums.sums[_COUNT], -values))
    return WordsOfSteps(sums.words(run, order[:limit].tolist()), sums.kl, sums.tokens, sums.listed, coverage)


def word_changes(
    run: OpenRun,
    split: str,
    before: int,
    after: int,
    *,
    by: str = "probability",
    min_tokens: int = MIN_TOKENS,
    limit: int = 20,
) -> WordChanges:
    """The words that gain and lose most between two steps.

    By `probability`, means over the tokens of a word are compared, of words that are at least `min_tokens` times a
    token at each of the steps; by `share`, how many of all tokens they are, of words that are as often a token at one
    of the steps. Only words of which the index knows every token at both steps are compared, so the figures are exact;
    `unknown` counts the others. Raises `BadQuery` for one step twice, another comparison or less than one token, and
    `NotFound` for a step without samples.
    """
    _one_of(by, COMPARED)
    if before == after:
        raise BadQuery(f"before and after are both step {before}: choose two different steps")
    if min_tokens < 1:
        raise BadQuery(f"min_tokens must be at least 1, and {min_tokens} was given")
    (first, coverage), (second, more) = (_of_step(run, split, step) for step in (before, after))
    coverage = replace(coverage, samples=coverage.samples + more.samples, pending=coverage.pending + more.pending)
    return _compared(run, _WordPair(split, (before, after), first, second), by, min_tokens, limit, coverage)


class _SumsByWord:
    """The sums of some segments by word."""

    def __init__(self, kept: Sequence[KeptWords]) -> None:
        self.numbers: dict[str | int, int] = {}
        self.kl = next((segment.kl for segment in kept if segment.kl), "")
        self.tokens = sum(segment.tokens for segment in kept)
        """How many tokens have a word."""
        numbers = self.numbers
        places = [[numbers.setdefault(word, len(numbers)) for word in segment.words] for segment in kept]
        self.sums: Floats = np.zeros((words.SUMS, len(numbers)))
        """As in `KeptWords`."""
        partly = np.zeros(len(numbers), np.int64)
        for at, segment in zip(places, kept, strict=True):
            for number, row in enumerate(segment.sums):
                if number not in (_KL, _WITH_KL) or segment.kl == self.kl:
                    np.add.at(self.sums[number], at, row)
            if not segment.is_whole:
                partly[list({*at})] += 1
        in_part = sum(not segment.is_whole for segment in kept)
        self.is_whole = not in_part
        """True if no word was left out."""
        self.is_known: Flags = partly == in_part
        """The words of which no token is missing."""

    def __len__(self) -> int:
        return len(self.numbers)

    @property
    def listed(self) -> int:
        """How many of the tokens are tokens of these words."""
        return int(self.sums[_COUNT].sum())

    def words(self, run: OpenRun, order: Sequence[int]) -> list[TokenWord]:
        """Some of the words."""
        every = list(self.numbers)
        names = _names(run, [every[number] for number in order])
        chosen = np.asarray(order, np.intp)
        columns = zip(names, *self.sums[:, chosen].tolist(), self.is_known[chosen].tolist(), strict=True)
        return [
            TokenWord(word, token_id, int(count), kl, int(with_kl), int(rated), probability, is_known)
            for (word, token_id), count, kl, with_kl, probability, rated, is_known in columns
        ]

    def over(self, every: Sequence[str | int]) -> "_SumsByWord":
        """These sums in the order of other words; 0 for a word without any."""
        sums = _SumsByWord([])
        at = np.array([self.numbers.get(word, -1) for word in every], np.intp)
        sums.numbers = {word: number for number, word in enumerate(every)}
        sums.sums = np.where(at < 0, 0.0, self.sums[:, at]) if len(self) else np.zeros((words.SUMS, len(every)))
        sums.is_known = np.where(at < 0, self.is_whole, self.is_known[at]) if len(self) else at == -1
        return sums


def _one_of(by: str, known: Sequence[str]) -> None:
    if by not in known:
        raise BadQuery(f"by={by[:40]!r} is neither {' nor '.join(known)}")


_COUNT, _KL, _WITH_KL, _PROBABILITY, _RATED = range(words.SUMS)


class _WordPair(NamedTuple):
    split: str
    steps: tuple[int, int]
    before: _SumsByWord
    after: _SumsByWord


def _compared(
    run: OpenRun, pair: _WordPair, by: str, min_tokens: int, limit: int, coverage: TokenCoverage
) -> WordChanges:
    every = list({**pair.before.numbers, **pair.after.numbers})
    before, after = pair.before.over(every), pair.after.over(every)
    counts = np.stack([before.sums[_COUNT], after.sums[_COUNT]])
    is_frequent = counts.max(axis=0) >= min_tokens
    is_known = before.is_known & after.is_known
    with np.errstate(invalid="ignore", divide="ignore"):
        if by == "probability":
            is_compared = is_known & (counts.min(axis=0) >= min_tokens)
            first, second = (sums.sums[_PROBABILITY] / sums.sums[_RATED] for sums in (before, after))
        else:
            is_compared = is_known & is_frequent
            first, second = before.sums[_COUNT] / pair.before.tokens, after.sums[_COUNT] / pair.after.tokens
    changes = np.where(is_compared, second - first, np.nan)
    order = np.lexsort((-counts.sum(axis=0), changes))
    up, down = [n for n in order[::-1] if changes[n] > 0][:limit], [n for n in order if changes[n] < 0][:limit]
    gained, lost = (
        list(map(WordChange, before.words(run, chosen), after.words(run, chosen), changes[chosen].tolist()))
        for chosen in (up, down)
    )
    return WordChanges(
        pair.split, pair.steps, (pair.before.tokens, pair.after.tokens), gained, lost,
        int(np.isfinite(changes).sum()), int((is_frequent & ~is_known).sum()), min_tokens, coverage,
    )  # fmt: skip


def _kept(run: OpenRun, query: SampleQuery) -> tuple[dict[StepKey, list[KeptWords]], TokenCoverage]:
    rows, coverage = whole_steps(run, query, "words")
    by_step: dict[StepKey, list[KeptWords]] = defaultdict(list)
    for row in rows:
        by_step[row.split, row.step].append(words.unpacked_words(row.values[0]))
    return by_step, coverage


def _of_step(run: OpenRun, split: str, step: int) -> tuple[_SumsByWord, TokenCoverage]:
    by_step, coverage = _kept(run, SampleQuery(splits=(split,), step_min=step, step_max=step))
    if not coverage.samples:
        raise NotFound(f"no samples at step {step} of split {split!r} in run {run.id!r}")
    return _SumsByWord(by_step[split, step]), coverage


def _names(run: OpenRun, chosen: Sequence[str | int]) -> list[tuple[str, int | None]]:
    """The strings of words, and the ids of those that the records have as ids."""
    decoder = tokenizer_of(run.info)
    return [
        (word, None) if isinstance(word, str) else (text_of_token(decoder, word) if decoder else str(word), word)
        for word in chosen
    ]
