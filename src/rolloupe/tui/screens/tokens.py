"""`t`: the tokens of the sample, tinted by a series, with a legend and the card of the token under the cursor."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
from rich.cells import cell_len
from textual import events
from textual.message import Message
from textual.widget import Widget

from rolloupe.tui.draw.ink import CURRENT_MATCH, DIM, PLAIN, STRONG, Ink, Line, cut, joined, rule, safe
from rolloupe.tui.keys import TOKEN_KEYS
from rolloupe.tui.run.session import SampleAt
from rolloupe.tui.screens.over import BackScreen
from rolloupe.tui.screens.pickers import Choice, pick
from rolloupe.tui.views import tokens as views
from rolloupe.tui.views.samples import figures
from rolloupe.tui.views.tokens import UPDATE, TokenScale, TokenSheet, shown_text
from rolloupe.tui.widgets.lines import LineBar, LinePane

if TYPE_CHECKING:
    from rolloupe.tui.screens.rollouts import Rollouts


class TokenPane(LinePane):
    """The tokens in lines. Sends a message when the cursor or the series changes."""

    class Changed(Message):
        """A different token or series is chosen."""

    def __init__(self) -> None:
        super().__init__(id="tokens")
        self.tokens: TokenSheet | None = None
        self.series = ""
        self.cursor = 0
        """The chosen token, counted in the whole sample."""
        self.scale = TokenScale("linear", 0.0, 0.0)
        self._rows: list[tuple[int, int]] = []
        self._tints: list[str] = []
        self.furthest: list[int] = []

    def show(self, tokens: TokenSheet | None, *, keeps_place: bool = False) -> None:
        """Show the tokens of a sample, tinted by the same series if it has that. The cursor stays if the sample is the
        same.
        """
        self.tokens = tokens
        first, total = (tokens.first, tokens.page.total) if tokens else (0, 1)
        self.cursor = max(first, min(self.cursor, total - 1)) if keeps_place else first
        furthest = [token for token in self.furthest if keeps_place and token < total]
        self.break_lines()
        if tokens is not None:
            self.tint(self.series if self.series in tokens.names else next(iter(tokens.names), ""))
            self.furthest = furthest
        if not keeps_place:
            self.scroll_to(0, 0, animate=False)

    def break_lines(self) -> None:
        self._rows = views.rows_of(self.tokens.texts, self.room - 2) if self.tokens else []
        self.changed()

    def tint(self, name: str) -> None:
        self.series, self.furthest, self._tints = name, [], []
        if self.tokens is not None and name:
            self.scale = self.tokens.scale(name)
            self._tints = views.tints(self.scale, self.scale.strengths(self.tokens.values(name)))
        self.refresh()
        self.post_message(self.Changed())

    def count(self) -> int:
        return len(self._rows)

    def line_at(self, y: int) -> Line:
        assert self.tokens is not None
        line: Line = [(" ", PLAIN)]
        for n in range(*self._rows[y]):
            token = n + self.tokens.first
            ink = Ink("ink-1", self._tints[token] if token < len(self._tints) else "")
            ink = CURRENT_MATCH if token == self.cursor else ink
            line.append((shown_text(self.tokens.texts[n]), ink))
        return line

    def go_to(self, token: int) -> None:
        if self.tokens is not None:
            self.cursor = max(self.tokens.first, min(token, self.tokens.page.total - 1))
            self.show_line(self._row_of(self.cursor))
            self.refresh()
            self.post_message(self.Changed())

    def _row_of(self, token: int) -> int:
        first = self.tokens.first if self.tokens else 0
        starts = [start for start, _ in self._rows]
        return max(0, int(np.searchsorted(starts, token - first, side="right")) - 1)

    def line(self, by: int) -> None:
        if self.tokens is not None:
            first, row = self.tokens.first, self._row_of(self.cursor)
            column = self.cursor - first - self._rows[row][0]
            start, stop = self._rows[max(0, min(row + by, len(self._rows) - 1))]
            self.go_to(min(start + column, stop - 1) + first)

    def on_click(self, event: events.Click) -> None:
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
        self.break_lines()


class TokensScreen(BackScreen[None]):
    """The token view; n and p go to other samples, as on the main screen."""

    KEYS = TOKEN_KEYS
    AT_ONCE = ("help", "back", "sample", "step")

    def __init__(self, rollouts: "Rollouts") -> None:
        super().__init__(rollouts)
        self._at = rollouts.nav.shown
        self._is_read = False

    def body(self) -> Iterator[Widget]:
        yield LineBar("legend", self._legend, "surface-page")
        yield TokenPane()
        yield LineBar("card", self._card)

    def on_mount(self) -> None:
        self._at = self.rollouts.nav.shown
        self._ask()

    @property
    def pane(self) -> TokenPane:
        return self.query_one(TokenPane)

    @property
    def is_reading(self) -> bool:
        return not self._is_read or self.rollouts.nav.is_moving

    def _ask(self, *, keeps_place: bool = False) -> None:
        sample, run, mask = self._at.sample, self.session.run, self.rollouts.mask
        keeps_place = keeps_place and self._is_read
        self._is_read = keeps_place or sample is None

        def take(tokens: TokenSheet | None) -> None:
            self._is_read = True
            self.pane.show(tokens, keeps_place=keeps_place)
            self.redraw("title", "legend", "card")

        if sample is not None:
            self.ask("tokens", lambda: views.tokens_of(run, sample, mask), take)

    def title_lines(self, width: int) -> list[Line]:
        if self._at.sample is None:
            return [[]]
        facts = joined(list(figures(self._at.sample, self.rollouts.live.scales, self.rollouts.fields))[:6])
        return [cut(joined([[(" Tokens", STRONG)], [safe(str(self._at.sample.key), DIM)], facts]), width)]

    def _legend(self, width: int) -> list[Line]:
        pane = self.pane
        if pane.tokens is not None:
            return [views.legend(pane.tokens, pane.series, pane.scale, width), rule(width)]
        why = " The record of this sample holds no tokens." if self._is_read else " Reading …"
        return [[(" The tokens cannot be shown." if self._failures else why, PLAIN)], rule(width)]

    def _card(self, width: int) -> list[Line]:
        pane = self.pane
        return [[]] if pane.tokens is None else views.card(pane.tokens, pane.cursor, pane.series, width)

    def on_token_pane_changed(self, _: TokenPane.Changed) -> None:
        self.redraw("legend", "card")

    def show(self, at: SampleAt) -> None:
        self._failures.clear()
        is_same = at.is_same(self._at)
        self._at = at
        self._ask(keeps_place=is_same)

    def failed(self, kind: str, reason: str) -> None:
        super().failed(kind, reason)
        self.redraw("legend")

    # What its keys do

    def action_sample(self, by: int) -> None:
        self.rollouts.action_sample(by)

    def action_step(self, by: int) -> None:
        self.rollouts.action_step(by)

    def action_token(self, by: int) -> None:
        self.pane.go_to(self.pane.cursor + by)

    def action_next_series(self) -> None:
        pane = self.pane
        if names := pane.tokens.names if pane.tokens else []:
            now = names.index(pane.series) if pane.series in names else -1
            pane.tint(names[(now + 1) % len(names)])

    def action_furthest(self) -> None:
        """Go to the token whose value is furthest from 0, a ratio from 1, then to the next."""
        pane = self.pane
        if pane.tokens is not None and pane.series:
            pane.furthest = pane.furthest or views.by_size(pane.tokens, pane.series)
            pane.go_to(pane.furthest.pop(0))

    def action_update(self) -> None:
        tokens = self.pane.tokens
        if tokens is not None and UPDATE in tokens.names:
            self.pane.tint(UPDATE)

    def action_choose_series(self) -> None:
        if self.pane.tokens:
            choices = {name: Choice(name) for name in self.pane.tokens.names}
            pick(self.app, "Tint by", choices, self.pane.series, self.pane.tint)
