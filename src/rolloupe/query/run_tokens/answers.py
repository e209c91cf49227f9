"""Questions about the tokens of a run, as the page draws them: each series in columns, words and tokens as text."""

from collections import defaultdict
from collections.abc import Sequence
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from rolloupe import tokens
from rolloupe.index import OpenRun
from rolloupe.model import Real
from rolloupe.query.filter.parser import conditions
from rolloupe.query.records import SampleQuery, scope_of
from rolloupe.query.run.trainer_files import loss_of
from rolloupe.query.run_tokens.statistics import (
    MaskedShares,
    known_series,
    masked_shares,
    position_curves,
    token_stats,
)
from rolloupe.query.run_tokens.token_index import TokenCoverage, in_known_scope, in_known_series
from rolloupe.query.run_tokens.words import TokenWord, word_changes, words_of_steps
from rolloupe.query.run_tokens.worst import worst_tokens
from rolloupe.query.tokens.token_strings import each_readable
from rolloupe.questions import (
    TokenChangeQuery,
    TokenMaskQuery,
    TokenPositionQuery,
    TokenSeriesQuery,
    TokenStepQuery,
    TokenWordQuery,
    WorstTokenQuery,
)

PERCENTILES = (10.0, 50.0, 90.0)

MAX_TEXT = 1_000
"""Characters of a token string; no token of a vocabulary has as many."""


class RunSeries(Struct, frozen=True):
    """A token series that samples of the run have."""

    name: str
    title: str
    about: str
    scale: Literal["linear", "symmetric", "log"]


class RunTokenSeries(Struct, frozen=True):
    """The series that the index knows, in the order of the samples."""

    series: list[RunSeries]
    coverage: TokenCoverage


def token_series_answer(run: OpenRun, asked: TokenSeriesQuery) -> RunTokenSeries:
    """Return the series that the index has values of."""
    known = known_series(run, scope_of(asked))
    kinds = ((name, tokens.kind_of(name)) for name in known.names)
    return RunTokenSeries([RunSeries(name, kind.title, kind.about, kind.scale) for name, kind in kinds], known.coverage)


class RunTokenSteps(Struct, frozen=True, kw_only=True):
    """A series at each step that has values, over finite values."""

    series: str
    steps: list[int]
    tokens: list[int]
    infinite: list[int]
    """How many tokens have an infinite value."""
    samples: list[int]
    """How many samples have a value."""
    mean: list[Real]
    """Over all tokens."""
    sample_mean: list[Real]
    """The mean of the means of the samples."""
    min: list[Real]
    max: list[Real]
    p10: list[Real]
    """A percentile is at most 0.8 % from the true one."""
    p50: list[Real]
    p90: list[Real]
    coverage: TokenCoverage


def token_steps_answer(run: OpenRun, asked: TokenStepQuery) -> RunTokenSteps:
    """Return the statistics of a series by step. Raises `NotFound` for an unknown scope or series."""
    scope = scope_of(asked)
    stats = token_stats(run, scope, asked.series, PERCENTILES)
    _check(run, scope, asked.series, is_empty=not stats.steps)
    columns = {
        name: [getattr(step, name) for step in stats.steps]
        for name in ("tokens", "infinite", "samples", "mean", "sample_mean", "min", "max")
    }
    p10, p50, p90 = ([step.percentiles[percentile] for step in stats.steps] for percentile in PERCENTILES)
    return RunTokenSteps(
        series=asked.series, steps=[step.step for step in stats.steps], p10=p10, p50=p50, p90=p90,
        coverage=stats.coverage, **columns,
    )  # fmt: skip


class RunTokenPositions(Struct, frozen=True, kw_only=True):
    """The mean of a series by position at one step.

    A position is how many trained tokens of the sample come before. The first 64 have a bucket each; later buckets grow
    with the position.
    """

    series: str
    step: int
    first: list[int]
    """The first position of each bucket."""
    tokens: list[int]
    means: list[Real | None]
    """Null for a bucket without tokens."""
    coverage: TokenCoverage


def token_positions_answer(run: OpenRun, asked: TokenPositionQuery) -> RunTokenPositions:
    """Return a series by position at a step. Raises `NotFound` for an unknown scope or series."""
    scope = scope_of(asked)
    by_step = position_curves(run, scope, asked.series)
    curve = next(iter(by_step.curves), None)
    _check(run, scope, asked.series, is_empty=curve is None)
    return RunTokenPositions(
        series=asked.series,
        step=asked.step,
        first=curve.first if curve else [],
        tokens=curve.tokens if curve else [],
        means=[*curve.means] if curve else [],
        coverage=by_step.coverage,
    )


class MaskSteps(Struct, frozen=True, kw_only=True):
    """What a rule takes out, by step, as shares of the trained tokens."""

    rule: str
    """`recorded` for what the trainer recorded."""
    title: str
    thresholds: dict[str, float]
    """Those that the shares hold for; none for `recorded`."""
    is_of_run: bool
    """True if the run was trained with the rule."""
    steps: list[int]
    tokens: list[int]
    masked: list[float]
    high: list[float]
    """Masked because they moved up too far."""
    low: list[float]
    update_lost: list[Real | None]
    """The share of the update that the rule masks or clips; null if nothing is known to be pushed."""


class RunTokenMasks(Struct, frozen=True):
    """Each rule that the series suffice for, what was recorded first."""

    rules: list[MaskSteps]
    coverage: TokenCoverage


def token_masks_answer(run: OpenRun, asked: TokenMaskQuery) -> RunTokenMasks:
    """Return which shares of the tokens each rule takes out, by step."""
    masked = masked_shares(run, scope_of(asked))
    by_rule = defaultdict[tuple[str, str], list[MaskedShares]](list)
    for shares in masked.shares:
        by_rule[shares.rule, str(shares.thresholds)].append(shares)
    loss, rules = loss_of(run), {rule.name: rule for rule in tokens.MASK_RULES}
    places = {name: place for place, name in enumerate(rules)}
    in_order = sorted(by_rule.items(), key=lambda item: places.get(item[0][0], -1))
    return RunTokenMasks(
        [
            MaskSteps(
                rule=rule,
                title=(rules[rule] if rule in rules else tokens.UPDATES[rule]).title,
                thresholds=by_step[0].thresholds,
                is_of_run=loss is not None
                and loss.rule == rule
                and loss.thresholds.items() <= by_step[0].thresholds.items(),
                steps=[shares.step for shares in by_step],
                tokens=[shares.tokens for shares in by_step],
                masked=[shares.masked for shares in by_step],
                high=[shares.high for shares in by_step],
                low=[shares.low for shares in by_step],
                update_lost=[shares.update_lost for shares in by_step],
            )
            for (rule, _), by_step in in_order
        ],
        masked.coverage,
    )


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
    words = words_of_steps(run, scope, by=asked.by, limit=asked.limit)
    _check(run, scope, is_empty=not words.words)
    return RunTokenWords(
        words=_words(words.words), kl=words.kl, tokens=words.tokens, listed=words.listed, coverage=words.coverage
    )


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
    changes = word_changes(
        run, asked.split, asked.before, asked.after, by=asked.by, min_tokens=asked.min_tokens, limit=asked.limit
    )
    every = [*changes.gained, *changes.lost]
    before, after = _words([change.before for change in every]), _words([change.after for change in every])
    shown = list(map(ChangedWord, before, after, [change.change for change in every]))
    return RunTokenChanges(
        tokens=[*changes.tokens],
        gained=shown[: len(changes.gained)],
        lost=shown[len(changes.gained) :],
        compared=changes.compared,
        unknown=changes.unknown,
        min_tokens=changes.min_tokens,
        coverage=changes.coverage,
    )


class ShownToken(Struct, frozen=True, kw_only=True):
    """A token with one of the most extreme values of a series."""

    value: Real
    id: str
    """The sample."""
    token: int
    """Its place among all tokens of the sample."""
    text: str | None
    """The token string as text; null if neither the record nor a tokenizer tells."""
    token_id: int | None


class RunWorstTokens(Struct, frozen=True):
    """The worst tokens of a group, a step or a run, the worst first."""

    series: str
    tokens: list[ShownToken]
    coverage: TokenCoverage


def worst_tokens_answer(run: OpenRun, asked: WorstTokenQuery) -> RunWorstTokens:
    """Return the most extreme tokens of a series. Raises `NotFound` for an unknown scope or series."""
    scope = replace(scope_of(asked), where=conditions(asked.where), typed=asked.where)
    worst = worst_tokens(run, scope, asked.series, highest=asked.side == "high", limit=asked.limit)
    _check(run, scope, asked.series, is_empty=not worst.tokens)
    texts = each_readable([token.token_string or "" for token in worst.tokens])
    shown = [
        ShownToken(
            value=token.value,
            id=str(token.key),
            token=token.token,
            text=None if token.token_string is None else text[:MAX_TEXT],
            token_id=token.token_id,
        )
        for token, text in zip(worst.tokens, texts, strict=True)
    ]
    return RunWorstTokens(asked.series, shown, worst.coverage)


def _check(run: OpenRun, scope: SampleQuery, series: str | None = None, *, is_empty: bool) -> None:
    """Raise `NotFound` if an answer is empty because there is no such step, group or series."""
    if not is_empty:
        return
    in_known_scope(run, scope)
    if series is not None:
        in_known_series(run, series)


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
