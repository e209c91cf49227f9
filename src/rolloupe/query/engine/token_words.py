"""The words of the index that stand for a string of a token: its spellings in records, and its ids."""

from typing import NamedTuple

from rolloupe.formats.token_texts import tokenizer_of
from rolloupe.index import Piece
from rolloupe.index.token_stats.files import has_words
from rolloupe.model import RunInfo
from rolloupe.tokenizer.spellings import LETTERS

BLANK, LINE_END = " ", "\n"

SHOWN_LINE_END = "↵"
"""How the page shows a line break, which cannot be typed into a field of one line."""


class TokenWords(NamedTuple):
    """Strings as records may hold them, and ids."""

    strings: list[str]
    ids: list[int]


def words_of(run: RunInfo, text: str) -> TokenWords:
    """The words for a text, and for it with a blank before it unless it begins with one.

    A record may hold the text, its byte-level spelling, or that of SentencePiece. `↵` also stands for a line break.
    Without a tokenizer, the digits of an id stand for the id.
    """
    texts = [text] if text.startswith(BLANK) else [text, BLANK + text]
    texts += [one.replace(SHOWN_LINE_END, LINE_END) for one in texts if SHOWN_LINE_END in one]
    strings = [spelling for one in texts for spelling in (one, _by_bytes(one), one.replace(BLANK, "▁"))]
    tokenizer = tokenizer_of(run)
    if tokenizer is not None:
        ids = [token for one in texts for token in tokenizer.tokens_of(one)]
    else:
        ids = [int(text)] if text.isascii() and text.isdigit() and len(text) < 10 else []
    encodable = (one.encode("utf-8", "replace").decode() for one in strings)
    return TokenWords(list(dict.fromkeys(encodable)), ids)


def knows_words(piece: Piece) -> bool:
    """True if the index knows which rows of a piece have which words."""
    return piece.path is not None and piece.tokens is not None and has_words(piece.path, piece.tokens)


def _by_bytes(text: str) -> str:
    return "".join(LETTERS[byte] for byte in text.encode("utf-8", "surrogatepass"))
