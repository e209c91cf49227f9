"""The alternatives of tokens, `top_logprobs`, as recorders and inference servers write them.

Sources: vLLM's `SampleLogprobs`, for each token an object from ids to `{"logprob", "decoded_token"}`; and
`logprobs.content` of OpenAI's chat completions, for each token `{"token", "logprob", "top_logprobs": [{"token",
"logprob"}]}`.
"""

import math
from collections.abc import Iterable, Iterator
from operator import itemgetter
from typing import Any

from rolloupe.formats.reading import fields
from rolloupe.formats.reading.records import Record
from rolloupe.model import MOST_ALTERNATIVES

Alternatives = list[list[tuple[str, float]]]

STRINGS = "token_strings"

_BY_LOGPROB = itemgetter(1)


def alternatives_of(value: object) -> Alternatives:
    """Read an entry for each of the last tokens, the likeliest first; leave out what is no text with a number.

    An entry is a list of pairs or of objects with `token` and `logprob`, an object of logprobs by token, or an object
    with a member `top_logprobs` that is one of these.
    """
    entries = value if isinstance(value, list) else []
    return [_of_token(entry) for entry in entries]


def with_lists(record: Record) -> Record:
    """Return a record whose `logprobs`, if they are those of a choice of OpenAI's chat completions, are lists.

    They become `logprobs`, `top_logprobs` and `token_strings`, what is no text as an empty one.
    """
    choice = record.get("logprobs")
    content = choice.get("content") if isinstance(choice, dict) else None
    if not isinstance(content, list) or not all(isinstance(entry, dict) for entry in content):
        return record
    strings = [token if isinstance(token := entry.get("token"), str) else "" for entry in content]
    logprobs = [entry.get("logprob") for entry in content]
    return {"top_logprobs": content, **record, "logprobs": logprobs, STRINGS: strings}


def _of_token(entry: Any) -> list[tuple[str, float]]:
    inner = entry.get("top_logprobs") if isinstance(entry, dict) else None
    found = [*_pairs(inner if isinstance(inner, list | dict) else entry)]
    found.sort(key=_BY_LOGPROB, reverse=True)
    return found[:MOST_ALTERNATIVES]


def _pairs(entry: Any) -> Iterator[tuple[str, float]]:
    members: Iterable[Any] = entry.items() if isinstance(entry, dict) else entry if isinstance(entry, list) else ()
    for member in members:
        if isinstance(member, dict):
            text, value = member.get("token"), member.get("logprob")
        else:
            text, value = member if isinstance(member, list | tuple) and len(member) == 2 else (None, None)
        if isinstance(value, dict):
            decoded = value.get("decoded_token")
            text, value = decoded if isinstance(decoded, str) and decoded else text, value.get("logprob")
        logprob = None if isinstance(value, bool) else fields.number(value)
        if isinstance(text, str) and logprob is not None and math.isfinite(logprob):
            yield text, logprob
