"""`tekken.json` of Mistral: tiktoken's ranks as JSON, behind a number of special tokens.

Source: `tokens/tokenizers/tekken.py` of mistralai/mistral-common. The id of a token is its rank plus the number of
special tokens; those have the first ids, and a name made of its number where the file names none.
"""

import base64
from typing import Annotated

from msgspec import Meta, Raw, Struct

from rolloupe.tokenizer.tokenizer_json import Id, check_entries, parse
from rolloupe.tokenizer.vocabulary import BadTokenizer, Vocabulary

MAX_SPECIAL = 2**16
FIRST = (
    "<unk> <s> </s> [INST] [/INST] [AVAILABLE_TOOLS] [/AVAILABLE_TOOLS] [TOOL_RESULTS] [/TOOL_RESULTS] [TOOL_CALLS] "
    "[IMG] <pad> [IMG_BREAK] [IMG_END] [PREFIX] [MIDDLE] [SUFFIX] [SYSTEM_PROMPT] [/SYSTEM_PROMPT] [TOOL_CONTENT]"
).split()
"""The special tokens of files that list none, of 2024."""


NOTHING = Raw()


class _Top(Struct):
    model: Raw = NOTHING
    vocab: Raw = NOTHING


class _Ranked(Struct):
    rank: Id
    token_bytes: str


class _Named(Struct):
    rank: Id
    token_str: str


class _Sizes(Struct):
    default_vocab_size: Id
    default_num_special_tokens: Annotated[int, Meta(ge=0, le=MAX_SPECIAL)]


class _Tekken(Struct):
    config: _Sizes
    vocab: list[_Ranked]
    special_tokens: list[_Named] | None = None


def fits(data: bytes) -> bool:
    """Tell whether JSON is a tekken.json and no tokenizer.json. Raises `BadTokenizer`."""
    top = parse(data, _Top)
    return top.model == NOTHING and top.vocab != NOTHING


def read(data: bytes) -> Vocabulary:
    """Read a `tekken.json`. Raises `BadTokenizer`."""
    check_entries(data)
    document = parse(data, _Tekken)
    first = document.config.default_num_special_tokens
    ordinary = document.config.default_vocab_size - first
    spellings: dict[int, str | bytes] = {number: f"<SPECIAL_{number}>" for number in range(first)}
    listed = document.special_tokens
    names = enumerate(FIRST) if listed is None else ((one.rank, one.token_str) for one in listed)
    spellings.update((rank, name) for rank, name in names if rank < first)
    try:
        for one in document.vocab:
            if one.rank < ordinary:
                spellings[first + one.rank] = base64.b64decode(one.token_bytes, validate=True)
    except ValueError:
        raise BadTokenizer(f"its token of the rank {one.rank} is no base64") from None
    return Vocabulary(spellings=spellings, special=frozenset(range(first)))
