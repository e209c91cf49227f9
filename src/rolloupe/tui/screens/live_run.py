"""The run behind the main screen: its state is read again as it is indexed, grows, and is opened again."""

from typing import TYPE_CHECKING

from rolloupe.index import Library, OpenRun
from rolloupe.tui.draw.numbers import Scale, scales_of
from rolloupe.tui.run.session import RunState, Session

if TYPE_CHECKING:
    from rolloupe.tui.screens.rollouts import Rollouts

REST_S = 0.3
"""The shortest rest between two looks at a run that grows."""
AGE_S = 5.0


class LiveRun:
    """The open run and its newest known state. It moves the person where the run leaves no other choice."""

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
        """The newest step of the split that is known."""
        state = self.split_state
        return state.steps[-1].step if state and state.steps else self._screen.nav.place.step

    def begin(self, library: Library, session: Session) -> None:
        """Look at a run from now on."""
        if self._library is None:
            library.subscribe(lambda kind, run: self.hear(run) if kind == "run" else self._hear_of_runs())
            self._screen.set_interval(AGE_S, self._grow_older)
        self._library, self.opened = library, session
        self.state, self.scales, self.is_ready = None, {}, False

    def ask_state(self) -> None:
        """Ask for the state of the run: its steps, its splits, its columns."""
        split = self._screen.nav.place.split

        def ask() -> tuple[RunState, list[str]]:
            return self.session.state(split), self.session.columns(split)

        self._screen.ask("state", ask, lambda answer: self._take_state(*answer))

    def hear(self, run: OpenRun | None) -> None:
        """A thread of the index tells that a run has changed."""
        if self.opened is not None and run is self.opened.run and not self.is_due:
            self.is_due = True
            self._screen.app.call_later(self._screen.set_timer, REST_S, self._look_again)

    def _hear_of_runs(self) -> None:
        """A thread of the index tells that a run is there, or was opened again, as when its first evaluation begins."""
        self._screen.app.call_later(self.change_run)

    def change_run(self) -> None:
        """Look at the run that took the place of the present one; who moves meanwhile moves in that one."""
        before = self.session.run
        run = next((one for one in self.library.runs if one.id == before.id), before)
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

    def _look_again(self) -> None:
        self.is_due = False
        self.ask_state()  # the phase of the index and the end of the run change without the version

    def _grow_older(self) -> None:
        """Say how long ago the run changed."""
        if self.state is not None and self.state.is_live:
            self.state = self.state.aged(self.session.run.changed_s())
            self._screen.bar("header").changed()

    def _take_state(self, state: RunState, columns: list[str]) -> None:
        before, nav = self.split_state, self._screen.nav
        self.state, self.scales = state, scales_of(state.catalogue)
        self.set_ready()
        is_first = before is None or not before.steps
        if nav.shown.sample is None and is_first and state.steps and state.step(nav.place.step) is None:
            nav.change(step=state.steps[-1].step)  # its split begins
        elif before is not None and before.version != state.version:
            self._after_change(before, state)
        elif before is None and nav.shown.version != state.version:
            nav.again()
        side = self._screen.side
        side.show_columns(columns[:3], self.scales)
        side.fields.learn(column.name for column in state.catalogue.columns if column.source in ("metric", "tag"))
        side.show_fields()
        self._screen.show_places()

    def _after_change(self, before: RunState, now: RunState) -> None:
        """Show what came: the new step to one who follows, else more samples of the same step."""
        nav = self._screen.nav
        old, new = (one.step(nav.place.step) for one in (before, now))
        if not before.splits and now.splits and not self.session.split:
            nav.go(self.session.first_place(), 0)
        elif self.is_following and (self.newest_step > nav.place.step or new is None):
            nav.change(step=self.newest_step)
        elif (old and old.stamp) != (new and new.stamp) or (not now.steps and len(before.splits) != len(now.splits)):
            nav.again()

    def set_ready(self) -> None:
        """Let the keys be pressed that were kept until the state of the run is known."""
        if not self.is_ready:
            self.is_ready = True
            self._screen.press_kept()
