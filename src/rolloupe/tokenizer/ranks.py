"""tiktoken files: a line for each token, its bytes in base64 and its rank, which is its id."""

import base64
import re

from rolloupe.tokenizer.vocabulary import BadTokenizer, Vocabulary

MAX_TOKENS = 2**21
LINE = re.compile(rb"([A-Za-z0-9+/]+={0,2}) (\d{1,10})\r?")


def read(data: bytes) -> Vocabulary:
    """Read a tiktoken file. Raises `BadTokenizer`."""
    if data.count(b"\n") > MAX_TOKENS:
        raise BadTokenizer(f"it has more than {MAX_TOKENS:,} lines")
    spellings: dict[int, str | bytes] = {}
    for number, line in enumerate(data.split(b"\n"), 1):
        if not line.strip():
            continue
        match = LINE.fullmatch(line)
        if match is None or len(match[1]) % 4:
            raise BadTokenizer(f"its line {number} is not a token in base64 and its rank")
        spellings[int(match[2])] = base64.b64decode(match[1])
    return Vocabulary(spellings=spellings)
