"""The alternatives of tokens in a line of samples."""

import math

from rolloupe.formats.reading import fields
from rolloupe.model import MOST_ALTERNATIVES


def alternatives_of(value: object) -> list[list[tuple[str, float]]]:
    """Read `top_logprobs`: an entry for each of the last tokens, without what is no pair of a text and a number."""
    entries = value if isinstance(value, list) else []
    return [_of_token(entry) for entry in entries]


def _of_token(entry: object) -> list[tuple[str, float]]:
    found: list[tuple[str, float]] = []
    for pair in entry if isinstance(entry, list) else ():
        if len(found) == MOST_ALTERNATIVES:
            break
        text, value = pair if isinstance(pair, list) and len(pair) == 2 else (None, None)
        logprob = None if isinstance(value, bool) else fields.number(value)
        if isinstance(text, str) and logprob is not None and math.isfinite(logprob):
            found.append((text, logprob))
    return found
