"""Where a person is in a run, and the ways to other samples, steps, splits and runs."""

from typing import TYPE_CHECKING

from msgspec.structs import replace

from rolloupe.index import OpenRun
from rolloupe.model import SampleKey
from rolloupe.tui.run.session import ListPlace, SampleAt, Session, near
from rolloupe.tui.screens.metrics import SplitStep
from rolloupe.tui.views.headers import curve_steps

if TYPE_CHECKING:
    from rolloupe.tui.screens.rollouts import Rollouts


class Navigator:
    """The sample on the screen, and the one that the person wants."""

    def __init__(self, screen: "Rollouts") -> None:
        self._screen = screen
        self._questions = screen.questions
        self.shown = SampleAt(ListPlace(), 0, 0, None, None, note="Opening …")
        self.place, self.number = self.shown.place, 0
        """Where the person wants to be: ahead of what is shown while an answer is awaited."""

    @property
    def session(self) -> Session:
        """The run."""
        return self._screen.live.session

    @property
    def key(self) -> SampleKey | None:
        """The id of the sample on the screen, if there is one."""
        return self.shown.sample.key if self.shown.sample else None

    @property
    def is_moving(self) -> bool:
        """True while the sample that the person wants is not on the screen yet."""
        return (self.place, self.number) != (self.shown.place, self.shown.number)

    def arrive(self, at: SampleAt) -> None:
        """Note that a sample is on the screen."""
        self.shown, self.place, self.number = at, at.place, at.number

    # From one to the next

    def to_sample(self, by: int) -> None:
        """Go to a sample before or after in the list."""
        number = self.number + by
        if self.place == self.shown.place and not 0 <= number < self.shown.total:
            key, end = ("N", "last") if by > 0 else ("P", "first")
            self._screen.tell(f"This is the {end} sample of the list; {key} goes to another step.")
            return
        self.go(self.place, max(0, number))

    def to_step(self, by: int) -> None:
        """Go to a step before or after."""
        place, session, state = self.place, self.session, self._screen.live.split_state
        if state is None:  # a moment after another split was chosen
            self._screen.ask("split", lambda: session.beside(place, by), lambda target: self.go(target, 0))
        else:
            self._to_step_of([one.step for one in state.steps], by, "step")

    def along_curve(self, by: int) -> None:
        """Go to a step before or after in the curve of the first line: of thousands it shows a few."""
        state = self._screen.live.split_state
        if state is None:
            self.to_step(by)
        else:
            self._to_step_of(curve_steps(state, self._screen.bar("header").lines), by, "step of the curve")

    def _to_step_of(self, steps: list[int], by: int, noun: str) -> None:
        step = near(steps, self.place.step, by)
        if step == self.place.step:
            self._screen.tell(f"This is the {'last' if by > 0 else 'first'} {noun}.")
        else:
            self.change(step=step)

    # To a place

    def change(self, **fields: object) -> None:
        """Go to the first sample of the list with another step, order or filter."""
        self.go(replace(self.place, **fields), 0)

    def go(self, place: ListPlace, number: int, key: SampleKey | None = None) -> None:
        """Go to a sample. Who moves waits for no find any more, nor for another split or run."""
        for kind in ("find", "split", "other run"):
            self._questions.forget(kind)
        self._open(place, number, key)

    def _open(self, place: ListPlace, number: int, key: SampleKey | None) -> None:
        is_new_split = place.split != self.place.split
        self.place, self.number = place, number
        self._questions.forget("group row")
        self._screen.ask("sample", lambda: self.session.open(place, number, key), self._screen.show)
        if is_new_split:
            self._screen.live.ask_state()

    def again(self) -> None:
        """Read the list and the sample again; who is on the way to another one still gets there."""
        self._screen.side.samples.clear()
        self._open(self.place, self.number, None if self.is_moving else self.key)

    def stay(self) -> None:
        """Stay at the shown sample, since the wanted one cannot be read."""
        is_new_split = self.place.split != self.shown.place.split
        self.place, self.number = self.shown.place, self.shown.number
        if is_new_split:
            self._screen.live.ask_state()

    def go_to(self, key: SampleKey | None) -> None:
        """Go to a sample wherever it is: in its split and step, in the present order, if the filter lets it pass."""
        if key is None:
            return
        is_here = (key.split, key.step) == (self.place.split, self.place.step)
        place = self.place if is_here else replace(self.place, split=key.split, step=key.step)
        has_it = is_here and not place.where and not place.dataset and not place.is_discarded
        self.go(place if has_it else replace(place, where="", dataset="", is_discarded=False), 0, key)

    def go_to_split(self, split: str) -> None:
        """Go to another split, at the same step if it has it."""
        place, session = self.place, self.session
        self._screen.ask("split", lambda: session.at_split(place, split), lambda target: self.go(target, 0))

    def go_to_point(self, point: SplitStep | None) -> None:
        """Go to the samples of a point of a curve; of a step without samples to the nearest that has some."""
        if point is None:
            return
        place, session = self.place, self.session
        split = point.split or place.split
        self._screen.ask("split", lambda: session.nearest(place, split, point.step), lambda target: self.go(target, 0))

    def go_to_run(self, run: OpenRun) -> None:
        """Look at another of the open runs, once it has a sample: it may not be indexed yet."""
        screen, session, wanted = self._screen, Session(run), self._questions.wanted("other run")
        self._questions.forget("find")
        screen.tell(f"Opening {run.id} …")
        screen.ask(
            "other run",
            lambda: session.first(wanted),
            lambda at: screen.begin(screen.live.library, session, at, screen.mask),
            is_slow=True,
        )
