"""`--mask-str`: matches of an expression become `*`, and a run of them one `*×N`."""

from collections.abc import Callable, Iterator

Mask = Callable[[str], str]


def mask_of(expression: str) -> Mask:
    """Return what masks a text; an empty expression masks nothing. Raises `BadPattern`.

    The engine is that of the search, which takes time linear in the text for any expression.
    """
    if not expression:
        return lambda text: text
    from rolloupe.query.search import Pattern, TextQuery

    pattern = Pattern(TextQuery(text=expression, regex=True, case=True))
    return lambda text: "".join(_pieces(text, list(pattern.places(text))))


def _pieces(text: str, places: list[tuple[int, int]]) -> Iterator[str]:
    at = number = 0
    for nth, (start, stop) in enumerate(places):
        if number == 0:
            yield text[at:start]
        number += 1
        at = stop
        if nth + 1 == len(places) or places[nth + 1][0] != stop:
            yield "*" if number == 1 else f"*×{number}"
            number = 0
    yield text[at:]
