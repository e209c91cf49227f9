"""Completes the name under the cursor of a filter."""

import re
from collections.abc import Sequence

from textual.suggester import Suggester

from rolloupe.text.visible import visible_line

_NAME = re.compile(r"[\w.:/-]+")


class FilterNames(Suggester):
    """Completes the last word to the first name that begins with it; Tab or the right arrow takes it."""

    def __init__(self, names: Sequence[str]) -> None:
        super().__init__(use_cache=False, case_sensitive=True)
        self._names = sorted((name for name in names if _is_fit(name)), key=len)

    async def get_suggestion(self, value: str) -> str | None:
        """Return the typed text with its last word complete."""
        from_end = _NAME.match(value[::-1])  # a search for it would begin at every letter of the line
        start = len(value) - from_end.end() if from_end else len(value)
        begun = value[start:]
        if not begun or value.count('"', 0, start) % 2:
            return None
        longer = (name for name in self._names if name.startswith(begun) and name != begun)
        name = next(longer, None)
        return None if name is None else value[:start] + name


def _is_fit(name: str) -> bool:
    """Return whether a name can be typed, and hides nothing: Textual draws it."""
    return _NAME.fullmatch(name) is not None and visible_line(name) == name
