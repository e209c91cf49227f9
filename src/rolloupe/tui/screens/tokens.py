"""`t`: the tokens of the sample, tinted by a series, with a legend and the card of the token under the cursor."""

from typing import TYPE_CHECKING

from textual.app import ComposeResult

from rolloupe.tui.draw.ink import DIM, PLAIN, STRONG, Ink, Line, cut, joined, safe
from rolloupe.tui.run.session import SampleAt
from rolloupe.tui.screen_keys import TOKEN_KEYS
from rolloupe.tui.screens.back import BackScreen
from rolloupe.tui.screens.pick import Choice, PickScreen
from rolloupe.tui.views.facts import figures
from rolloupe.tui.views.tokens import UPDATE, TokenSheet, card, legend, tokens_of
from rolloupe.tui.widgets.bar import LineBar
from rolloupe.tui.widgets.token_pane import TokenPane

if TYPE_CHECKING:
    from rolloupe.tui.screens.rollouts import Rollouts


class TokensScreen(BackScreen[None]):
    """The token view; n and p go to other samples, as on the main screen."""

    KEYS = TOKEN_KEYS
    AT_ONCE = ("help", "back", "sample", "step")

    def __init__(self, rollouts: "Rollouts") -> None:
        super().__init__(rollouts)
        self._at = rollouts.shown
        self._is_read = False

    def compose(self) -> ComposeResult:
        """Lay it out."""
        yield self.title_bar("tokens-title", self._title)
        yield LineBar("legend", self._legend, "surface-page")
        yield TokenPane()
        yield LineBar("card", self._card)
        yield self.foot_bar()

    def on_mount(self) -> None:
        """Ask for the tokens."""
        self._at = self.rollouts.shown
        self.pane.focus()
        self._ask()

    @property
    def pane(self) -> TokenPane:
        """The tokens."""
        return self.query_one(TokenPane)

    @property
    def is_reading(self) -> bool:
        """True until the tokens of the sample are there that the person wants."""
        return not self._is_read or self.rollouts.is_moving

    def _ask(self, *, keeps_place: bool = False) -> None:
        sample, run, mask = self._at.sample, self.session.run, self.rollouts.mask
        keeps_place = keeps_place and self._is_read
        self._is_read = keeps_place or sample is None

        def take(tokens: TokenSheet | None) -> None:
            self._is_read = True
            self.pane.show(tokens, keeps_place=keeps_place)
            self.redraw("tokens-title", "legend", "card")

        if sample is not None:
            self.ask("tokens", lambda: tokens_of(run, sample, mask), take)

    def _title(self, width: int) -> list[Line]:
        if self._at.sample is None:
            return [[]]
        facts = joined(list(figures(self._at.sample, self.rollouts.scales, self.rollouts.fields))[:6])
        return [cut(joined([[(" Tokens", STRONG)], [safe(str(self._at.sample.key), DIM)], facts]), width)]

    def _legend(self, width: int) -> list[Line]:
        pane = self.pane
        if pane.tokens is None:
            return [[(self._why_none(), PLAIN)], [("─" * width, Ink("line-2"))]]
        return [legend(pane.tokens, pane.series, pane.scale, width), [("─" * width, Ink("line-2"))]]

    def _why_none(self) -> str:
        if self._failures:
            return " The tokens cannot be shown."
        return " The record of this sample holds no tokens." if self._is_read else " Reading …"

    def _card(self, width: int) -> list[Line]:
        pane = self.pane
        if pane.tokens is None:
            return [[]]
        return card(pane.tokens, pane.cursor, pane.series, width)

    def on_token_pane_changed(self, _: TokenPane.Changed) -> None:
        """Draw the legend and the card of the chosen token."""
        self.redraw("legend", "card")

    def show(self, at: SampleAt) -> None:
        """Show the tokens of another sample, or of the same one, read again."""
        self._failures.clear()
        is_same = at.is_same(self._at)
        self._at = at
        self._ask(keeps_place=is_same)

    def failed(self, kind: str, reason: str) -> None:
        """Say so instead of the tokens, too."""
        super().failed(kind, reason)
        self.redraw("legend")

    # What its keys do

    def action_sample(self, by: int) -> None:
        """Go to another sample of the list."""
        self.rollouts.action_sample(by)

    def action_step(self, by: int) -> None:
        """Go to another step."""
        self.rollouts.action_step(by)

    def action_token(self, by: int) -> None:
        """Go to the token before or after."""
        self.pane.token(by)

    def action_next_series(self) -> None:
        """Tint by the next series."""
        self.pane.next_series()

    def action_furthest(self) -> None:
        """Go to the token whose value is furthest from 0, then to the next."""
        self.pane.go_to_furthest()

    def action_update(self) -> None:
        """Tint by the coefficients of the update."""
        tokens = self.pane.tokens
        if tokens is not None and UPDATE in tokens.names:
            self.pane.tint(UPDATE)

    def action_choose_series(self) -> None:
        """Choose what to tint by."""
        tokens = self.pane.tokens
        if tokens is None:
            return
        names = tokens.names

        def chosen(number: int | None) -> None:
            if number is not None:
                self.pane.tint(names[number])

        now = names.index(self.pane.series) if self.pane.series in names else 0
        self.app.push_screen(PickScreen("Tint by", [Choice(name) for name in names], now), chosen)
