"""Reads the alternatives of tokens: what the model could have sampled in their places, with its logprobs.

They come as pairs or mappings, or as inference engines hand them over: vLLM's `{id: Logprob}`, and the `top_logprobs`
of OpenAI's chat completions, as objects or mappings.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from operator import itemgetter
from typing import Any

from rolloupe.model import MOST_ALTERNATIVES
from rolloupe.record.failures import Trouble
from rolloupe.record.values.arrays import Array
from rolloupe.record.values.plain import scalar, whole_number

WHAT = "top_logprobs"
BEYOND = f"{WHAT} beyond the {MOST_ALTERNATIVES} likeliest of a token"

MOST_BYTES = 40 * 2**20
"""The alternatives of one sample take at most so much of its line: readers skip a line of more than 64 MiB."""

DECIMALS = 6

_BY_LOGPROB = itemgetter(1)

Alternatives = list[list[list[str | float]]]
"""For each token pairs of a token string and a logprob, the likeliest first."""


def alternatives(
    values: object,
    ids: Array | None,
    strings: Sequence[str] | None,
    lengths: frozenset[int],
    trouble: Trouble,
    step: int,
) -> Alternatives:
    """Read the alternatives of a sample's tokens; an empty list if no token has any.

    `strings` are those of the last of the `ids`: an id among them gets its string. `lengths`: how many tokens the
    alternatives may be of; none if that is unknown. Raises `TypeError` for anything but a list, `ValueError` for too
    many tokens, too few, or too long texts.
    """
    if isinstance(values, str | bytes | Mapping) or not isinstance(values, Iterable):
        raise TypeError(f"expected a list with an entry for each token, got {type(values).__name__}")
    known = {} if ids is None or not strings else dict(zip(ids[-len(strings) :].tolist(), strings, strict=False))
    found: Alternatives = []
    bad = beyond = 0
    for entry in values:
        pairs, wrong = _pairs(entry, known)
        bad, beyond = bad + wrong, beyond + max(0, len(pairs) - MOST_ALTERNATIVES)
        found.append([[text, logprob] for text, logprob in pairs[:MOST_ALTERNATIVES]])
    if bad:
        trouble.met(
            TypeError("expected pairs of a token and a finite logprob"), bad, where=WHAT, what="values", step=step
        )
    if beyond:
        trouble.report(BEYOND, beyond)
    if not any(found):
        return []
    if lengths and len(found) not in lengths:
        raise ValueError("the number of entries fits neither the sample's tokens nor its response")
    if sum(_most_bytes(str(pair[0])) for pairs in found for pair in pairs) > MOST_BYTES:
        raise ValueError(f"more than {MOST_BYTES // 2**20} MiB in one sample")
    return found


def _pairs(entry: Any, known: Mapping[int, str]) -> tuple[list[tuple[str, float]], int]:
    """Return the alternatives of one token, the likeliest first, and the number of bad values."""
    if entry is None:
        return [], 0
    inner = _member(entry, "top_logprobs")
    entry = inner if isinstance(inner, list | tuple) else entry
    if isinstance(entry, Mapping):
        entry = entry.items()
    elif not isinstance(entry, list | tuple):
        return [], 1
    found, bad = [], 0
    for pair in entry:
        try:
            token, value = (
                pair if isinstance(pair, tuple | list) else (_member(pair, "token"), _member(pair, "logprob"))
            )
            found.append((_string(token, value, known), _logprob(value)))
        except Exception:
            bad += 1
    found.sort(key=_BY_LOGPROB, reverse=True)
    return found, bad


def _member(value: Any, name: str) -> Any:
    """Return a member of a mapping, or an attribute of an object; None without it."""
    return value.get(name) if isinstance(value, Mapping) else getattr(value, name, None)


def _string(token: object, value: object, known: Mapping[int, str]) -> str:
    if isinstance(token, str):
        return token
    number = whole_number(token)
    decoded = None if type(value) is float else _member(value, "decoded_token")
    return known.get(number) or (decoded if isinstance(decoded, str) else "") or str(number)


def _logprob(value: object) -> float:
    inner = None if type(value) is float else _member(value, "logprob")  # most are floats
    found = value if type(value) is float else scalar(value if inner is None else inner)
    if isinstance(found, str | bool) or not math.isfinite(found):
        raise ValueError("no finite number")
    return round(float(found), DECIMALS)


def _most_bytes(text: str) -> int:
    """Return the most that a pair takes in JSON, where escapes are the longest."""
    return (6 if text.isascii() else 12) * len(text) + 24
