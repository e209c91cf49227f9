"""`f`: find in the sample on the screen; Enter goes to the next match, through the sample, the step and the run."""

from bisect import bisect_left
from collections.abc import Callable
from typing import TYPE_CHECKING

from rolloupe.errors import BadQuery
from rolloupe.model import SampleKey
from rolloupe.tui.run.find import FoundPlaces, FoundSample, Walk, places_in

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
        self._is_looking: Callable[[], bool] = lambda: False
        self._walk: Walk | None = None
        self._news = ""
        """Where the walk led, for the first match there."""
        self._reached: SampleKey | None = None
        """Where the walk is."""

    def enter(self, text: str) -> None:
        """Find a text, or the next match of the same one."""
        if not text:
            self.clear()
        elif text != self.text:
            self.begin(text)
            self.look(from_top=False)
            if not self.found.places:
                self._further()
        elif self.current + 1 < len(self.found.places):
            self._go_to(self.current + 1)
        else:
            self._further()

    def begin(self, text: str) -> None:
        """Look for a text from now on, in the next sample that comes."""
        self.text, self._walk, self.current = text, None, -1

    def look(self, *, from_top: bool = True, keeps_place: bool = False) -> None:
        """Mark the matches in the sample on the screen, as after another sample came, or the same one, read again."""
        if not self.text:
            return
        try:
            self.found = places_in(self._screen.reader.blocks, self.text)
        except BadQuery as error:
            self.text, self.found = "", NOWHERE
            self._screen.tell(str(error), is_alarm=True)
            return
        news, self._news = self._news, ""
        if keeps_place and self.current >= 0:
            self._go_to(max(0, min(self.current, len(self.found.places) - 1)), news, keeps_place=True)
        else:
            self._go_to(0 if from_top else self._first_in_view(), news)

    def _first_in_view(self) -> int:
        reader, places = self._screen.reader, self.found.places
        first = bisect_left(places, reader.scroll_offset.y, key=reader.layout_.row_of)
        return first if first < len(places) else 0

    def _go_to(self, number: int, news: str = "", *, keeps_place: bool = False) -> None:
        self.current = number
        self._screen.reader.mark(self.found.places, number, keeps_place=keeps_place)
        if self.found.places:
            match = f"match {number + 1:,} of {self.found.total} in this sample"
            self._screen.tell(f"{news}{match} · Enter: next · Esc: clear")

    def _further(self) -> None:
        """Look for the next sample with a match, if nobody looks yet; who moved since the last one begins there."""
        screen, walk = self._screen, self._walk
        if self._is_looking():
            return
        here = screen.shown.sample.key if screen.shown.sample else None
        self._walk = None
        if walk is None or self._reached != here:
            walk = Walk(screen.session, screen.place, screen.number, self.text, screen.blocks_of)
        self._look(walk)

    def _look(self, walk: Walk) -> None:
        screen, wanted = self._screen, self._screen.questions.wanted("find")
        screen.tell(f"matches here: {self.found.total}; looking further … · Esc: stop")

        def is_stopped() -> bool:
            return not wanted()

        def tell(progress: str) -> None:
            screen.app.call_later(lambda: None if is_stopped() else screen.tell(f"{progress} · Esc: stop"))

        walk.is_on = True
        self._is_looking = lambda: walk.is_on and not is_stopped()
        screen.ask("find", lambda: walk.on(is_stopped, tell), lambda found: self._arrive(walk, found), is_slow=True)

    def _arrive(self, walk: Walk, found: FoundSample | None) -> None:
        screen = self._screen
        if found is None:
            screen.tell(f"No further sample of {screen.place.split} shows {self.text!r}.")
            return
        self._walk, self._reached = walk, found.key
        self._news = f"found in step {found.place.step} · " if found.place.step != screen.place.step else ""
        screen.go(found.place, 0, found.key)

    def clear(self) -> None:
        """Forget what was found."""
        self._screen.questions.forget("find")
        self.text, self.found, self.current, self._walk, self._news = "", NOWHERE, -1, None, ""
        self._screen.reader.mark([])
