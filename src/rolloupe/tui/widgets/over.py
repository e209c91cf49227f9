"""What the screens over another one share: each is left once, and only while it is the one on top."""

from typing import TypeVar

from textual import events
from textual.await_complete import AwaitComplete
from textual.screen import Screen

from rolloupe.tui.early_keys import aim

T = TypeVar("T")


class OverScreen(Screen[T]):
    """A screen over another one."""

    def dismiss(self, result: T | None = None) -> AwaitComplete:
        """Leave. A key or an answer that comes later, or for a screen that is covered, has no effect.

        Textual takes away whichever screen is on top: the next one, or the app with the last.
        """
        return super().dismiss(result) if self.is_active else AwaitComplete()

    def misses(self, key: events.Key) -> bool:
        """Return whether a key is for another screen, since this one is covered or left. The app hands it on."""
        if not self.is_active:
            aim(key, None)
        return not self.is_active
