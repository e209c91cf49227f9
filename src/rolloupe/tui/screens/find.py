"""`f`: find in the sample on the screen; Enter goes to the next match, through the sample, the step and the run."""

from typing import TYPE_CHECKING

from rolloupe.errors import BadQuery
from rolloupe.model import SampleKey
from rolloupe.tui.run.find import FoundPlaces, next_sample, places_in
from rolloupe.tui.run.place import ListPlace

if TYPE_CHECKING:
    from rolloupe.tui.screens.rollouts import Rollouts


NOWHERE = FoundPlaces([], are_all=True)


class Finder:
    """What was found, and which match is the current one."""

    def __init__(self, screen: "Rollouts") -> None:
        self._screen = screen
        self.text = ""
        self.found = NOWHERE
        self.current = -1

    def enter(self, text: str) -> None:
        """Find a text, or the next match of the same one."""
        if not text:
            self.clear()
        elif text != self.text:
            self.text = text
            self.look(from_top=False)
            if not self.found.places:
                self._further()
        elif self.current + 1 < len(self.found.places):
            self._go_to(self.current + 1)
        else:
            self._further()

    def look(self, *, from_top: bool = True) -> None:
        """Mark the matches in the sample on the screen, as after another sample came."""
        if not self.text:
            return
        try:
            self.found = places_in(self._screen.reader.blocks, self.text)
        except BadQuery as error:
            self.text, self.found = "", NOWHERE
            self._screen.tell(str(error), is_alarm=True)
            return
        self._go_to(0 if from_top else self._first_in_view())

    def _first_in_view(self) -> int:
        reader = self._screen.reader
        top = reader.scroll_offset.y
        rows = (n for n, place in enumerate(self.found.places) if reader.layout_.row_of(place) >= top)
        return next(rows, 0)

    def _go_to(self, number: int) -> None:
        self.current = number
        self._screen.reader.mark(self.found.places, number)
        if self.found.places:
            self._screen.tell(f"match {number + 1:,} of {self.found.total} in this sample · Enter: next · Esc: clear")

    def _further(self) -> None:
        """Look for the next sample with a match."""
        screen, text, place, number = self._screen, self.text, self._screen.place, self._screen.number
        blocks_of = screen.blocks_of
        screen.tell(f"matches here: {self.found.total}; looking further …")
        asked = screen.questions.number("find") + 1
        screen.ask(
            "find",
            lambda: next_sample(
                screen.session, place, number, text, blocks_of, lambda: not screen.questions.is_newest("find", asked)
            ),
            self._arrive,
            is_slow=True,
        )

    def _arrive(self, found: tuple[ListPlace, SampleKey] | None) -> None:
        if found is None:
            self._screen.tell(f"No further sample of {self._screen.place.split} has {self.text!r}.")
            return
        self._screen.go(found[0], 0, found[1])

    def clear(self) -> None:
        """Forget what was found."""
        self._screen.questions.forget("find")
        self.text, self.found, self.current = "", NOWHERE, -1
        self._screen.reader.mark([])
