"""The tokens of a sample as an Arrow table."""

import json
from collections.abc import Sequence

import pyarrow as pa

from rolloupe.model import Sample
from rolloupe.query.tokens.page import token_page
from rolloupe.query.tokens.spans import Places, prompt_length
from rolloupe.query.tokens.token_strings import texts_of_tokens
from rolloupe.tokens import Flags, token_count, trained

ASSISTANT, PROMPT = "assistant", "prompt"
OWN = ("id", "text", "role", "mask", "top_logprobs")


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
    columns = {
        "id": ids,
        "text": _texts(texts_of_tokens(sample), total),
        "role": roles_of(sample, page.spans.turn, mask),
        "mask": pa.nulls(total, pa.bool_()) if mask is None else pa.array(mask),
    }
    series = {f"series.{name}" if name in OWN else name: pa.array(values) for name, values in page.series.items()}
    return pa.table(columns | series | {"top_logprobs": _alternatives(sample, total)})


def _texts(strings: Sequence[str], total: int) -> pa.Array:
    """The strings belong to the last tokens."""
    return pa.array([*[None] * (total - len(strings)), *map(_encodable, strings)], pa.string())


def _alternatives(sample: Sample, total: int) -> pa.Array:
    """Those of the last tokens."""
    recorded = sample.top_logprobs
    without: list[None] = [None] * (total - len(recorded))
    named = ([{"text": _encodable(text), "logprob": logprob} for text, logprob in some] for some in recorded)
    return pa.array(
        [*without, *((some and json.dumps(some, ensure_ascii=False)) or None for some in named)], pa.string()
    )


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
