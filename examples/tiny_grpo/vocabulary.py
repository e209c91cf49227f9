"""Words as tokens: text to token ids and back, without loss. A token carries the space before it, as in BPE."""

import re

from task import every_wording

PIECE = re.compile(r" ?</?[a-z]+>| ?[A-Za-z]+| ?\d+|\n|[^\w\s]")
PAD, END = "<|pad|>", "<|end|>"
"""`END` closes a response, and is a token that the model is trained on like any other."""


def pieces(text: str) -> list[str]:
    """Split a text into tokens that join to the same text. ValueError where one holds what no token can."""
    found = PIECE.findall(text)
    if "".join(found) != text:
        raise ValueError(f"no tokens for this text: {text[:200]!r}")
    return found


class Vocabulary:
    """All tokens of the task in a fixed order: the same in every run, so checkpoints need not hold it."""

    def __init__(self) -> None:
        words = sorted({piece for text in every_wording() for piece in pieces(text)})
        self.tokens = [PAD, END, *words]
        self._ids = {token: number for number, token in enumerate(self.tokens)}
        self.numbers = {int(token): number for token, number in self._ids.items() if token.strip().isdigit()}
        self.pad, self.end = self._ids[PAD], self._ids[END]

    def __len__(self) -> int:
        return len(self.tokens)

    def encode(self, text: str) -> list[int]:
        """Return the ids of a text. ValueError names the first piece that is not a token."""
        found = pieces(text)
        unknown = next((piece for piece in found if piece not in self._ids), None)
        if unknown is not None:
            raise ValueError(f"not in the vocabulary: {unknown!r}")
        return [self._ids[piece] for piece in found]

    def strings(self, ids: list[int]) -> list[str]:
        """Return the token strings, special ones included."""
        return [self.tokens[number] for number in ids]

    def decode(self, ids: list[int]) -> str:
        """Return the text of some ids, without padding and end."""
        return "".join(self.tokens[number] for number in ids if number not in (self.pad, self.end))
