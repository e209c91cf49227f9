"""The worst tokens of a run, a step, a group or a sample: those with the lowest or the highest value of a series."""

from typing import NamedTuple

from rolloupe.errors import BadQuery
from rolloupe.formats.token_texts import tokenizer_of
from rolloupe.index import OpenRun
from rolloupe.index.token_stats.series import MAX_KEPT, KeptToken, most_extreme, unpacked_tokens
from rolloupe.model import SampleKey
from rolloupe.query.engine.relation import RowPlace
from rolloupe.query.records import SampleQuery
from rolloupe.query.run_tokens.token_index import TokenCoverage, indexed, is_read, read_totals, series_meant
from rolloupe.query.samples.rows import items_of, list_rows
from rolloupe.tokenizer import text_of_token

COLUMNS = ("lowest", "highest", "lowest_of_samples", "highest_of_samples")


class WorstToken(NamedTuple):
    """A token of a sample: `token` is its place among all tokens of the sample."""

    value: float
    key: SampleKey
    token: int
    token_string: str | None
    """None if neither the record nor a tokenizer tells."""
    token_id: int | None
    """None if the record holds a string, or no ids."""


class WorstTokens(NamedTuple):
    """The most extreme tokens of a series, the worst first. Infinite values count."""

    series: str
    tokens: list[WorstToken]
    coverage: TokenCoverage


def worst_tokens(
    run: OpenRun,
    query: SampleQuery,
    series: str,
    *,
    highest: bool = True,
    one_a_sample: bool = False,
    limit: int = 20,
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
    candidates.sort(
        key=lambda candidate: (
            sign * candidate[3].value,
            candidate[0] != "train",
            *candidate[:2],
            candidate[2].source,
            candidate[2].start,
            candidate[3].row,
            candidate[3].token,
        )
    )
    worst = candidates[:limit]
    places = [RowPlace(piece, token.row) for *_, piece, token in worst]
    items = items_of(list_rows(run, snapshot, places, columns=["step"]))
    listed = [_shown(run, token, item.key) for (*_, token), item in zip(worst, items, strict=True)]
    return WorstTokens(series, listed, coverage)


def _shown(run: OpenRun, token: KeptToken, key: SampleKey) -> WorstToken:
    word = token.word
    if isinstance(word, str) or word is None:
        return WorstToken(token.value, key, token.token, word, None)
    decoder = tokenizer_of(run.info)
    return WorstToken(token.value, key, token.token, text_of_token(decoder, word) if decoder else None, word)
