"""The colours of the terminal: those of the page in light and dark, and the sixteen of an old terminal.

Colours are data: neutrals carry the interface, a hue carries a value, a role or a state.
"""

from functools import lru_cache
from typing import NamedTuple

from rich.color import Color
from rich.style import Style

from rolloupe.tui.draw.ink import Ink

COLOURS: dict[str, tuple[str, str, str]] = {
    "surface-pane": ("#f7f6f3", "#131517", "default"),
    "surface-page": ("#fefdfd", "#181a1d", "default"),
    "surface-float": ("#ffffff", "#222528", "default"),
    "select": ("#dde4f3", "#2b3447", "blue"),
    "ink-1": ("#1c1e22", "#e7e6e3", "default"),
    "ink-2": ("#494c50", "#b4b6b9", "default"),
    "ink-3": ("#64666b", "#94979b", "default"),
    "ink-ghost": ("#a2a5a8", "#505357", "bright_black"),
    "line-1": ("#e1dfdd", "#282a2e", "bright_black"),
    "line-2": ("#cdccc8", "#3c3e43", "bright_black"),
    "accent": ("#325dc1", "#8fb2f9", "bright_blue"),
    "match": ("#f3e189", "#61510c", "yellow"),
    "live": ("#1a9951", "#5bcc80", "green"),
    "warn": ("#8a5600", "#eaba67", "yellow"),
    "alarm": ("#b72d29", "#f5837c", "bright_red"),
    "think": ("#64547f", "#b9aad7", "magenta"),
    "tool": ("#216970", "#7bc0c8", "cyan"),
    "golden": ("#765406", "#e3bf72", "yellow"),
    "role-system": ("#606369", "#989ba2", "default"),
    "role-user": ("#345f82", "#8db9d8", "bright_blue"),
    "role-assistant": ("#1c1e22", "#e7e6e3", "default"),
    "role-tool": ("#526138", "#abba88", "cyan"),
    "seq-full": ("#1567a6", "#68b3ea", "bright_blue"),
    "heat": ("#e66c39", "#a84b1c", "yellow"),
    "div-neg": ("#b97fdc", "#834ba8", "magenta"),
    "div-pos": ("#49c0bc", "#007374", "cyan"),
    "run-2": ("#d56a10", "#f2a359", "yellow"),
    "run-3": ("#17895b", "#5fcd9c", "green"),
    "run-4": ("#c13480", "#ed7db2", "magenta"),
    "run-5": ("#0893a8", "#74d8e3", "cyan"),
    "run-6": ("#6d41a9", "#b087e9", "red"),
    "reward-ink-0": ("#b32926", "#f5837c", "bright_red"),
    "reward-ink-1": ("#9c4a19", "#f0986e", "bright_red"),
    "reward-ink-2": ("#7c5a03", "#e4b65c", "yellow"),
    "reward-ink-3": ("#50671b", "#aac469", "green"),
    "reward-ink-4": ("#1f6f38", "#60c781", "green"),
    "advantage-ink-neg": ("#793e99", "#ce9eec", "magenta"),
    "advantage-ink-pos": ("#006c6d", "#66cbc7", "cyan"),
}
"""By the name that the page has for it: in light, in dark, and of sixteen."""

FAINTEST = 0.12
"""What stands out a little can be seen."""
LIGHT, DARK, SIXTEEN = 0, 1, 2


class Palette(NamedTuple):
    """One of the three sets of colours."""

    name: str
    column: int

    def colour(self, name: str) -> str:
        """Return a colour by its name, or by a scale of tints and a place on it, from 0 to 1 or from -1 to 1."""
        scale, _, place = name.partition("@")
        return self._tint(scale, float(place)) if place else COLOURS[name][self.column]

    def _tint(self, scale: str, place: float) -> str:
        """Return a colour between the page and the full tint; of sixteen colours the nearer of the two."""
        hue = "heat" if scale == "tint" else "div-neg" if place < 0 else "div-pos"
        page, full = self.colour("surface-page"), self.colour(hue)
        share = min(1.0, FAINTEST + (1 - FAINTEST) * abs(place))
        if self.column == SIXTEEN:
            return full if share > 0.5 else page
        return _mixed(page, full, share)

    def style(self, ink: Ink, ground: str) -> Style:
        """Return the style of an ink on a ground."""
        return _style(self, ink, ink.ground or ground)


LIGHT_PALETTE, DARK_PALETTE = Palette("light", LIGHT), Palette("dark", DARK)
SIXTEEN_PALETTE = Palette("sixteen", SIXTEEN)
PALETTES = {one.name: one for one in (DARK_PALETTE, LIGHT_PALETTE, SIXTEEN_PALETTE)}

_ON_GROUNDS = {"blue": "white", "magenta": "white"}
"""Of sixteen colours, the ink on a coloured ground, whatever it means elsewhere: black on all others."""

_FAINT = ("ink-3", "role-system")
"""Of sixteen colours, inks that are the usual one, fainter: some terminals draw bright black on black."""


@lru_cache(4096)
def _style(palette: Palette, ink: Ink, ground: str) -> Style:
    colour = ink.colour
    behind = palette.colour(ground)
    if palette.column == SIXTEEN and behind != "default":
        return Style(color=_ON_GROUNDS.get(behind, "black"), bgcolor=behind, bold=ink.bold)
    return Style(
        color=palette.colour(colour),
        bgcolor=behind,
        bold=ink.bold or None,
        dim=(palette.column == SIXTEEN and colour in _FAINT) or None,
        italic=ink.italic or None,
        underline=ink.underline or None,
    )


def _mixed(first: str, second: str, share: float) -> str:
    pairs = zip(Color.parse(first).get_truecolor(), Color.parse(second).get_truecolor(), strict=True)
    return "#" + "".join(f"{round(a + (b - a) * share):02x}" for a, b in pairs)
