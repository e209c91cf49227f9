"""Where a person is in a run, and the run itself, which is read again when it grows, is indexed, or is reopened."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from msgspec.structs import replace

from rolloupe.index import Library, OpenRun
from rolloupe.model import SampleKey
from rolloupe.tui.draw.numbers import Scale, scales_of
from rolloupe.tui.run.session import ListPlace, RunState, SampleAt, Session, near
from rolloupe.tui.screens.metrics import SplitStep
from rolloupe.tui.views.samples import curve_steps

if TYPE_CHECKING:
    from rolloupe.tui.screens.rollouts import Rollouts


class Navigator:
    """The sample on the screen, and the one that the person wants."""

    def __init__(self, screen: "Rollouts") -> None:
        self._screen = screen
        self._questions = screen.questions
        self.shown = SampleAt(ListPlace(), 0, 0, None, None, note="Opening …")
        self.place, self.number = self.shown.place, 0
        """Where the person wants to be: ahead of the screen while an answer is awaited."""

    @property
    def session(self) -> Session:
        return self._screen.live.session

    @property
    def key(self) -> SampleKey | None:
        return self.shown.sample.key if self.shown.sample else None

    @property
    def is_moving(self) -> bool:
        """True while the sample that the person wants is not on the screen yet."""
        return (self.place, self.number) != (self.shown.place, self.shown.number)

    # From one to the next

    def to_sample(self, by: int) -> None:
        number = self.number + by
        if self.place == self.shown.place and not 0 <= number < self.shown.total:
            key, end = ("N", "last") if by > 0 else ("P", "first")
            self._screen.tell(f"This is the {end} sample of the list; {key} goes to another step.")
            return
        self.go(self.place, max(0, number))

    def to_step(self, by: int) -> None:
        place, state = self.place, self._screen.live.split_state
        if state is None:  # just after a different split was chosen
            self._go_to_split(place.split, lambda steps: near(steps, place.step, by))
        else:
            self._to_step_of([summary.step for summary in state.steps], by, "step")

    def along_curve(self, by: int) -> None:
        """Go to the previous or the next step of the curve in the first line, which shows a few of thousands."""
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

    def along_prompt(self, by: int) -> None:
        """Go to the answer to the same prompt at the previous or the next step where it appears, at the same place."""
        key, life = self.key, self.shown.life
        here = next((n for n, place in enumerate(life) if key and place.key.step == key.step), None)
        if key is None or here is None:
            self._screen.tell("This prompt appears at no other step.")
        elif not 0 <= here + by < len(life):
            self._screen.tell(f"This is the {'last' if by > 0 else 'first'} step of the prompt.")
        else:
            own, other = life[here].keys, life[here + by].keys
            nth = own.index(key) if key in own else 0
            self.go_to(other[min(nth, len(other) - 1)])

    # To a place

    def change(self, **fields: object) -> None:
        """Go to the first sample of a list with a different step, order or filter."""
        self.go(replace(self.place, **fields), 0)

    def go(self, place: ListPlace, number: int, key: SampleKey | None = None) -> None:
        """Go to a sample, and forget what the person waited for: a find, another split or run."""
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
        """Read the list and the sample again; a person on the way to another sample still gets there."""
        self._screen.side.clear()
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
        """Go to a different split: to the same step if the split has it, else to its newest step."""
        step = self.place.step
        self._go_to_split(split, lambda steps: step if step in steps else steps[-1])

    def go_to_point(self, point: SplitStep | None) -> None:
        """Go to the samples of a point of a curve, or of the nearest step with samples."""
        if point is not None:
            split = point.split or self.place.split
            self._go_to_split(split, lambda steps: min(steps, key=lambda step: abs(step - point.step)))

    def _go_to_split(self, split: str, step_of: Callable[[list[int]], int]) -> None:
        place, session = self.place, self.session
        self._screen.ask("split", lambda: session.moved(place, split, step_of), lambda target: self.go(target, 0))

    def go_to_run(self, run: OpenRun) -> None:
        """Show a different open run, once it has a sample: it may not be indexed yet."""
        screen, session, wanted = self._screen, Session(run), self._questions.wanted("other run")
        self._questions.forget("find")
        screen.tell(f"Opening {run.id} …")
        screen.ask(
            "other run",
            lambda: session.first(wanted),
            lambda at: screen.begin(screen.live.library, session, at, screen.mask),
            is_slow=True,
        )


REST_S = 0.3
"""The shortest rest between two looks at a run that grows."""
AGE_S = 5.0


class LiveRun:
    """The open run and its newest known state. It moves the person only if the run leaves no other choice."""

    def __init__(self, screen: "Rollouts") -> None:
        self._screen = screen
        self._library: Library | None = None
        self.opened: Session | None = None
        self.state: RunState | None = None
        self.scales: dict[str, Scale] = {}
        self.is_following = False
        self.is_ready = False
        """True once the state of the run is known, or cannot be known."""
        self.is_due = False
        """True while the state of the run is about to be asked for again."""

    @property
    def session(self) -> Session:
        """The run, from `begin` on."""
        assert self.opened is not None
        return self.opened

    @property
    def library(self) -> Library:
        """All open runs, from `begin` on."""
        assert self._library is not None
        return self._library

    @property
    def split_state(self) -> RunState | None:
        """The state of the run, if it is known for the split where the person wants to be."""
        return self.state if self.state is not None and self.state.split == self._screen.nav.place.split else None

    @property
    def newest_step(self) -> int:
        state = self.split_state
        return state.steps[-1].step if state and state.steps else self._screen.nav.place.step

    def begin(self, library: Library, session: Session) -> None:
        if self._library is None:
            library.subscribe(self._listen)
            self._screen.set_interval(AGE_S, self.show_age)
        self._library, self.opened = library, session
        self.state, self.scales, self.is_ready = None, {}, False

    def ask_state(self) -> None:
        split = self._screen.nav.place.split
        self._screen.ask("state", lambda: self.session.state(split), self._take_state)

    def _listen(self, kind: str, run: OpenRun | None) -> None:
        """Receive from a thread of the index that a run has changed, was found, or was reopened."""
        if kind == "run":
            self.hear(run)
        else:
            self._screen.app.call_later(self.change_run)

    def hear(self, run: OpenRun | None) -> None:
        """Read a changed run again: the phase of its index and its end change without its version."""

        def look_again() -> None:
            self.is_due = False
            self.ask_state()

        if self.opened is not None and run is self.opened.run and not self.is_due:
            self.is_due = True
            self._screen.app.call_later(self._screen.set_timer, REST_S, look_again)

    def change_run(self) -> None:
        """Show the run that replaced the present one, unless the person has chosen a different run meanwhile."""
        before = self.session.run
        run = next((run for run in self.library.runs if run.id == before.id), before)
        if run is before:
            return
        session, wanted = Session(run, self.session.split), self._screen.questions.wanted("run")

        def change(_: None) -> None:
            if self.session.run is before:
                self.opened = session
                self._screen.nav.again()
                self.ask_state()
                self.change_run()

        self._screen.ask("run", lambda: session.wait_for_samples(wanted), change, is_slow=True)

    def show_age(self) -> None:
        if self.state is not None and self.state.is_live:
            self.state.changed_s = self.session.run.sources.changed_s()
            self._screen.bar("header").changed()

    def _take_state(self, state: RunState) -> None:
        before, nav = self.split_state, self._screen.nav
        self.state, self.scales = state, scales_of(state.catalogue)
        self.set_ready()
        is_first = before is None or not before.steps
        if nav.shown.sample is None and is_first and state.steps and state.by_step.get(nav.place.step) is None:
            nav.change(step=state.steps[-1].step)  # its split begins
        elif before is not None and before.version != state.version:
            self._after_change(before, state)
        elif before is None and nav.shown.version != state.version:
            nav.again()
        self._screen.brief.look(state)
        side = self._screen.side
        side.show_columns(state.columns[:3])
        side.fields.learn(column.name for column in state.catalogue.columns if column.source in ("metric", "tag"))
        side.show_fields()
        self._screen.show_places()

    def _after_change(self, before: RunState, now: RunState) -> None:
        """Show what is new: the new step if the person follows, else more samples of the same step."""
        nav = self._screen.nav
        old, new = (state.by_step.get(nav.place.step) for state in (before, now))
        is_other_nothing = not now.steps and (not now.splits or len(before.splits) != len(now.splits))
        if not before.splits and now.splits and not self.session.split:
            nav.go(self.session.first_place(), 0)
        elif self.is_following and (self.newest_step > nav.place.step or new is None):
            nav.change(step=self.newest_step)
        elif (old and old.stamp) != (new and new.stamp) or is_other_nothing:
            nav.again()

    def set_ready(self) -> None:
        """Press the keys that were kept until the state of the run is known."""
        if not self.is_ready:
            self.is_ready = True
            self._screen.press_kept()
