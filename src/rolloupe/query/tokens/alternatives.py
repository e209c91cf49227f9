"""What the model could have sampled in the place of a token, as far as the record holds it."""

from typing import NamedTuple

from rolloupe.errors import BadQuery
from rolloupe.model import Sample
from rolloupe.tokens import token_count


class Alternative(NamedTuple):
    """A token that the model could have sampled: its string, or its id as text."""

    text: str
    logprob: float
    is_chosen: bool
    """True for the token that the model did sample."""


def token_alternatives(sample: Sample, token: int) -> list[Alternative]:
    """Return the recorded alternatives of a token, in the order of the record. Raises `BadQuery` if it lacks the token.

    The chosen one has the string of the token or, if the record has no strings, its id.
    """
    total = token_count(sample)
    if not 0 <= token < total:
        raise BadQuery(f"sample {sample.key} has {total:,} tokens: token={token} lies outside of them")
    place = token - (total - len(sample.top_logprobs))
    recorded = sample.top_logprobs[place] if place >= 0 else []
    texts = [text for text, _ in recorded]
    own = _own_text(sample, token, total)
    chosen = texts.index(own) if own in texts else -1
    return [Alternative(text, logprob, number == chosen) for number, (text, logprob) in enumerate(recorded)]


def _own_text(sample: Sample, token: int, total: int) -> str | None:
    strings, ids = sample.token_strings, sample.token_ids
    if strings and not sample.is_decoded:
        place = token - (total - len(strings))
        return strings[place] if place >= 0 else None
    return str(ids[token]) if token < len(ids) else None
