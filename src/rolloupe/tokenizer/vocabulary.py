"""A tokenizer as decoding needs it: how each token is spelled, and the steps from a spelling to bytes."""

from collections import defaultdict
from collections.abc import Callable, Mapping

from msgspec import Struct

from rolloupe.model import TokenizerFile

Step = Callable[[bytes], bytes]
"""Turns the spelling of a token into what it adds to a text. It adds one blank at most."""


class BadTokenizer(Exception):
    """Raised for a file that is no tokenizer, or one that decoding does not support; its text is the reason."""


class Vocabulary(Struct, frozen=True, kw_only=True):
    """What a tokenizer file says about decoding."""

    spellings: Mapping[int, str | bytes]
    """The spelling of each token, by id."""
    special: frozenset[int] = frozenset()
    """Tokens beside the learned vocabulary, such as `<|im_start|>`."""
    steps: tuple[Step, ...] = ()
    first_steps: tuple[Step, ...] = ()
    """The steps for the first token of a text."""
    is_first_until_text: bool = False
    """Whether `first_steps` are also for the tokens after it, up to the first one that adds text."""
    strip: tuple[str, int] = ("", 0)
    """A character, and how many of it at most are dropped where a text begins."""


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
            found: dict[str, list[int]] = defaultdict(list)
            for token in self.vocabulary.spellings:
                if (own := self.texts[token]) is not None:
                    found[own].append(token)
            self._tokens = found
        return self._tokens.get(text, [])


class _Texts(dict[int, str | None]):
    """The text of each token within a sequence; None where other tokens decide it. Filled as tokens are asked for."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        super().__init__()
        self._tokenizer = tokenizer

    def __missing__(self, token: int) -> str | None:
        piece = self._tokenizer.piece(token, is_first=False)
        if piece is None:  # not kept: there is no end to the ids that no vocabulary has
            return placeholder(token)
        return self.setdefault(token, text_of(piece))


def placeholder(token: int) -> str:
    """Return what represents a token outside of the vocabulary."""
    return f"<token {token}>"


def text_of(piece: bytes) -> str | None:
    """Return the text of a piece that is whole characters; None for one that joins its neighbours, or is empty."""
    try:
        return piece.decode() or None
    except UnicodeDecodeError:
        return None
