"""The tokens of a sample: ids, strings, places in the text and every token series, as arrays or as a table."""

import json
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from msgspec import Struct
from numpy.typing import NDArray

from rolloupe import tokens
from rolloupe.errors import BadQuery
from rolloupe.model import RunLoss, Sample
from rolloupe.query.tokens.token_strings import (
    Places,
    Spelling,
    TokenSpans,
    prompt_length,
    spans_of,
    spelling_of,
    texts_of_tokens,
)
from rolloupe.tokens import Flags, Origin, SampleSeries, token_count, trained

USUAL_UPDATE = "ppo"  # the rule of a run whose configuration names none that its samples suffice for
ASSISTANT, PROMPT = "assistant", "prompt"

OWN = ("id", "text", "role", "mask", "top_logprobs")


def series_of(sample: Sample, total: int) -> list[SampleSeries]:
    """Return the recorded series of a sample, then derived ones, then differences: see `tokens.completed`."""
    recorded = {series.name: tokens.values_of(series, total) for series in sample.series}
    by_framework = [series.name for series in sample.series if not series.is_derived]
    return tokens.completed(recorded, by_framework, sample.row.advantage, group_advantage=sample.group_advantage)


def usual_update(names: Sequence[str], loss: RunLoss | None = None) -> str | None:
    """Return the rule to begin with, of those that a sample suffices for: the run's own, else the recorded flags."""
    wanted = (loss.rule if loss else None, tokens.RECORDED, USUAL_UPDATE, *names)
    return next((name for name in wanted if name in names), None)


def update_names(series: Sequence[SampleSeries], loss: RunLoss | None = None) -> list[str]:
    """Return the rules that these series suffice for, the run's own first; one rule for the logprobs of one policy."""
    inputs = tokens.loss_inputs(series)
    if inputs is None:
        return []
    is_one_policy = inputs.logprobs is inputs.old_logprobs is inputs.inference_logprobs
    names = ["reinforce"] if is_one_policy else [name for name in tokens.UPDATES if name != tokens.RECORDED]
    recorded = [] if inputs.recorded_mask is None else [tokens.RECORDED]
    return sorted([*recorded, *names], key=lambda name: loss is None or name != loss.rule)


class TokenPage(NamedTuple):
    """The tokens `start` to `stop` of the `total` of a sample. Every array has the shape (stop - start,)."""

    total: int
    start: int
    stop: int
    ids: NDArray[np.int64] | None  # none if the record holds no ids; -1 beyond the last one
    strings: Sequence[str] | None
    """The token strings of the response; empty for the tokens before it. None if the record holds none."""
    spans: TokenSpans
    series: dict[str, tokens.Floats]  # by name: recorded, derived, differences; NaN for a token without a value
    origins: dict[str, Origin]  # where each series comes from
    rules: list[tuple[tokens.MaskRule, str]]
    """The rules of masks that the series suffice for, and the series that each compares."""
    updates: list[str]  # the rules of updates that they suffice for
    spelling: Spelling = "plain"  # how the record writes the strings of the whole sample
    has_alternatives: bool = False  # true if the record holds alternatives of the sample's tokens
    partial: Mapping[int, bytes] = MappingProxyType({})
    """The bytes of the ids that are a part of a character, where a tokenizer made the strings."""
    loss: RunLoss | None = None  # the loss of the run, whose rules come first


def token_page(sample: Sample, start: int = 0, count: int | None = None, loss: RunLoss | None = None) -> TokenPage:
    """Return a range of tokens: at most `count` from `start` on. Raises `BadQuery` for one outside the sample."""
    total = token_count(sample)
    if not 0 <= start <= total or (count is not None and count < 0):
        raise BadQuery(f"sample {sample.key} has {total:,} tokens: start={start} and count={count} lie outside of them")
    stop = total if count is None else min(total, start + count)
    series = series_of(sample, total)
    mask = tokens.trained({each.name: each.values for each in series}) if series else None
    ids = np.full(stop - start, -1, np.int64) if sample.token_ids else None
    if ids is not None:
        own = sample.token_ids[start:stop]
        ids[: len(own)] = own
    strings, before = None, total - len(sample.token_strings)
    if sample.token_strings:
        own_strings = sample.token_strings[max(0, start - before) : max(0, stop - before)]
        strings = [*[""] * max(0, min(before, stop) - start), *own_strings]
    return TokenPage(
        total=total,
        start=start,
        stop=stop,
        ids=ids,
        strings=strings,
        spans=spans_of(sample, total, mask).within(start, stop),
        series={each.name: each.values[start:stop] for each in series},
        origins={each.name: each.origin for each in series},
        rules=tokens.mask_rules(series, loss),
        updates=update_names(series, loss),
        spelling=spelling_of(sample),
        has_alternatives=bool(sample.top_logprobs),
        partial=sample.partial_tokens,
        loss=loss,
    )


def token_table(sample: Sample) -> pa.Table:
    """Return a row for each token: `id`, `text`, `role`, `mask` (true if it counts), every series, `top_logprobs`.

    `text` is readable text, null where the record holds no strings. `role` is null where the record does not say which
    turn a token belongs to, unless it was sampled; of a token before those it is `prompt` if the prompt has several
    turns. `top_logprobs` are what the model could have sampled, as JSON, so that all columns fit into CSV: a list of
    objects with `text` (an id as text, where the record holds no strings) and `logprob`; null where the record has
    none. A series with one of these five names is called `series.NAME`.
    """
    page = token_page(sample)
    total = token_count(sample)
    ids = pa.nulls(total, pa.int64()) if page.ids is None else pa.array(page.ids, mask=page.ids < 0)
    mask = trained(page.series) if page.series else None
    texts = texts_of_tokens(sample)  # of the last tokens
    columns = {
        "id": ids,
        "text": pa.array([*[None] * (total - len(texts)), *map(_encodable, texts)], pa.string()),
        "role": roles_of(sample, page.spans.turn, mask),
        "mask": pa.nulls(total, pa.bool_()) if mask is None else pa.array(mask),
    }
    series = {f"series.{name}" if name in OWN else name: pa.array(values) for name, values in page.series.items()}
    alternatives: list[str | None] = [None] * (total - len(sample.top_logprobs))  # they are of the last tokens, too
    for recorded in sample.top_logprobs:
        named = [{"text": _encodable(text), "logprob": logprob} for text, logprob in recorded]
        alternatives.append(json.dumps(named, ensure_ascii=False) if named else None)
    return pa.table(columns | series | {"top_logprobs": pa.array(alternatives, pa.string())})


def _encodable(text: str) -> str:
    return text.encode("utf-8", "replace").decode()


def roles_of(sample: Sample, turns: Places, mask: Flags | None) -> pa.Array:
    """Return the role of each token; of one without a turn, only its place says whose it is: see `token_table`."""
    roles = [_encodable(turn.role) for turn in sample.turns]
    places = turns.copy()
    if mask is not None:
        places[(turns < 0) & mask] = len(roles)
    of_prompt = places[: prompt_length(sample, len(turns), mask)]
    of_prompt[of_prompt < 0] = len(roles) + 1
    return pa.array([*roles, ASSISTANT, PROMPT], pa.string()).take(pa.array(places, mask=places < 0))


class Alternative(Struct, frozen=True):
    """A token that the model could have sampled: its string, or its id as text."""

    text: str
    logprob: float
    is_chosen: bool
    """True for the token that the model did sample."""


def token_alternatives(sample: Sample, token: int) -> list[Alternative]:
    """Return the recorded alternatives of a token, in order. Raises `BadQuery` for a token that the sample lacks."""
    total = token_count(sample)
    if not 0 <= token < total:
        raise BadQuery(f"sample {sample.key} has {total:,} tokens: token={token} lies outside of them")
    place = token - (total - len(sample.top_logprobs))
    recorded = sample.top_logprobs[place] if place >= 0 else []
    texts = [text for text, _ in recorded]
    strings, ids, own = sample.token_strings, sample.token_ids, None
    if not strings or sample.is_decoded:
        own = str(ids[token]) if token < len(ids) else None
    elif token >= total - len(strings):
        own = strings[token - total]
    chosen = texts.index(own) if own in texts else -1
    return [Alternative(text, logprob, number == chosen) for number, (text, logprob) in enumerate(recorded)]
