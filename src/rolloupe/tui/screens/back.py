"""What the screens over the main one share: a title, a way back, and the run."""

from typing import TYPE_CHECKING, TypeVar

from textual import events
from textual.screen import Screen

from rolloupe.tui.run.questions import Questions
from rolloupe.tui.run.session import Session
from rolloupe.tui.screens.help import HelpScreen
from rolloupe.tui.views.headers import NARROW
from rolloupe.tui.widgets.bar import LineBar

if TYPE_CHECKING:
    from rolloupe.tui.screens.rollouts import Rollouts

T = TypeVar("T")


class BackScreen(Screen[T | None]):
    """Returns what a person chooses, None if they leave by Esc or q."""

    def __init__(self, rollouts: "Rollouts") -> None:
        super().__init__()
        self.rollouts = rollouts

    @property
    def session(self) -> Session:
        """The run."""
        return self.rollouts.session

    @property
    def questions(self) -> Questions:
        """Whom to ask."""
        return self.rollouts.questions

    def redraw(self, *names: str) -> None:
        """Draw some bars again, if the person has not left."""
        for name in names if self.is_mounted else ():
            self.query_one(f"#{name}", LineBar).changed()

    def on_resize(self, _: events.Resize) -> None:
        """Say whether the window is narrow."""
        self.set_class(self.app.size.width < NARROW, "narrow")

    def on_key(self, event: events.Key) -> None:
        """Do what a key of this screen means, or leave."""
        if self.pressed(event.key):
            event.stop()
        elif event.key in ("escape", "q"):
            event.stop()
            self.dismiss(None)
        elif event.key == "question_mark":
            event.stop()
            self.app.push_screen(HelpScreen())

    def pressed(self, key: str) -> bool:
        """Do what a key means; returns whether it means anything here."""
        del key
        return False
