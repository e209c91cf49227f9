"""Converts a sample of the common model to arguments of `Recorder.sample`."""

from collections.abc import Sequence
from typing import Any

from rolloupe import tokens
from rolloupe.model import Sample, TokenSeries
from rolloupe.record.writers.alignment import spread
from rolloupe.record.writers.extra_keys import own_status
from rolloupe.record.writers.losses import stored
from rolloupe.record.writers.texts import prompt_of, reference_of, response_of


def given_of(sample: Sample) -> dict[str, Any]:
    """Return the arguments that record a sample unchanged, including its step and split."""
    row = sample.row
    status = own_status(row) or ("" if row.status == "unknown" else row.status)
    own_word = {} if row.status_raw in ("", status) else {"status_raw": row.status_raw}
    return {
        "step": row.step, "split": row.split, "group": row.group, "index": row.index, "uid": row.uid,
        "reward": row.reward, "advantage": row.advantage, "discarded": row.discarded, "label": sample.label or None,
        "status": status, "env": row.env,
        "metrics": row.metrics, "tags": row.tags, "turns": row.turns, "prompt_tokens": row.prompt_tokens,
        "response_tokens": row.response_tokens, "ref_reward": sample.ref_reward, "tokens": sample.token_strings or None,
        "prompt": prompt_of(sample, messages=True), "response": response_of(sample, messages=True),
        "ref_response": reference_of(sample, messages=True),
        "token_ids": sample.token_ids or None, "top_logprobs": sample.top_logprobs or None,
        "series": {one.name: _aligned(stored(one), len(sample.token_ids)) for one in sample.series},
        "extra": own_word | sample.extra,
    }  # fmt: skip


def _aligned(series: TokenSeries, count: int) -> Sequence[float] | tokens.Floats:
    """Return the values aligned so that, taken as those of the last `count` tokens, each belongs to its token."""
    if series.offset == max(0, count - len(series.values)):
        return series.values
    return spread(series, max(count, series.offset + len(series.values)))
