"""Tokenizers for decoding: the spelling of each token, and the text that each token of a sequence adds."""

import codecs
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence

from msgspec import Struct

from rolloupe.model import TokenizerFile

_BYTE = re.compile(rb"<0x([0-9A-Fa-f]{2})>")
_ITSELF = [*range(ord("!"), ord("~") + 1), *range(ord("¡"), ord("¬") + 1), *range(ord("®"), ord("ÿ") + 1)]
_OTHERS = [byte for byte in range(256) if byte not in _ITSELF]
LETTERS = {byte: chr(byte) for byte in _ITSELF} | {byte: chr(number) for number, byte in enumerate(_OTHERS, 256)}
"""The letter of each byte. Source: `bytes_to_unicode` of GPT-2's encoder."""

BYTES = {letter: byte for byte, letter in LETTERS.items()}


def bytes_of(letters: str) -> bytes | None:
    """Return the bytes that a text of this alphabet spells; None for a text with other letters."""
    try:
        return bytes(map(BYTES.__getitem__, letters))
    except KeyError:
        return None


def byte_fallback(piece: bytes) -> bytes:
    """Return the byte that a piece such as `<0x0A>` names, and any other piece as it is."""
    match = _BYTE.fullmatch(piece)
    return bytes([int(match[1], 16)]) if match else piece


Step = Callable[[bytes], bytes]
"""Turns the spelling of a token into the bytes that it adds to a text; it adds one blank at most."""


class BadTokenizer(Exception):
    """Raised for a file that is not a tokenizer, or one that decoding does not support; its text is the reason."""


class Vocabulary(Struct, frozen=True, kw_only=True):
    """The part of a tokenizer file that decoding needs."""

    spellings: Mapping[int, str | bytes]
    """The spelling of each token, by id."""
    special: frozenset[int] = frozenset()
    """Tokens beside the learned vocabulary, such as `<|im_start|>`."""
    steps: tuple[Step, ...] = ()
    first_steps: tuple[Step, ...] = ()
    """The steps for the first token of a text."""
    is_first_until_text: bool = False
    """Whether `first_steps` also apply to later tokens, up to the first one that adds text."""
    strip: tuple[str, int] = ("", 0)
    """A character, and how often at most it is dropped at the beginning of a text."""


class Tokenizer:
    """A tokenizer whose file is read."""

    def __init__(self, file: TokenizerFile, vocabulary: Vocabulary) -> None:
        self.file = file
        self.vocabulary = vocabulary
        self.special = vocabulary.special
        self.texts = _Texts(self)
        self._tokens: dict[str, list[int]] | None = None

    def __contains__(self, token: int) -> bool:
        return token in self.vocabulary.spellings

    def __len__(self) -> int:
        return len(self.vocabulary.spellings)

    def piece(self, token: int, *, is_first: bool) -> bytes | None:
        """Return the bytes of a token; None for one outside of the vocabulary."""
        spelling = self.vocabulary.spellings.get(token)
        if spelling is None:
            return None
        piece = spelling.encode() if isinstance(spelling, str) else spelling
        for step in self.vocabulary.first_steps if is_first else self.vocabulary.steps:
            piece = step(piece)
        return piece

    def tokens_of(self, text: str) -> list[int]:
        """Return the tokens that are this text within a sequence. The first call takes a moment."""
        if self._tokens is None:
            tokens: dict[str, list[int]] = defaultdict(list)
            for token in self.vocabulary.spellings:
                if (own := self.texts[token]) is not None:
                    tokens[own].append(token)
            self._tokens = tokens
        return self._tokens.get(text, [])


class _Texts(dict[int, str | None]):
    """The text of each token within a sequence; None where other tokens decide it. Filled as tokens are asked for."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        super().__init__()
        self._tokenizer = tokenizer

    def __missing__(self, token: int) -> str | None:
        piece = self._tokenizer.piece(token, is_first=False)
        if piece is None:  # not kept, as unknown ids are unlimited
            return placeholder(token)
        return self.setdefault(token, text_of(piece))


def placeholder(token: int) -> str:
    """Return the placeholder for a token outside of the vocabulary."""
    return f"<token {token}>"


def text_of(piece: bytes) -> str | None:
    """Return the text of a piece that is whole characters; None for an empty piece, and for part of a character."""
    try:
        return piece.decode() or None
    except UnicodeDecodeError:
        return None


_Utf8 = codecs.getincrementaldecoder("utf-8")


def decode_tokens(tokenizer: Tokenizer, ids: Sequence[int]) -> list[str]:
    """Return the text that each token of a sequence adds; joined, these are the text of the whole sequence.

    Special tokens are kept, blanks are not tidied. A token that ends within a character adds nothing, and the one that
    completes the character adds it. Bytes that are not UTF-8 become U+FFFD, an id outside of the vocabulary a
    placeholder. Takes time in proportion to the number of tokens.
    """
    if not ids:
        return []
    known = [*map(tokenizer.texts.__getitem__, ids)]
    beginning = 1  # the number of tokens decoded as the beginning of a text
    if tokenizer.vocabulary.is_first_until_text:
        with_text = (at for at, token in enumerate(ids, 1) if tokenizer.piece(token, is_first=True) != b"")
        beginning = next(with_text, len(ids))
    for at, token in enumerate(ids[:beginning]):
        first = tokenizer.piece(token, is_first=True)
        known[at] = placeholder(token) if first is None else text_of(first)
    texts = completed(known, lambda at: tokenizer.piece(ids[at], is_first=at < beginning) or b"")
    character, count = tokenizer.vocabulary.strip
    for at in range(len(texts)):
        while count and texts[at].startswith(character):
            texts[at], count = texts[at][1:], count - 1
        if texts[at] or not count:
            break
    return texts


def partial_pieces(tokenizer: Tokenizer, ids: Iterable[int]) -> dict[int, bytes]:
    """Return the bytes of the tokens that contain parts of characters, by id."""
    undecided = (token for token in {*ids} if tokenizer.texts[token] is None)
    return {token: piece for token in undecided if (piece := tokenizer.piece(token, is_first=False))}


def most_chars(tokenizer: Tokenizer, ids: Sequence[int]) -> int:
    """Return the most characters of the text of a sequence without decoding it, as if no token were the first."""
    counts = Counter(ids).items()
    return sum(n * len(tokenizer.texts[token] or tokenizer.piece(token, is_first=False) or b"") for token, n in counts)


def text_of_token(tokenizer: Tokenizer, token: int) -> str:
    """Return the text of a token within a sequence; a part of a character is decoded alone."""
    return tokenizer.texts[token] or decode_tokens(tokenizer, [token])[0]


def completed(known: Sequence[str | None], piece: Callable[[int], bytes]) -> list[str]:
    """Return the text that each token adds; those without a `known` text are decoded together, from their pieces."""
    if None not in known:
        return [text or "" for text in known]
    texts = []
    utf8 = _Utf8("replace")
    is_open = False
    for at, text in enumerate(known):
        if text is None:
            texts.append(utf8.decode(piece(at)))
            is_open = True
            continue
        if is_open:
            texts[-1] += utf8.decode(b"", True)
            is_open = False
        texts.append(text)
    if is_open:
        texts[-1] += utf8.decode(b"", True)
    return texts
