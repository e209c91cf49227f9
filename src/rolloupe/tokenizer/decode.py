"""From token ids to the text that each token adds, in one pass."""

import codecs
from collections import Counter
from collections.abc import Callable, Iterable, Sequence

from rolloupe.tokenizer.vocabulary import Tokenizer, placeholder, text_of

_Utf8 = codecs.getincrementaldecoder("utf-8")


def decode_tokens(tokenizer: Tokenizer, ids: Sequence[int]) -> list[str]:
    """Return the text that each token of a sequence adds; joined, these are the text of the whole sequence.

    Special tokens are kept, blanks are not tidied. A token that ends within a character adds nothing, and the one that
    completes the character adds it. Bytes that are no UTF-8 become U+FFFD, an id outside of the vocabulary a
    placeholder. Takes time in proportion to the number of tokens.
    """
    if not ids:
        return []
    found = [*map(tokenizer.texts.__getitem__, ids)]
    beginning = _beginning(tokenizer, ids)
    for at, token in enumerate(ids[:beginning]):
        first = tokenizer.piece(token, is_first=True)
        found[at] = placeholder(token) if first is None else text_of(first)
    texts = completed(found, lambda at: tokenizer.piece(ids[at], is_first=at < beginning) or b"")
    _strip(texts, *tokenizer.vocabulary.strip)
    return texts


def partial_pieces(tokenizer: Tokenizer, ids: Iterable[int]) -> dict[int, bytes]:
    """Return the bytes of the ids that are a part of a character or of several, and no whole text by themselves."""
    undecided = (token for token in {*ids} if tokenizer.texts[token] is None)
    return {token: piece for token in undecided if (piece := tokenizer.piece(token, is_first=False))}


def most_chars(tokenizer: Tokenizer, ids: Sequence[int]) -> int:
    """Return how many characters `decode_tokens` makes of a sequence at most, the first token aside. Makes none."""
    found = ((count, token, tokenizer.texts[token]) for token, count in Counter(ids).items())
    return sum(count * len(text or tokenizer.piece(token, is_first=False) or b"") for count, token, text in found)


def text_of_token(tokenizer: Tokenizer, token: int) -> str:
    """Return the text of a token within a sequence; of a part of a character, what decoding it alone gives."""
    return tokenizer.texts[token] or decode_tokens(tokenizer, [token])[0]


def _beginning(tokenizer: Tokenizer, ids: Sequence[int]) -> int:
    """Return how many tokens are decoded as the first of a text."""
    if not tokenizer.vocabulary.is_first_until_text:
        return 1
    texts = (at for at, token in enumerate(ids, 1) if tokenizer.piece(token, is_first=True) != b"")
    return next(texts, len(ids))


def completed(found: Sequence[str | None], piece: Callable[[int], bytes]) -> list[str]:
    """Return the text that each token adds, decoding together those without a text of their own.

    `piece` has the bytes of the token at a place. Tokens with a text begin and end with whole characters.
    """
    if None not in found:
        return [text or "" for text in found]
    texts = []
    utf8 = _Utf8("replace")
    is_open = False
    for at, text in enumerate(found):
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


def _strip(texts: list[str], character: str, count: int) -> None:
    """Drop up to so many characters where the text begins."""
    for at, text in enumerate(texts):
        kept = text
        while count and kept.startswith(character):
            kept, count = kept[1:], count - 1
        texts[at] = kept
        if kept or not count:
            return
