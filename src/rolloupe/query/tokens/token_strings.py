"""Token strings as tokenizers write them, and the number of characters that each covers in a text.

Some frameworks store the text of a token; others store the vocabulary's own spelling: the byte-level alphabet of GPT-2
(`Ġ` for a blank, `Ċ` for a line break, a letter for every other byte) or that of SentencePiece (`▁` for a blank).
"""

from collections.abc import Callable, Sequence
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from rolloupe.formats.token_texts import strings_of_prompt
from rolloupe.model import Sample
from rolloupe.tokenizer.vocabulary import BYTES, byte_fallback, bytes_of, completed, text_of

Lengths = NDArray[np.int64]

Spelling = Literal["plain", "bytes", "pieces"]
"""How token strings are written: as text, in the letters that stand for bytes, or with `▁` for a blank."""


def lengths_within(strings: Sequence[str], text: str) -> Lengths | None:
    """Return how many characters each token covers, shape (T,); None if `text` does not begin with the tokens.

    A token that ends within a character covers those before it; the token that completes the character covers it. A
    special token, such as `<|im_end|>`, covers nothing where the text leaves it out, as responses often do at the end.
    """
    if text.startswith("".join(strings)):  # as they mostly are: a tenth of the time
        return np.fromiter(map(len, strings), np.int64, len(strings))
    for spell in _SPELLINGS:
        pieces = spell(strings)
        if pieces is not None and (lengths := _lengths(pieces, text)) is not None:
            return lengths
    for spell in _SPELLINGS:
        pieces = spell(strings)
        kept = None if pieces is None else _without_left_out(pieces, text)
        if kept is not None and (lengths := _lengths(kept, text)) is not None:
            return lengths
    return None


def _without_left_out(pieces: list[bytes], text: str) -> list[bytes] | None:
    """Return the pieces, empty for each special token that the text leaves out; None if other tokens are missing."""
    data, at, kept = text.encode("utf-8", "surrogatepass"), 0, []
    for piece in pieces:
        is_there = data.startswith(piece, at)
        if not is_there and not (piece.startswith(b"<") and piece.endswith(b">")):
            return None
        kept.append(piece if is_there else b"")
        at += len(kept[-1])
    return kept


def texts_of_tokens(sample: Sample) -> list[str]:
    """Return the token strings of a sample as text."""
    return _read(sample.token_strings, spelling_of(sample))


def texts_of_response(sample: Sample) -> list[str]:
    """Return the token strings of the response as text, without those of the prompt if the record tells them apart."""
    return texts_of_tokens(sample)[strings_of_prompt(sample) :]


def spelling_of(sample: Sample) -> Spelling:
    """Return the spelling of a sample's token strings; those that a tokenizer decoded are text."""
    return "plain" if sample.is_decoded else _spelling(sample.token_strings)


def readable(strings: Sequence[str]) -> list[str]:
    """Return token strings that follow each other as text.

    A token that ends within a character adds nothing, and the one that completes the character adds it.
    """
    return _read(strings, _spelling(strings))


def each_readable(strings: Sequence[str]) -> list[str]:
    """Return token strings of many places as text, each by itself. A part of a character stays as it is."""
    spelled = _SPELLED[_spelling(strings)]
    return [text_of(spelled(string)) or string for string in strings]


def _spelling(strings: Sequence[str]) -> Spelling:
    """Return the spelling, which blanks and line breaks show; plain where most of these are plain."""
    different = {*strings}
    whole = "".join(different)
    if not any(sign in whole for sign in (*_BLANKS, *_MARK)):
        return "plain"
    plain, letters, marks = (
        sum(any(sign in string for sign in signs) for string in different) for signs in (_PLAIN, _BLANKS, _MARK)
    )
    if plain >= max(letters, marks):
        return "plain"
    return "bytes" if letters >= marks else "pieces"


def _read(strings: Sequence[str], spelling: Spelling) -> list[str]:
    if spelling == "plain":
        return list(strings)
    pieces = {string: _SPELLED[spelling](string) for string in {*strings}}
    texts = {string: text_of(piece) for string, piece in pieces.items()}
    return completed([*map(texts.__getitem__, strings)], lambda at: pieces[strings[at]])


def _to_bytes(string: str) -> bytes:
    return string.encode("utf-8", "replace")


def _letters_to_bytes(string: str) -> bytes:
    data = bytes_of(string)
    return _to_bytes(string) if data is None else data


def _mark_to_bytes(string: str) -> bytes:
    if string.startswith("<") and len(string) > 1:  # a byte, or a special token
        return byte_fallback(string.encode("utf-8", "replace"))
    return string.replace("▁", " ").encode("utf-8", "replace")


def _lengths(pieces: list[bytes], text: str) -> Lengths | None:
    data = text.encode("utf-8", "surrogatepass")
    if not data.startswith(b"".join(pieces)):
        return None
    ends = np.cumsum([len(piece) for piece in pieces], dtype=np.int64)
    is_first = (np.frombuffer(data, dtype=np.uint8) & 0xC0) != 0x80
    begun = np.concatenate([[0], np.cumsum(is_first)])
    inside = np.append(~is_first, False)[ends]  # the byte after the token continues a character
    lengths: Lengths = np.diff(begun[ends] - inside, prepend=0)
    return lengths


def _plain(strings: Sequence[str]) -> list[bytes]:
    return [string.encode("utf-8", "surrogatepass") for string in strings]


def _byte_level(strings: Sequence[str]) -> list[bytes] | None:
    try:
        return [bytes(map(BYTES.__getitem__, string)) for string in strings]
    except KeyError:  # a special token with a blank in it, or another alphabet
        return None


def _sentence_piece(strings: Sequence[str]) -> list[bytes]:
    return [*map(_mark_to_bytes, strings)]


_PLAIN, _MARK = " \n", "▁"
_BLANKS = "".join(letter for letter, byte in BYTES.items() if byte in b" \n")
_SPELLED: dict[Spelling, Callable[[str], bytes]] = {
    "plain": _to_bytes, "bytes": _letters_to_bytes, "pieces": _mark_to_bytes
}  # fmt: skip
_SPELLINGS: tuple[Callable[[Sequence[str]], list[bytes] | None], ...] = (_plain, _byte_level, _sentence_piece)
