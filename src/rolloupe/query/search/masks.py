"""`--mask-str`: matches of an expression become `*`, and a run of them one `*×N`."""

from collections.abc import Iterator, Sequence
from itertools import accumulate

from msgspec.structs import replace

from rolloupe.model import Sample
from rolloupe.query.search.pattern import Pattern, TextQuery

SIGN = "*"
WRITTEN = frozenset(("text", "think", "answer", "tool_result", "json"))


class Mask:
    """Masks texts; without a pattern, none."""

    def __init__(self, pattern: Pattern | None = None) -> None:
        self._pattern = pattern

    def __call__(self, text: str) -> str:
        """Return the masked text."""
        return text if self._pattern is None else "".join(_pieces(text, list(self._pattern.places(text))))

    def apply_to(self, sample: Sample) -> None:
        """Mask the texts of a sample; `raw` keeps them as they were."""
        if self._pattern is None:
            return
        sample.label = self(sample.label)
        for turn in (*sample.turns, *sample.ref_turns):
            for place, part in enumerate(turn.parts):
                if part.kind in WRITTEN and (text := self(part.text)) != part.text:
                    raw = part.text if part.raw is None else part.raw
                    turn.parts[place] = replace(part, text=text, raw=raw)

    def tokens(self, texts: Sequence[str]) -> list[str]:
        """Return consecutive texts, with one sign in place of each text's part of a match."""
        if self._pattern is None:
            return list(texts)
        shown, nth = list(texts), 0
        ends = list(accumulate(map(len, texts)))
        done = [0] * len(texts)  # letters of each text that are decided
        kept: list[list[str]] = [[] for _ in texts]
        for start, stop in self._pattern.places("".join(texts)):
            while ends[nth] <= start:
                nth += 1
            last = nth
            while True:
                first = ends[last] - len(texts[last])
                kept[last] += [texts[last][done[last] : max(0, start - first)], SIGN]
                done[last] = min(len(texts[last]), stop - first)
                shown[last] = "".join(kept[last]) + texts[last][done[last] :]
                if ends[last] >= stop:
                    break
                last += 1
            nth = last
        return shown


NO_MASK = Mask()


def mask_of(expression: str) -> Mask:
    """Return what masks a text; an empty expression masks nothing. Raises `BadPattern`.

    The engine is that of the search, which takes time linear in the text for any expression.
    """
    if not expression:
        return NO_MASK
    return Mask(Pattern(TextQuery(text=expression, regex=True, case=True)))


def _pieces(text: str, places: list[tuple[int, int]]) -> Iterator[str]:
    at = number = 0
    for nth, (start, stop) in enumerate(places):
        if number == 0:
            yield text[at:start]
        number += 1
        at = stop
        if nth + 1 == len(places) or places[nth + 1][0] != stop:
            yield SIGN if number == 1 else f"{SIGN}×{number}"
            number = 0
    yield text[at:]
