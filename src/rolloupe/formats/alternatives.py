"""The logprobs of sampled tokens, and the alternatives to them, as inference servers and recorders write them.

Sources: OpenAI's API (`logprobs.content` of chat completions; `tokens`, `token_logprobs`, `top_logprobs` of legacy
completions); vLLM's `vllm/logprobs.py` (`SampleLogprobs`, for each token an object from ids to `{"logprob", "rank",
"decoded_token"}`, the sampled one first; `FlatLogprobs`, the same in flat lists); SGLang's `meta_info`
(`output_token_logprobs` and `output_top_logprobs`, triples of logprob, id and text or null); TGI's `details.tokens`
(objects with `id`, `text`, `logprob`). Lists of pairs are what scripts make of these.
"""

import math
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from operator import itemgetter
from typing import Any, NamedTuple

from rolloupe.formats.reading import fields
from rolloupe.formats.reading.records import Record
from rolloupe.model import MOST_ALTERNATIVES

Alternatives = list[list[tuple[str, float]]]

OF_SGLANG, TOP_OF_SGLANG = "output_token_logprobs", "output_top_logprobs"

_BY_LOGPROB = itemgetter(1)
_TEXTS = ("token", "text", "decoded_token", "content")
_IDS = ("id", "token_id", "token")
_LOGPROBS = ("logprob", "log_prob")
_AS_ID = "token_id:"
"""How vLLM writes a token with `return_tokens_as_token_ids`."""


class SampledTokens(NamedTuple):
    """The sampled tokens that a list of logprobs names; a list may be empty."""

    logprobs: list[Any]
    strings: list[str]
    ids: list[int]
    top: object
    """What holds the alternatives: see `alternatives_of`."""


def alternatives_of(value: object) -> Alternatives:
    """Read an entry for each of the last tokens, the likeliest first; leave out what is no text with a number.

    An entry is a list of pairs, of triples of SGLang or of objects with `token` and `logprob`, an object of logprobs
    by token, or an object with a member `top_logprobs` that is one of these.
    """
    entries = value if isinstance(value, list) else []
    return [_of_token(entry) for entry in entries]


def sampled_tokens(value: object) -> SampledTokens | None:
    """Read the logprobs of sampled tokens that are more than a list of numbers; None for anything else.

    What is no number stays among the logprobs, so that each keeps its place.
    """
    if isinstance(value, dict):
        return _of_object(value)
    first = next((item for item in value if item is not None), None) if isinstance(value, list) else None
    if not isinstance(value, list) or not isinstance(first, dict | list | tuple):
        return None
    if not isinstance(first, dict):
        return _of_tuples(value)
    if any(key in first for key in _LOGPROBS):
        return _of_objects(value)
    return _of_members(value)


def _of_object(value: Record) -> SampledTokens | None:
    if isinstance(content := value.get("content"), list):
        return _of_objects(content)
    if isinstance(listed := value.get(OF_SGLANG), list):
        found = sampled_tokens(listed)
        return found and found._replace(top=value.get(TOP_OF_SGLANG))
    logprobs, strings = value.get("token_logprobs"), value.get("tokens")
    if isinstance(logprobs, list):
        texts = strings if isinstance(strings, list) else []
        return _tokens(logprobs, [(_text(token), _id(token)) for token in texts], value.get("top_logprobs"))
    starts, ids, values = value.get("start_indices"), value.get("token_ids"), value.get("logprobs")
    if isinstance(starts, list) and isinstance(ids, list) and isinstance(values, list):
        return _of_flat(starts, ids, values, value.get("decoded_tokens"))
    return None


def _of_objects(entries: Sequence[Any]) -> SampledTokens | None:
    """Objects of a token each."""
    objects = [entry if isinstance(entry, dict) else {} for entry in entries]
    logprobs = [_member(entry, _LOGPROBS) for entry in objects]
    names = [
        (
            _text(next((entry[key] for key in _TEXTS if isinstance(entry.get(key), str)), None)),
            _id(_member(entry, _IDS)),
        )
        for entry in objects
    ]
    has_top = any("top_logprobs" in entry for entry in objects)
    return _tokens(logprobs, names, entries if has_top else None)


def _of_members(entries: Sequence[Any]) -> SampledTokens | None:
    """Objects of logprobs by token or id, of which the first is the sampled one if they say more than a number."""
    logprobs: list[Any] = []
    names: list[tuple[str | None, int | None]] = []
    for entry in entries:
        members = [*entry.items()] if isinstance(entry, dict) else []
        key, value = members[0] if members else (None, None)
        if isinstance(value, dict):
            is_id = isinstance(key, str) and key.isascii() and key.isdigit() and len(key) < 16
            logprobs.append(value.get("logprob"))
            names.append((_text(value.get("decoded_token")), int(key) if is_id and key else None))
        else:
            logprobs.append(value if len(members) == 1 else None)
            names.append((key if len(members) == 1 else None, None))
    return _tokens(logprobs, names, entries)


def _of_tuples(entries: Sequence[Any]) -> SampledTokens | None:
    """Pairs of a token or id with its logprob in any order, and triples of SGLang."""
    listed = [entry if isinstance(entry, list | tuple) and len(entry) in (2, 3) else (None, None) for entry in entries]
    places = _order(listed)
    if places is None:
        return None
    logprob, token = places
    names = [(_text(entry[2]) if len(entry) == 3 else _text(entry[token]), _id(entry[token])) for entry in listed]
    return _tokens([entry[logprob] for entry in listed], names, None)


def _order(entries: Sequence[Any]) -> tuple[int, int] | None:
    """Which element of pairs or triples is the logprob, and which the token; None if their types do not say so."""
    firsts, seconds = ([entry[place] for entry in entries if entry[place] is not None] for place in (0, 1))
    if any(isinstance(item, str) for item in firsts):
        return (1, 0)
    if any(isinstance(item, str) for item in seconds):
        return (0, 1)
    first_is, second_is = (bool(some) and all(_id(item) is not None for item in some) for some in (firsts, seconds))
    if first_is == second_is:
        return None
    return (1, 0) if first_is else (0, 1)


def _of_flat(starts: list[Any], ids: list[Any], values: list[Any], texts: object) -> SampledTokens | None:
    """VLLM's flat lists: of each token a piece of them, which begins with the sampled one."""
    pieces = texts if isinstance(texts, list) and len(texts) == len(ids) else [None] * len(ids)
    edges = [*starts, len(ids)]
    if len(values) != len(ids) or any(_id(edge) is None for edge in edges) or any(a >= b for a, b in pairwise(edges)):
        return None
    if starts and starts[0] != 0:
        return None
    names = [(_text(pieces[start]), _id(ids[start])) for start in starts]
    entries = [
        [[pieces[n] if isinstance(pieces[n], str) else str(ids[n]), values[n]] for n in range(start, stop)]
        for start, stop in pairwise(edges)
    ]
    return _tokens([values[start] for start in starts], names, entries)


def _tokens(logprobs: list[Any], names: Sequence[tuple[str | None, int | None]], top: object) -> SampledTokens | None:
    if logprobs and all(fields.number(value) is None for value in logprobs):
        return None
    strings, ids = [text for text, _ in names], [number for _, number in names]
    return SampledTokens(
        logprobs,
        [text or "" for text in strings] if any(strings) else [],
        [-1 if number is None else number for number in ids] if any(number is not None for number in ids) else [],
        top,
    )


def _member(one: Record, keys: Iterable[str]) -> Any:
    return next((one[key] for key in keys if key in one), None)


def _text(value: object) -> str | None:
    return value if isinstance(value, str) and not value.startswith(_AS_ID) else None


def _id(value: object) -> int | None:
    if isinstance(value, str) and value.startswith(_AS_ID):
        digits = value.removeprefix(_AS_ID)
        return int(digits) if digits.isascii() and digits.isdigit() and len(digits) < 16 else None
    return value if type(value) is int and 0 <= value < fields.MAX_STEP else None


def _logprob(value: object) -> float | None:
    found = None if isinstance(value, bool) else fields.number(value)
    return found if found is not None and math.isfinite(found) else None


def _of_token(entry: Any) -> list[tuple[str, float]]:
    inner = entry.get("top_logprobs") if isinstance(entry, dict) else None
    found = [*_pairs(inner if isinstance(inner, list | dict) else entry)]
    found.sort(key=_BY_LOGPROB, reverse=True)
    return found[:MOST_ALTERNATIVES]


def _pairs(entry: Any) -> Iterator[tuple[str, float]]:
    members: Iterable[Any] = entry.items() if isinstance(entry, dict) else entry if isinstance(entry, list) else ()
    for member in members:
        text: Any = None
        value: Any = None
        if isinstance(member, dict):
            text, value = member.get("token"), _member(member, _LOGPROBS)
        elif isinstance(member, list | tuple) and len(member) == 2:
            text, value = member
        elif isinstance(member, list | tuple) and len(member) == 3:  # SGLang: a text or null at the end
            value, text = member[0], str(member[1]) if member[2] is None else member[2]
        if isinstance(value, dict):
            decoded = value.get("decoded_token")
            text, value = decoded if isinstance(decoded, str) and decoded else text, value.get("logprob")
        logprob = _logprob(value)
        if isinstance(text, str) and logprob is not None:
            yield text, logprob
