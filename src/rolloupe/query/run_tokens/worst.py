"""The worst tokens of a run, a step, a group or a sample: those with the lowest or the highest value of a series."""

from typing import NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from rolloupe.errors import BadQuery
from rolloupe.formats.token_texts import tokenizer_of
from rolloupe.index import OpenRun, Piece
from rolloupe.index.token_stats.series import MAX_KEPT, KeptToken, most_extreme, unpacked_tokens
from rolloupe.model import Real, SampleKey
from rolloupe.query.engine.relation import RowPlace
from rolloupe.query.filter.parser import conditions
from rolloupe.query.records import SampleQuery, scope_of
from rolloupe.query.run_tokens.token_index import (
    TokenCoverage,
    check_known,
    indexed,
    is_read,
    read_totals,
    series_meant,
)
from rolloupe.query.run_tokens.words import MAX_TEXT
from rolloupe.query.samples.rows import items_of, list_rows
from rolloupe.query.tokens.token_strings import each_readable
from rolloupe.questions import WorstTokenQuery
from rolloupe.tokenizer import text_of_token

COLUMNS = ("lowest", "highest", "lowest_of_samples", "highest_of_samples")


class WorstToken(NamedTuple):
    """A token of a sample: `token` is its place among all tokens of the sample."""

    value: float
    key: SampleKey
    token: int
    token_string: str | None  # none if neither the record nor a tokenizer tells
    token_id: int | None  # none if the record holds a string, or no ids


class WorstTokens(NamedTuple):
    """The most extreme tokens of a series, the worst first. Infinite values count."""

    series: str
    tokens: list[WorstToken]
    coverage: TokenCoverage


def worst_tokens(
    run: OpenRun, query: SampleQuery, series: str, *, highest: bool = True, one_a_sample: bool = False, limit: int = 20
) -> WorstTokens:
    """The `limit` tokens with the highest, or the lowest, values of a series among the samples of a query.

    With `one_a_sample`, at most one token of each sample counts. Of equal values, earlier steps, files and tokens come
    first. The series may have another framework's name. A query with a group or a filter reads its samples, any other
    is answered by the index. Raises `BadQuery` for more than `MAX_KEPT` tokens, and for too many samples to read.
    """
    if not 0 < limit <= MAX_KEPT:
        raise BadQuery(f"limit={limit}: from 1 to {MAX_KEPT} tokens can be listed")
    snapshot, series = run.snapshot(), series_meant(run, series)
    number = 2 * one_a_sample + highest
    if is_read(query):
        by_step, keys = read_totals(run, query, series)
        read = (token for totals in by_step.values() for token in totals.kept[number].tokens())
        kept = most_extreme(read, highest=highest)[:limit]
        return WorstTokens(series, [_shown(run, token, keys[token.row]) for token in kept], TokenCoverage(len(keys)))
    rows, coverage = indexed(run, snapshot, query, [COLUMNS[number]], series)
    candidates = [(row.split, row.step, row.piece, token) for row in rows for token in unpacked_tokens(row.values[0])]
    sign = -1.0 if highest else 1.0

    def place(candidate: tuple[str, int, Piece, KeptToken]) -> tuple[float | str, ...]:
        split, step, piece, token = candidate
        return sign * token.value, split != "train", split, step, piece.source, piece.start, token.row, token.token

    worst = sorted(candidates, key=place)[:limit]
    places = [RowPlace(piece, token.row) for *_, piece, token in worst]
    items = items_of(list_rows(run, snapshot, places, columns=["step"]))
    listed = [_shown(run, token, item.key) for (*_, token), item in zip(worst, items, strict=True)]
    return WorstTokens(series, listed, coverage)


def _shown(run: OpenRun, token: KeptToken, key: SampleKey) -> WorstToken:
    word = token.word
    token_id = word if isinstance(word, int) else None
    if isinstance(word, int):
        decoder = tokenizer_of(run.info)
        word = text_of_token(decoder, word) if decoder else None
    return WorstToken(token.value, key, token.token, word, token_id)


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
    if not worst.tokens:
        check_known(run, scope, asked.series)
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
