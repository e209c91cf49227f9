"""The text of a response is not what its tokens say."""

import re
from unicodedata import normalize

from rolloupe.insight.lint.whole import SampleRule, WholeSample

_LEFT_OUT = re.compile(
    r"<[|｜][^<>\s]{1,40}[|｜]>|</?s>|<(?:eos|bos|pad|(?:start|end)_of_turn)>|[\s\ufffd]+", re.IGNORECASE
)
"""What trainers leave out of a text or add to it: special tokens, white space, bytes that are no text."""


def breaks(one: WholeSample) -> bool | None:
    """Compare the texts of responses of one turn; a trainer may cut either of the two."""
    sample = one.of
    if sample.row.turns > 1 or sample.response_messages is not None or not sample.token_strings:
        return None
    tokens = _bare("".join(one.token_texts))
    text = _bare(sample.response_text)
    return tokens not in text and text not in tokens if tokens and text else None


def _bare(text: str) -> str:
    return normalize("NFKC", _LEFT_OUT.sub("", text))


RULE = SampleRule(
    "other_text",
    "the text of a response of one turn, without special tokens and white space, is no part of the text of its "
    "tokens, nor these of the text",
    breaks,
    "The text of the response is not that of its tokens",
    "a response of one turn with token strings, or ids and a tokenizer",
    is_certain=True,
)
