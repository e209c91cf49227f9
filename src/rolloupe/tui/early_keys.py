"""Keys that come before what they are for: a run, a sample, or a screen that was asked for."""

from collections.abc import Sequence

from textual.events import Key
from textual.screen import Screen

from rolloupe.tui.draw.numbers import count

ALWAYS = ("ctrl+c", "ctrl+q", "ctrl+z")
AT_ONCE = ("question_mark", "q", "T")
"""Keys that need no run."""
NOTHING_TO_DO = "There is no run yet: ? shows the keys, q quits."


class EarlyKeys:
    """Keeps keys of the main screen in their order until it can do what they ask for."""

    def __init__(self) -> None:
        self._kept: list[Key] = []
        self.is_waiting = False
        """True while there is no run at all, perhaps for hours: then no key is kept."""

    def takes(self, event: Key, *, is_ready: bool, has_screen: bool) -> bool:
        """Keep a key for later, or drop it. Returns False for one that can be acted upon."""
        if event.key in ALWAYS or (is_ready and not self._kept):
            return False
        if not self._kept and event.key in AT_ONCE and has_screen:
            return False
        if event.key == "escape":
            self._kept.clear()
        elif not self.is_waiting:
            self._kept.append(event)
        return True

    def message(self, until: str) -> str:
        """Return what the foot says of them."""
        if self.is_waiting:
            return NOTHING_TO_DO
        return f"{waiting(self._kept, until)} · Esc: forget · Ctrl+C: quit" if self._kept else ""

    def take(self) -> list[Key]:
        """Return the keys that were kept, and keep none."""
        kept, self._kept = self._kept, []
        return kept


def waiting(keys: Sequence[Key], until: str) -> str:
    """Return how many keys wait, and for what."""
    return f"{count(len(keys), 'key')} {'waits' if len(keys) == 1 else 'wait'} until {until}"


def after_escape(event: Key) -> str:
    """Return the letter that came so soon after Esc, as over SSH, that both look like Alt; else nothing."""
    before, _, letter = event.key.rpartition("+")
    if len(letter) != 1 or before not in ("alt", "alt+shift"):
        return ""
    return letter.upper() if before == "alt+shift" else letter


def aim(event: Key, screen: Screen[object] | None) -> None:
    """Note which screen a person saw when pressing a key; None: not the one that has it."""
    vars(event)["aimed_at"] = screen


def is_late(event: Key, screen: Screen[object]) -> bool:
    """Return whether a screen that did nothing with a key has since been covered, or left."""
    return vars(event).get("aimed_at", screen) is not screen
