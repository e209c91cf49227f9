"""Items of OpenAI's Responses API, and the tokens that NeMo-Gym stores with them.

An item is a message, reasoning, a call or its output: `text.from_messages` reads each. Agents that repeat the
conversation at each turn store a list of lists: the last holds the others.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from rolloupe import text, tokens
from rolloupe.formats.reading import fields
from rolloupe.formats.reading.records import Record
from rolloupe.formats.trainers.token_rows import ids_of


class ItemTokens(NamedTuple):
    """The tokens of a conversation: its last prompt and answer, where its first answer begins, and what was sampled."""

    ids: list[int]
    first: int
    logprobs: np.ndarray
    sampled: np.ndarray
    notes: Sequence[str] = ()


NO_TOKENS = ItemTokens([], 0, np.empty(0), np.empty(0))


def conversation(items: object) -> Any:
    """Return the items of a conversation; a text, or anything else that is no list, unchanged."""
    return _last(items) if isinstance(items, list) else items


def parted(asked: Any, answered: Any) -> tuple[Any, Any]:
    """Return prompt and response; without a prompt, the one with which the answer begins, if it is a conversation."""
    if asked or not fields.is_messages(answered):
        return asked, answered
    first = text.answer_at(answered)
    first = first if first < len(answered) else 0
    return answered[:first], answered[first:]


def tokens_of(items: object) -> ItemTokens:
    """Return the tokens of items; none if the ids of a later call do not begin with those of an earlier one."""
    listed = [one for one in _last(items) if isinstance(one, dict)] if isinstance(items, list) else []
    calls = [_ids(one) for one in listed if tokens.length(one.get("generation_token_ids"))]
    if not calls:
        return NO_TOKENS
    ids = [*calls[-1][0], *calls[-1][1]]
    logprobs, sampled = np.full(len(ids), np.nan), np.zeros(len(ids))
    unequal = 0
    for asked, answered, values in calls:
        start, stop = len(asked), len(asked) + len(answered)
        if ids[:stop] != [*asked, *answered]:
            return NO_TOKENS
        sampled[start:stop] = 1
        if values is not None and len(values) == len(answered):
            logprobs[start:stop] = values
        elif values is not None:
            unequal += 1
    note = f"arrays {tokens.UNEQUAL}, not shown: the logprobs of {unequal} answers are not as many as their tokens"
    return ItemTokens(ids, len(calls[0][0]), logprobs, sampled, [note] if unequal else ())


def _last(items: list[Any]) -> list[Any]:
    """The longest list of lists that repeat each other: the last."""
    return items[-1] if items and all(isinstance(one, list) for one in items) else items


def _ids(item: Record) -> tuple[list[int], list[int], np.ndarray | None]:
    asked, answered = ids_of(item.get("prompt_token_ids")), ids_of(item.get("generation_token_ids"))
    return asked, answered, tokens.read_floats(item.get("generation_log_probs"))
