"""The tokens of a sample as flowing text, each tinted by a series, with a cursor."""

import numpy as np
from rich.cells import cell_len
from textual import events
from textual.message import Message

from rolloupe.tui.draw.ink import Ink, Line
from rolloupe.tui.views.token_scale import TokenScale
from rolloupe.tui.views.tokens import TokenSheet, by_size, rows_of, shown_text, tints
from rolloupe.tui.widgets.lines import LinePane


class TokenPane(LinePane):
    """Tokens. Tells when the cursor or the series is another."""

    class Changed(Message):
        """Another token or series is chosen."""

    def __init__(self) -> None:
        super().__init__(id="tokens")
        self.tokens: TokenSheet | None = None
        self.series = ""
        self.cursor = 0
        """The chosen token, counted in the whole sample."""
        self.scale = TokenScale("linear", 0.0, 0.0)
        self._rows: list[tuple[int, int]] = []
        self._tints: list[str] = []
        self._furthest: list[int] = []

    def show(self, tokens: TokenSheet | None, *, keeps_place: bool = False) -> None:
        """Show the tokens of another sample, tinted by the same series if it has it; of the same one, stay there."""
        self.tokens = tokens
        first, total = (tokens.first, tokens.page.total) if tokens else (0, 1)
        self.cursor = max(first, min(self.cursor, total - 1)) if keeps_place else first
        furthest = [token for token in self._furthest if keeps_place and token < total]
        self._break()
        if tokens is not None:
            self.tint(self.series if self.series in tokens.names else next(iter(tokens.names), ""))
            self._furthest = furthest
        if not keeps_place:
            self.scroll_to(0, 0, animate=False)

    def _break(self) -> None:
        self._rows = rows_of(self.tokens.texts, self.room - 2) if self.tokens else []
        self.changed()

    def tint(self, name: str) -> None:
        """Tint by a series."""
        self.series, self._furthest, self._tints = name, [], []
        if self.tokens is not None and name:
            self.scale = self.tokens.scale(name)
            self._tints = tints(self.scale, self.scale.strengths(self.tokens.values(name)))
        self.refresh()
        self.post_message(self.Changed())

    def next_series(self, by: int = 1) -> None:
        """Tint by the next series."""
        names = self.tokens.names if self.tokens else []
        if names:
            now = names.index(self.series) if self.series in names else -1
            self.tint(names[(now + by) % len(names)])

    def count(self) -> int:
        """Return the number of lines."""
        return len(self._rows)

    def line_at(self, y: int) -> Line:
        """Return a line of tokens."""
        assert self.tokens is not None
        start, stop = self._rows[y]
        return [
            (" ", Ink()),
            *((shown_text(self.tokens.texts[n]), self._ink(n + self.tokens.first)) for n in range(start, stop)),
        ]

    def _ink(self, token: int) -> Ink:
        if token == self.cursor:
            return Ink("surface-page", "accent", bold=True)
        tint = self._tints[token] if token < len(self._tints) else ""
        return Ink("ink-1", tint)

    def go_to(self, token: int) -> None:
        """Move the cursor."""
        if self.tokens is not None:
            self.cursor = max(self.tokens.first, min(token, self.tokens.page.total - 1))
            self.show_line(self._row_of(self.cursor))
            self.refresh()
            self.post_message(self.Changed())

    def _row_of(self, token: int) -> int:
        first = self.tokens.first if self.tokens else 0
        starts = [start for start, _ in self._rows]
        return max(0, int(np.searchsorted(starts, token - first, side="right")) - 1)

    def _beside(self, by: int) -> int:
        """Return the token above or below the cursor."""
        assert self.tokens is not None
        first, row = self.tokens.first, self._row_of(self.cursor)
        column = self.cursor - first - self._rows[row][0]
        start, stop = self._rows[max(0, min(row + by, len(self._rows) - 1))]
        return min(start + column, stop - 1) + first

    def go_to_furthest(self) -> None:
        """Go to the token whose value is furthest from 0, a ratio from 1, then to the next."""
        if self.tokens is not None and self.series:
            self._furthest = self._furthest or by_size(self.tokens, self.series)
            self.go_to(self._furthest.pop(0))

    def token(self, by: int) -> None:
        """Move the cursor by tokens."""
        self.go_to(self.cursor + by)

    def line(self, by: int) -> None:
        """Move the cursor to the token above or below."""
        if self.tokens is not None:
            self.go_to(self._beside(by))

    def on_click(self, event: events.Click) -> None:
        """Choose the token under the mouse."""
        y = event.y + self.scroll_offset.y
        if self.tokens is None or y >= len(self._rows):
            return
        left = 1
        for n in range(*self._rows[y]):
            left += cell_len(shown_text(self.tokens.texts[n]))
            if event.x < left:
                self.go_to(n + self.tokens.first)
                return

    def on_resize(self, _: events.Resize) -> None:
        """Break the lines again."""
        self._break()
