"""Tokens in the index, or in samples that are read whole: statistics, and the most extreme tokens of a series."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from rolloupe import tokens
from rolloupe.errors import BadQuery, NotFound, RolloupeError
from rolloupe.formats.token_texts import tokenizer_of
from rolloupe.index import OpenRun, Piece, Snapshot, StepKey
from rolloupe.index.token_stats.files import WHOLE_STEP, has_file, tokens_file_of
from rolloupe.index.token_stats.series import MAX_KEPT, KeptToken, SeriesTotals, most_extreme, unpacked_tokens
from rolloupe.model import Real, SampleKey
from rolloupe.query.engine import database
from rolloupe.query.engine.names import current_rows, is_within
from rolloupe.query.engine.relation import FILE, RowPlace, quote
from rolloupe.query.filter.parser import conditions
from rolloupe.query.records import SampleQuery, scope_of
from rolloupe.query.sample.stream import Reader
from rolloupe.query.samples.pages import in_known_splits, samples
from rolloupe.query.samples.rows import items_of, list_rows
from rolloupe.query.tokens.page import each_readable
from rolloupe.questions import WorstTokenQuery
from rolloupe.tokenizer import text_of_token

Key = TypeVar("Key", bound=tuple[Any, ...])
T = TypeVar("T")
MAX_TEXT = 1_000  # characters of a token string; no token of a vocabulary has as many
MAX_READ = 2_000  # the maximum number of samples to read whole for one answer


class TokenCoverage(Struct, frozen=True):
    """The samples that an answer about tokens covers."""

    samples: int
    """The number of samples in scope."""
    pending: int = 0
    """How many of them the pass over tokens has not reached: the answer lacks their tokens."""
    unread: int = 0
    """How many samples in these files have tokens that could not be read."""


class IndexedRow(NamedTuple):
    """A row of the index: values of a series, or of all tokens, at a step, in one piece.

    `split` is as the query names it: `eval` for all evaluations together.
    """

    piece: Piece
    split: str
    step: int
    values: Sequence[Any]  # the requested columns


def indexed(
    run: OpenRun, snapshot: Snapshot, query: SampleQuery, columns: Sequence[str], series: str | None = None
) -> tuple[list[IndexedRow], TokenCoverage]:
    """Return rows of the index in the splits and steps of a query, of one series or of all; none of older launches."""
    named = query.splits[0] if len(query.splits) == 1 else ""
    query = in_known_splits(snapshot, query)
    pieces = snapshot.holding(query.splits, query.step_min, query.step_max)
    total = sum(stats.rows for key, stats in snapshot.steps.items() if is_within(query, *key))
    by_path = {
        tokens_file_of(piece.path): piece
        for piece in pieces
        if piece.path is not None and piece.tokens is not None and piece.tokens.size_bytes
        if has_file(piece.path, piece.tokens)
    }
    rows: list[IndexedRow] = []
    if by_path:
        bounds = {"series = ?": series, "step >= ?": query.step_min, "step <= ?": query.step_max}
        where = {condition: value for condition, value in bounds.items() if value is not None}
        names = ", ".join(map(quote, columns))
        sql = f"SELECT {quote(FILE)}, split, step, launch, {names} FROM files WHERE {' AND '.join(['true', *where])}"
        table, paths = database.of_files(run, list(by_path), sql, list(where.values()))
        by_path = {path: by_path[path] for path in paths}
        for file, split, step, launch, *own in zip(*(column.to_pylist() for column in table.columns), strict=True):
            stats = snapshot.steps.get((split, step))
            if stats is not None and launch in (0, stats.launch) and is_within(query, split, step):
                rows.append(IndexedRow(by_path[paths[file]], named or split, step, own))
    reached = {id(piece) for piece in by_path.values()}
    pending = sum(
        current_rows(piece, query, snapshot)
        for piece in pieces
        if id(piece) not in reached and not (piece.tokens is not None and not piece.tokens.size_bytes)
    )
    unread = sum(piece.tokens.unread for piece in pieces if piece.tokens is not None)
    return rows, TokenCoverage(total, pending, unread)


def whole_steps(run: OpenRun, query: SampleQuery, column: str) -> tuple[list[IndexedRow], TokenCoverage]:
    """A column of the rows without a series. Raises as `of_index`."""
    of_index(query)
    return indexed(run, run.snapshot(), query, [column], WHOLE_STEP)


def in_order(values: Mapping[Key, T]) -> list[tuple[Key, T]]:
    """Values by split and step, `train` first."""
    return sorted(values.items(), key=lambda item: (item[0][0] != "train", item[0]))


def of_index(query: SampleQuery) -> None:
    """Raise `BadQuery` for a query of other samples than all those of some steps."""
    if is_read(query):
        raise BadQuery("only whole steps have this answer: remove the group and the filter")


def check_known(run: OpenRun, scope: SampleQuery, series: str | None = None) -> None:
    """Raise `NotFound` for a scope or a series that the run lacks: an answer about it is empty."""
    in_known_scope(run, scope)
    if series is not None:
        in_known_series(run, series)


def in_known_scope(run: OpenRun, query: SampleQuery) -> None:
    """Raise `NotFound` for a query of one step, or of one group, that has no samples, whatever its filter is."""
    is_of_step = query.step_min is not None and query.step_min == query.step_max
    if not (is_of_step or query.group) or samples(run, replace(query, where=(), trained=None, limit=0)).total:
        return
    of_group = f" in group {query.group!r}" if query.group else ""
    of_step = f" at step {query.step_min}" if is_of_step else ""
    of_split = f" of split {query.splits[0]!r}" if query.splits else ""
    raise NotFound(f"no samples{of_group}{of_step}{of_split} in run {run.id!r}")


def series_meant(run: OpenRun, series: str) -> str:
    """Return the series of a run that a name means, which may be another framework's: see `tokens.name_among`."""
    return tokens.name_among(series, _names(run)[0]) if tokens.has_other_meaning(series) else series


def _names(run: OpenRun) -> tuple[list[str], TokenCoverage]:
    rows, coverage = indexed(run, run.snapshot(), SampleQuery(), ["series"])
    return list(dict.fromkeys(name for row in rows for name in row.values if name != WHOLE_STEP)), coverage


def in_known_series(run: OpenRun, series: str, error: type[RolloupeError] = NotFound) -> None:
    """Raise an error for a series that no sample of a run has, unless samples wait for the index."""
    names, coverage = _names(run)
    known = (*names, *tokens.MASKS, tokens.GROUP_ADVANTAGES)
    if not coverage.pending and tokens.name_among(series, names) not in known:
        raise error(f"no token series {series[:80]!r} in run {run.id!r}; it has: {', '.join(names) or 'none'}")


def is_read(query: SampleQuery) -> bool:
    """True for a query whose samples are read whole: those of a group or of a filter."""
    return query.group is not None or bool(query.where) or query.trained is not None


def read_totals(run: OpenRun, query: SampleQuery, series: str) -> tuple[dict[StepKey, SeriesTotals], list[SampleKey]]:
    """Read the samples of a query; return the totals of a series, by step, and the keys of the rows in them.

    Raises `BadQuery` for too many samples, and `SourceChanged`.
    """
    keys = [item.key for item in samples(run, replace(query, offset=0, limit=MAX_READ + 1)).samples]
    if len(keys) > MAX_READ:
        limit = f"more than {MAX_READ:,} samples, the most that one answer reads"
        raise BadQuery(f"this selects {limit}: filter, or cut steps")
    by_step: dict[StepKey, SeriesTotals] = {}
    for number, sample in enumerate(map(Reader(run), keys)):
        own = tokens.tokens_of(sample)
        if not own.series or not own.total:
            continue
        batch = tokens.TokenBatch([number], [own], [sample.row.advantage])
        name = tokens.name_among(series, batch.series)
        if name in batch.series:
            key = (sample.key.split, sample.key.step)
            by_step.setdefault(key, SeriesTotals(batch.series[name].origin)).add(batch, name)
    return by_step, keys


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
