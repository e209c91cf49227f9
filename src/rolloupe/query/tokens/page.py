"""The tokens of a sample in ranges: ids, strings, places in the text, and every token series, as arrays."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rolloupe import tokens
from rolloupe.errors import BadQuery
from rolloupe.model import RunLoss, Sample
from rolloupe.query.tokens.rules import update_names
from rolloupe.query.tokens.series import series_of
from rolloupe.query.tokens.spans import TokenSpans, spans_of
from rolloupe.query.tokens.token_strings import Spelling, spelling_of
from rolloupe.tokens import Origin, token_count


class TokenPage(NamedTuple):
    """The tokens `start` to `stop` of the `total` of a sample. Every array has the shape (stop - start,)."""

    total: int
    start: int
    stop: int
    ids: NDArray[np.int64] | None
    """None if the record holds no ids."""
    strings: Sequence[str] | None
    """The token strings of the response; empty for the tokens before it. None if the record holds none."""
    spans: TokenSpans
    series: dict[str, tokens.Floats]
    """By name: recorded, derived, differences; NaN for a token without a value."""
    origins: dict[str, Origin]
    """Where each series comes from."""
    rules: list[tuple[tokens.MaskRule, str]]
    """The rules of masks that the series suffice for, and the series that each compares."""
    updates: list[str]
    """The rules of updates that they suffice for."""
    spelling: Spelling = "plain"
    """How the record writes the strings of the whole sample."""
    has_alternatives: bool = False
    """True if the record holds alternatives of the sample's tokens."""
    partial: Mapping[int, bytes] = MappingProxyType({})
    """The bytes of the ids that are a part of a character, where a tokenizer made the strings."""
    loss: RunLoss | None = None
    """The loss of the run, whose rules come first."""


def token_page(sample: Sample, start: int = 0, count: int | None = None, loss: RunLoss | None = None) -> TokenPage:
    """Return a range of tokens: at most `count` from `start` on. Raises `BadQuery` for one outside the sample."""
    total = token_count(sample)
    if not 0 <= start <= total or (count is not None and count < 0):
        raise BadQuery(f"sample {sample.key} has {total:,} tokens: start={start} and count={count} lie outside of them")
    stop = total if count is None else min(total, start + count)
    series = series_of(sample, total)
    mask = tokens.trained({one.name: one.values for one in series}) if series else None
    return TokenPage(
        total=total,
        start=start,
        stop=stop,
        ids=_padded(sample.token_ids, start, stop) if sample.token_ids else None,
        strings=_strings(sample.token_strings, total, start, stop) if sample.token_strings else None,
        spans=spans_of(sample, total, mask).within(start, stop),
        series={one.name: one.values[start:stop] for one in series},
        origins={one.name: one.origin for one in series},
        rules=tokens.mask_rules(series, loss),
        updates=update_names(series, loss),
        spelling=spelling_of(sample),
        has_alternatives=bool(sample.top_logprobs),
        partial=sample.partial_tokens,
        loss=loss,
    )


def _padded(ids: Sequence[int], start: int, stop: int) -> NDArray[np.int64]:
    """Ids of a range; -1 beyond the last one."""
    values = np.full(stop - start, -1, dtype=np.int64)
    part = ids[start:stop]
    values[: len(part)] = part
    return values


def _strings(strings: Sequence[str], total: int, start: int, stop: int) -> list[str]:
    before = total - len(strings)
    return [""] * max(0, min(before, stop) - start) + list(strings[max(0, start - before) : max(0, stop - before)])
