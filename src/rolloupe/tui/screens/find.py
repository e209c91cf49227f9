"""`f`: find in the sample on the screen; Enter goes to the next match, through the sample, the step and the run.

`/`: search the run; the samples that match appear as they are found.
"""

import re
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

from msgspec.structs import replace
from textual.widget import Widget

from rolloupe import query
from rolloupe.errors import BadQuery
from rolloupe.model import Sample, SampleKey
from rolloupe.query import SampleQuery
from rolloupe.query.search import Found, Hit, Pattern, Search, SearchOptions, SearchProgress, TextQuery
from rolloupe.tui.draw.ink import ACCENT, DIM, MATCH, PLAIN, QUIET, Line, cut, joined, safe
from rolloupe.tui.draw.numbers import listed, score
from rolloupe.tui.keys import SEARCH_KEYS
from rolloupe.tui.run.session import PAGE, ListPlace, Session
from rolloupe.tui.screens.over import BackScreen
from rolloupe.tui.views.samples import TextBlock
from rolloupe.tui.widgets.lines import RowList
from rolloupe.tui.widgets.text_pane import TextPlace

if TYPE_CHECKING:
    from rolloupe.tui.screens.rollouts import Rollouts

MOST = 5000
"""Places to mark in one sample."""

Stopped = Callable[[], bool]
Tell = Callable[[str], None]
"""Called with the progress of a walk."""

BlocksOf = Callable[[Sample], Sequence[TextBlock]]
"""Returns the blocks of a sample that the screen shows."""


class FoundPlaces(NamedTuple):
    """Where a text occurs in a sample, at most `MOST` times."""

    places: list[TextPlace]
    are_all: bool

    @property
    def total(self) -> str:
        return f"{'' if self.are_all else 'more than '}{len(self.places):,}"


def places_in(blocks: Sequence[TextBlock], text: str) -> FoundPlaces:
    """Return where a text occurs in what is shown. Raises `BadQuery`."""
    pattern = Pattern(TextQuery(text=text))
    every = (TextPlace(n, *place) for n, block in enumerate(blocks) for place in pattern.places(block.text))
    return FoundPlaces(list(islice(every, MOST)), next(every, None) is None)


class FoundSample(NamedTuple):
    """A sample that shows a text, and the list that it is in."""

    place: ListPlace
    key: SampleKey


class Walk:
    """Walks from a sample to the others of its split that show a text.

    First come the samples further down the list. Then come samples at later and at earlier steps with the text in their
    prompts or responses, which the index knows. Then come samples at other steps that show it elsewhere: for these,
    every sample is read. Last come the samples above in the list.
    """

    def __init__(self, session: Session, place: ListPlace, number: int, text: str, blocks_of: BlocksOf) -> None:
        self._session, self._place, self._number = session, place, number
        self._text, self._pattern, self._blocks_of = text, Pattern(TextQuery(text=text)), blocks_of
        self._read: query.Reader
        self._stopped: Stopped = lambda: False
        self._tell: Tell = lambda _: None
        self._samples = self._go()
        self.is_on = True
        """True until the next sample is found."""

    def on(self, stopped: Stopped, tell: Tell) -> FoundSample | None:
        """Go to the next sample; None if no more samples match, or if the walk is stopped. Raises `BadQuery`."""
        self._stopped, self._tell = stopped, tell
        try:
            return next(self._samples, None)
        finally:
            self.is_on = False

    def _go(self) -> Iterator[FoundSample]:
        self._read = query.Reader(self._session.run)
        place, total = self._place, self._session.page(self._place, 0).total
        yield from self._in_list(place, range(self._number + 1, total))
        seen: set[SampleKey] = set()
        for sample in self._in_index():
            seen.add(sample.key)
            yield sample
        steps = self._session.steps(place.split)
        for step in sorted((step for step in steps if step != place.step), key=lambda step: step < place.step):
            list_of_step = replace(place, step=step)
            numbers = range(self._session.page(list_of_step, 0).total)
            yield from (sample for sample in self._in_list(list_of_step, numbers) if sample.key not in seen)
        yield from self._in_list(place, range(min(self._number, total)))

    def _in_list(self, place: ListPlace, numbers: range) -> Iterator[FoundSample]:
        for number in numbers:
            if self._stopped():
                return
            if number % PAGE == 0:
                self._tell(f"looking further: every field of step {place.step}, sample {number + 1:,} …")
            page = self._session.page(place, number)
            nth = number - page.offset
            if nth < len(page.samples) and self._has_it(page.samples[nth].key):
                yield FoundSample(place, page.samples[nth].key)

    def _in_index(self) -> Iterator[FoundSample]:
        """Yield samples at other steps whose prompt or response has the text, and shows it; the oldest step first."""
        asked, step = self._place.query(), self._place.step
        text, options = TextQuery(text=self._text), SearchOptions(oldest_first=True, transcripts=0)
        is_stopped: Stopped = lambda: self._stopped()  # noqa: E731, PLW0108 (it changes with each step of the walk)
        for window in ({"step_min": step + 1, "step_max": None}, {"step_min": None, "step_max": step - 1}):
            for news in Search(self._session.run, text, replace(asked, **window), options, is_stopped):
                samples, known = news.progress.samples, news.progress.known_samples
                self._tell(f"looking further: searched {samples:,} of {known:,} samples …")
                for hit in news.hits:
                    if self._has_it(hit.sample.key):
                        yield FoundSample(replace(self._place, step=hit.sample.key.step), hit.sample.key)

    def _has_it(self, key: SampleKey) -> bool:
        return any(next(self._pattern.places(block.text), None) for block in self._blocks_of(self._read(key)))


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
        """Words that name the step to which the walk led, until the first match there is passed."""
        self._reached: SampleKey | None = None
        """The sample that the walk has reached."""

    def enter(self, text: str) -> None:
        if not text:
            self.clear()
        elif text != self.text:
            self.begin(text)
            self.look(from_top=False)
            if not self.found.places:
                self._look_further()
        elif self.current + 1 < len(self.found.places):
            self._go_to(self.current + 1)
        else:
            self._look_further()

    def begin(self, text: str) -> None:
        """Look for a text from now on, beginning with the next sample on the screen."""
        self.text, self._walk, self.current = text, None, -1

    def look(self, *, from_top: bool = True, keeps_place: bool = False) -> None:
        """Mark the matches in the sample on the screen, for example after it changed, or was read again."""
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
            reader, places = self._screen.reader, self.found.places
            first = 0 if from_top else bisect_left(places, reader.scroll_offset.y, key=reader.layout_.row_of)
            self._go_to(first if first < len(places) else 0, news)

    def _go_to(self, number: int, news: str = "", *, keeps_place: bool = False) -> None:
        self.current = number
        self._screen.reader.mark(self.found.places, number, keeps_place=keeps_place)
        if self.found.places:
            match = f"match {number + 1:,} of {self.found.total} in this sample"
            self._screen.tell(f"{news}{match} · Enter: next · Esc: clear")

    def _look_further(self) -> None:
        """Look for the next sample with a match, unless a walk is under way. A walk begins at the sample to which the
        person moved.
        """
        screen, walk = self._screen, self._walk
        if self._is_looking():
            return
        self._walk = None
        if walk is None or self._reached != screen.nav.key:
            walk = Walk(screen.live.session, screen.nav.place, screen.nav.number, self.text, screen.blocks_of)
        wanted = screen.questions.wanted("find")
        screen.tell(f"matches here: {self.found.total}; looking further … · Esc: stop")

        def is_stopped() -> bool:
            return not wanted()

        def tell(progress: str) -> None:
            screen.app.call_later(lambda: None if is_stopped() else screen.tell(f"{progress} · Esc: stop"))

        walk.is_on = True
        self._is_looking = lambda: walk.is_on and not is_stopped()
        screen.ask("find", lambda: walk.on(is_stopped, tell), lambda sample: self._arrive(walk, sample), is_slow=True)

    def _arrive(self, walk: Walk, sample: FoundSample | None) -> None:
        screen = self._screen
        if sample is None:
            screen.tell(f"No further sample of {screen.nav.place.split} shows {self.text!r}.")
            return
        self._walk, self._reached = walk, sample.key
        self._news = f"found in step {sample.place.step} · " if sample.place.step != screen.nav.place.step else ""
        screen.nav.go(sample.place, 0, sample.key)

    def clear(self) -> None:
        self._screen.questions.forget("find")
        self.text, self.found, self.current, self._walk, self._news = "", NOWHERE, -1, None, ""
        self._screen.reader.mark([])


BEFORE = 60
"""Letters before a match."""
LISTED = 300
"""Hits that are listed; all are counted."""


class SearchScreen(BackScreen[Hit]):
    """The hits of a search. Returns the one that a person chooses."""

    KEYS = SEARCH_KEYS

    def __init__(self, rollouts: "Rollouts", text: str) -> None:
        super().__init__(rollouts)
        self._text = text
        self._hits: list[Hit] = []
        self._progress: SearchProgress | None = None

    def body(self) -> Iterator[Widget]:
        yield RowList("hits", self.choose, height=2)

    def on_mount(self) -> None:
        text, session, wanted = TextQuery(text=self._text), self.session, self.questions.wanted("search")

        def search() -> None:
            options = SearchOptions(limit=LISTED, transcripts=0)
            for news in Search(session.run, text, SampleQuery(), options, stopped=lambda: not wanted()):
                self.app.call_later(self._take, news)

        self.ask("search", search, lambda _: None, is_slow=True)

    def _take(self, news: Found) -> None:
        if self not in self.app.screen_stack:  # the person left meanwhile
            return
        self._hits += news.hits
        self._progress = news.progress
        self.redraw("title")
        self.rows.fill(len(self._hits), self._row)
        self.press_kept()

    def title_lines(self, width: int) -> list[Line]:
        title: Line = [(" Search  ", DIM), safe(self._text, ACCENT)]
        progress = self._progress
        if progress is None:
            return [cut(title, width)]
        total = listed(LISTED, progress.found, "sample")
        how_far = "" if progress.is_over else f"  searched {progress.samples:,} of {progress.known_samples:,}"
        notes = [safe(note, DIM) for note in progress.notes[:1]]
        return [cut(joined([title, [(total + how_far, QUIET)], notes]), width)]

    def _row(self, number: int, width: int) -> list[Line]:
        hit, mask = self._hits[number], self.rollouts.mask
        first: Line = [(" ", PLAIN), safe(hit.sample.id, QUIET), (f"  reward {score(hit.sample.reward)}", DIM)]
        second: Line = [("   ", PLAIN)]
        for nth, text in enumerate(hit.snippets[0].pieces if hit.snippets else ()):
            shown = re.sub(r"\s+", " ", mask(text))
            second.append(safe(shown if nth else shown[-BEFORE:], MATCH if nth % 2 else PLAIN))
        return [cut(first, width), cut(second, width)]

    @property
    def is_reading(self) -> bool:
        return not self._hits and not (self._progress and self._progress.is_over)

    def choose(self, number: int) -> None:
        self.dismiss(self._hits[number])
