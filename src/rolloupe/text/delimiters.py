"""Search for any of many delimiters in a text.

An expression whose matches all begin alike runs through a text ten times as fast as one whose matches do not. There is
therefore one for each beginning.
"""

import re
from collections import defaultdict
from collections.abc import Iterable


class Delimiters:
    """Regular expressions in order of precedence, each with the beginning of its matches.

    Matches of different beginnings must not overlap.
    """

    def __init__(self, expressions: Iterable[tuple[str, str]]) -> None:
        alike: dict[str, list[str]] = defaultdict(list)
        for beginning, expression in expressions:
            alike[beginning].append(expression)
        self._expressions = {beginning: re.compile("|".join(some)) for beginning, some in alike.items()}

    def find(self, text: str) -> list[re.Match[str]]:
        """The delimiters of a text, from left to right."""
        found = [match for one in self._expressions.items() for match in _matches(text, *one)]
        return sorted(found, key=re.Match.start) if len(found) > 1 else found


def _matches(text: str, beginning: str, expression: re.Pattern[str]) -> Iterable[re.Match[str]]:
    at = text.find(beginning)  # quicker than the expression, and most texts lack most beginnings
    return expression.finditer(text, at) if at >= 0 else ()


def literal(word: str) -> tuple[str, str]:
    """The expression of a delimiter that is always the same."""
    return word[0], re.escape(word)
