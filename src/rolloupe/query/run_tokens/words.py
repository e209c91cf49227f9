"""The words of the vocabulary at each step: how often each is a token, its KL, its probability, and how they change."""

from collections import defaultdict
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from msgspec import Struct

from rolloupe.errors import BadQuery, NotFound
from rolloupe.formats.token_texts import tokenizer_of
from rolloupe.index import OpenRun, StepKey
from rolloupe.index.token_stats import words
from rolloupe.index.token_stats.words import KeptWords
from rolloupe.model import Real
from rolloupe.query.records import SampleQuery, scope_of
from rolloupe.query.run_tokens.token_index import MAX_TEXT, TokenCoverage, check_known, whole_steps
from rolloupe.query.tokens.page import each_readable
from rolloupe.questions import TokenChangeQuery, TokenWordQuery
from rolloupe.tokenizer import text_of_token
from rolloupe.tokens import Flags, Floats

ORDERS = ("kl", "tokens")
COMPARED = ("probability", "share")
_COUNT, _KL, _WITH_KL, _PROBABILITY, _RATED = range(words.SUMS)


class TokenWord(NamedTuple):
    """The trained tokens that are one word."""

    word: str  # the token string; for an id without a tokenizer, the id in digits
    token_id: int | None
    tokens: int
    kl: float  # the sum of their KL
    with_kl: int  # how many of them have a KL
    rated: int  # how many of them have a probability at sampling
    probability: float  # the sum of those
    is_exact: bool
    """False if some tokens may be missing: the index kept the word in some segments only."""


class WordsOfSteps(NamedTuple):
    """The words of several steps together."""

    words: list[TokenWord]
    kl: str  # the series that `TokenWord.kl` sums; empty if the samples have no KL
    tokens: int  # how many trained tokens have a word
    listed: int  # how many of them are tokens of words that the index kept
    coverage: TokenCoverage


class WordChange(NamedTuple):
    """A word at two steps."""

    before: TokenWord
    after: TokenWord
    change: float  # the change of the mean probability, or of the share of all tokens


class WordChanges(NamedTuple):
    """The words that changed most between two steps."""

    split: str
    steps: tuple[int, int]
    tokens: tuple[int, int]  # how many trained tokens each step has
    gained: list[WordChange]  # the greatest gain first
    lost: list[WordChange]  # the greatest loss first
    compared: int  # how many words were compared
    unknown: int  # how many words are frequent enough at one of the steps, but too rare for the index at the other
    min_tokens: int
    coverage: TokenCoverage


def words_of_steps(run: OpenRun, query: SampleQuery, *, by: str = "kl", limit: int = 50) -> WordsOfSteps:
    """Return the words with most KL, or the most frequent (`tokens`), of all steps of a query. Raises `BadQuery`."""
    _check_order(by, ORDERS)
    by_step, coverage = _kept(run, query)
    sums = _SumsByWord([words_of_step for kept in by_step.values() for words_of_step in kept])
    values = sums.sums[_KL if by == "kl" else _COUNT]
    order = np.lexsort((np.arange(len(sums)), -sums.sums[_COUNT], -values))
    return WordsOfSteps(sums.words(run, order[:limit].tolist()), sums.kl, sums.tokens, sums.listed, coverage)


def word_changes(run: OpenRun, asked: TokenChangeQuery) -> WordChanges:
    """Return the words that gain and lose most between two steps.

    `probability` compares means over the tokens of a word, `share` the share of all tokens. A word needs at least
    `min_tokens` tokens: at both steps for `probability`, at one of them for `share`. The figures are exact, because
    `unknown` counts the words with tokens that the index may lack. Raises `BadQuery` for one step twice, another
    comparison or less than one token, and `NotFound` for a step without samples.
    """
    _check_order(asked.by, COMPARED)
    if asked.before == asked.after:
        raise BadQuery(f"before and after are both step {asked.before}: choose two different steps")
    if asked.min_tokens < 1:
        raise BadQuery(f"min_tokens must be at least 1, and {asked.min_tokens} was given")
    (first, coverage), (second, more) = (_of_step(run, asked.split, step) for step in (asked.before, asked.after))
    both = [getattr(coverage, name) + getattr(more, name) for name in TokenCoverage.__struct_fields__]
    return _compared(run, asked, first, second, TokenCoverage(*both))


class _SumsByWord:
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
        """The words without missing tokens."""

    def __len__(self) -> int:
        return len(self.numbers)

    @property
    def listed(self) -> int:
        """How many of the tokens are tokens of these words."""
        return int(self.sums[_COUNT].sum())

    def words(self, run: OpenRun, order: Sequence[int]) -> list[TokenWord]:
        """Return some of the words, with the strings of those that the records have as ids."""
        every, decoder, chosen = list(self.numbers), tokenizer_of(run.info), np.asarray(order, np.intp)
        columns = zip(order, *self.sums[:, chosen].tolist(), self.is_known[chosen].tolist(), strict=True)
        listed = []
        for number, count, kl, with_kl, probability, rated, is_known in columns:
            word = every[number]
            token_id = None if isinstance(word, str) else word
            if not isinstance(word, str):
                word = text_of_token(decoder, word) if decoder else str(word)
            listed.append(TokenWord(word, token_id, int(count), kl, int(with_kl), int(rated), probability, is_known))
        return listed

    def over(self, every: Sequence[str | int]) -> "_SumsByWord":
        """These sums in the order of other words; 0 for a word without any."""
        sums = _SumsByWord([])
        at = np.array([self.numbers.get(word, -1) for word in every], np.intp)
        sums.numbers = {word: number for number, word in enumerate(every)}
        sums.sums = np.where(at < 0, 0.0, self.sums[:, at]) if len(self) else np.zeros((words.SUMS, len(every)))
        sums.is_known = np.where(at < 0, self.is_whole, self.is_known[at]) if len(self) else at == -1
        return sums


def _check_order(by: str, known: Sequence[str]) -> None:
    if by not in known:
        raise BadQuery(f"by={by[:40]!r} is neither {' nor '.join(known)}")


def _compared(
    run: OpenRun, asked: TokenChangeQuery, first_step: _SumsByWord, second_step: _SumsByWord, coverage: TokenCoverage
) -> WordChanges:
    every = list({**first_step.numbers, **second_step.numbers})
    before, after = first_step.over(every), second_step.over(every)
    counts, tokens = np.stack([before.sums[_COUNT], after.sums[_COUNT]]), (first_step.tokens, second_step.tokens)
    is_frequent = counts.max(axis=0) >= asked.min_tokens
    is_known = before.is_known & after.is_known
    with np.errstate(invalid="ignore", divide="ignore"):
        if asked.by == "probability":
            is_compared = is_known & (counts.min(axis=0) >= asked.min_tokens)
            first, second = (sums.sums[_PROBABILITY] / sums.sums[_RATED] for sums in (before, after))
        else:
            is_compared = is_known & is_frequent
            first, second = counts[0] / tokens[0], counts[1] / tokens[1]
    changes = np.where(is_compared, second - first, np.nan)
    order = np.lexsort((-counts.sum(axis=0), changes))
    up, down = [n for n in order[::-1] if changes[n] > 0], [n for n in order if changes[n] < 0]
    gained, lost = (
        list(map(WordChange, before.words(run, chosen), after.words(run, chosen), changes[chosen].tolist()))
        for chosen in (up[: asked.limit], down[: asked.limit])
    )
    compared, unknown = int(np.isfinite(changes).sum()), int((is_frequent & ~is_known).sum())
    steps = asked.before, asked.after
    return WordChanges(asked.split, steps, tokens, gained, lost, compared, unknown, asked.min_tokens, coverage)


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


class Word(Struct, frozen=True, kw_only=True):
    """The trained tokens that are one word."""

    text: str
    """The token string as text; for an id without a tokenizer, the id in digits."""
    token_id: int | None
    """None if the record holds strings."""
    tokens: int
    kl: Real
    """The sum of their KL."""
    mean_kl: Real | None
    """The mean of their KL; null if none has one."""
    with_kl: int
    """How many of them have a KL."""
    probability: Real | None
    """The mean of their probabilities at sampling; null if none has one."""
    is_exact: bool
    """False if some of its tokens may be missing."""


class RunTokenWords(Struct, frozen=True, kw_only=True):
    """Words with most KL, or the most frequent."""

    words: list[Word]
    kl: str
    """The series that is summed; empty if the samples have no KL."""
    tokens: int
    """How many trained tokens have a word."""
    listed: int
    """How many of them are tokens of words that the index kept."""
    coverage: TokenCoverage


def token_words_answer(run: OpenRun, asked: TokenWordQuery) -> RunTokenWords:
    """Return the words with most KL, or the most frequent. Raises `NotFound` for an unknown scope."""
    scope = scope_of(asked)
    listed = words_of_steps(run, scope, by=asked.by, limit=asked.limit)
    if not listed.words:
        check_known(run, scope)
    return RunTokenWords(**dict[str, Any](listed._asdict(), words=_words(listed.words)))


class ChangedWord(Struct, frozen=True):
    """A word at two steps."""

    before: Word
    after: Word
    change: float


class RunTokenChanges(Struct, frozen=True, kw_only=True):
    """Words that gain and lose most."""

    tokens: list[int]
    """How many trained tokens either step has."""
    gained: list[ChangedWord]
    lost: list[ChangedWord]
    compared: int
    unknown: int
    """How many words are frequent at one of the steps, but too rare for the index at the other."""
    min_tokens: int
    """How often a word must be a token to be compared."""
    coverage: TokenCoverage


def token_changes_answer(run: OpenRun, asked: TokenChangeQuery) -> RunTokenChanges:
    """Return the words that gain and lose most between two steps. Raises as `word_changes` does."""
    changes = word_changes(run, asked)
    every = [*changes.gained, *changes.lost]
    before, after = _words([change.before for change in every]), _words([change.after for change in every])
    shown = list(map(ChangedWord, before, after, [change.change for change in every]))
    gained, lost = shown[: len(changes.gained)], shown[len(changes.gained) :]
    own = {name: getattr(changes, name) for name in ("compared", "unknown", "min_tokens", "coverage")}
    return RunTokenChanges(tokens=[*changes.tokens], gained=gained, lost=lost, **own)


def _words(words: Sequence[TokenWord]) -> list[Word]:
    return [
        Word(
            text=text[:MAX_TEXT],
            token_id=word.token_id,
            tokens=word.tokens,
            kl=word.kl,
            mean_kl=word.kl / word.with_kl if word.with_kl else None,
            with_kl=word.with_kl,
            probability=word.probability / word.rated if word.rated else None,
            is_exact=word.is_exact,
        )
        for word, text in zip(words, each_readable([word.word for word in words]), strict=True)
    ]
