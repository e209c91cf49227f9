"""The main screen: the list at the left, the sample at the right. What its keys do is in `actions.py`."""

from collections.abc import Callable, Iterator
from typing import TypeVar

from msgspec.structs import replace
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical
from textual.events import Resize
from textual.message import Message
from textual.screen import Screen

from rolloupe.index import Library, OpenRun
from rolloupe.model import Sample, SampleKey
from rolloupe.query import GroupPage, SamplePage
from rolloupe.tui.draw.ink import Line
from rolloupe.tui.draw.scales import Scale, scales_of
from rolloupe.tui.keys import KEYS, SIDE_KEYS, actions_of, bindings
from rolloupe.tui.run.bookmarks import Bookmarks
from rolloupe.tui.run.masks import Mask
from rolloupe.tui.run.place import ListPlace
from rolloupe.tui.run.questions import Questions
from rolloupe.tui.run.session import RunState, SampleAt, Session
from rolloupe.tui.screens.actions import Actions
from rolloupe.tui.screens.asker import Asker
from rolloupe.tui.screens.find import Finder
from rolloupe.tui.screens.metrics import SplitStep
from rolloupe.tui.screens.side import Side
from rolloupe.tui.screens.tokens import TokensScreen
from rolloupe.tui.views.blocks import TextBlock, blocks_of, row_block
from rolloupe.tui.views.facts import facts_of
from rolloupe.tui.views.fields import Fields
from rolloupe.tui.views.headers import Marks, foot_line, run_line, sample_lines, size_classes
from rolloupe.tui.views.lists import Picker, sort_words
from rolloupe.tui.widgets.bar import LineBar
from rolloupe.tui.widgets.reader import TextPane

A = TypeVar("A")

REST_S = 0.3
"""The shortest rest between two looks at a run that grows."""
AGE_S = 5.0
ACTIONS = actions_of(KEYS)
OF_SAMPLE = ("tokens", "group", "bookmark", "copy")
"""What is done with the sample on the screen."""
LEAST_KEYS = 2
"""So many of the last keys of the table need no run."""


class Rollouts(Actions, Screen[None]):
    """Samples of a run, one at a time."""

    class Ready(Message):
        """The steps, splits and columns of the run are known, and the sample is read: keys have something to do."""

    BINDINGS = bindings()

    def __init__(self, questions: Questions, bookmarks: Bookmarks) -> None:
        super().__init__()
        self.opened: Session | None = None
        self.library: Library | None = None
        self.questions = questions
        self.bookmarks = bookmarks
        self.fields = Fields()
        self.finder = Finder(self)
        self.mask = Mask()
        self.shown = SampleAt(ListPlace(), 0, 0, None, None, note="Opening …")
        self.place, self.number = self.shown.place, 0
        """Where the person wants to be: ahead of what is shown while an answer is awaited."""
        self.state: RunState | None = None
        self.scales: dict[str, Scale] = {}
        self.view = "text"
        self.message, self.is_alarm = "", False
        self.is_following = False
        self.is_ready = False
        """True once the state of the run is known, or cannot be known."""
        self.is_due = False
        """True while the state of the run is about to be asked for again."""
        self.is_bookmarked = False

    @property
    def session(self) -> Session:
        """The run, from `begin` on."""
        assert self.opened is not None
        return self.opened

    @property
    def split_state(self) -> RunState | None:
        """The state of the run, if it is known for the split where the person wants to be."""
        return self.state if self.state is not None and self.state.split == self.place.split else None

    @property
    def is_moving(self) -> bool:
        """True while the sample that the person wants is not on the screen yet."""
        return (self.place, self.number) != (self.shown.place, self.shown.number)

    def lacks_sample_of(self, key: str) -> bool:
        """Return whether a key is for the sample that is still being read."""
        return self.is_moving and not self.asker.is_open and ACTIONS.get(key) in OF_SAMPLE

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool:
        """Refuse what needs a run until there is one."""
        del parameters
        return self.opened is not None or action in ("help", "theme")

    def compose(self) -> ComposeResult:
        """Lay it out."""
        yield LineBar("header", lambda width: [self._run_line(width)])
        with Horizontal(id="middle"):
            yield Side(self.fields, self._want_page)
            with Vertical(id="main"):
                yield LineBar("head", self._sample_lines, "surface-page")
                yield TextPane("reader", self._draw_foot)
        yield Asker(self._draw_foot, self.tell)
        yield LineBar("foot", self._foot)

    # What is drawn

    def on_mount(self) -> None:
        """Lay out what is the same for every run."""
        self._fold()
        self.reader.focus()
        for name in ("scroll_y", "virtual_size"):
            self.watch(self.reader, name, self._draw_foot, init=False)

    def begin(self, library: Library, session: Session, first: SampleAt, mask: Mask) -> None:
        """Show a run from a sample on, then ask for the rest."""
        if self.library is None:
            library.subscribe(lambda kind, run: self._hear(run) if kind == "run" else self._hear_of_runs())
            self.set_interval(AGE_S, self._grow_older)
        is_other = self.opened is not None and self.opened.run.id != session.run.id
        if is_other:
            self.shown = self.shown._replace(sample=None)  # two runs may have samples of the same id
        self.library, self.opened, self.mask = library, session, mask
        self.side.samples.mask = mask
        self.state, self.scales, self.is_ready = None, {}, False
        self.side.samples.clear()
        self.show(first)
        self.ask_state()
        self._change_run()

    def on_screen_suspend(self) -> None:
        """Show the keys again to who comes back from another screen, or the message that came meanwhile."""
        if self.opened is not None and not self.finder.text:
            self.tell("")

    def show_note(self, note: str) -> None:
        """Say why there is no sample yet."""
        self.shown = self.shown._replace(note=note)
        self.bar("head").changed()

    def on_resize(self, _: Resize) -> None:
        """Fold the left pane away in a narrow window."""
        self._fold()

    def _fold(self) -> None:
        for name, is_so in size_classes(*self.app.size).items():
            self.set_class(is_so, name)

    def open_side(self, *, is_open: bool) -> None:
        """In a narrow window, show the left pane instead of the text."""
        self.set_class(is_open, "side-open")
        self._draw_foot()

    def _draw_foot(self) -> None:
        """Draw the foot once the text has its size: it says how far down the window is."""
        self.call_after_refresh(self.bar("foot").changed)

    @property
    def _share(self) -> int | None:
        return None if self.has_class("narrow") and self.has_class("side-open") else self.reader.share

    @property
    def reader(self) -> TextPane:
        """The pane with the text."""
        return self.query_one("#reader", TextPane)

    @property
    def side(self) -> Side:
        """The left pane."""
        return self.query_one(Side)

    @property
    def asker(self) -> Asker:
        """The line to type into."""
        return self.query_one(Asker)

    @property
    def _tokens(self) -> TokensScreen | None:
        """The token view, if it is open, perhaps with its help or a list to choose from over it."""
        return next((one for one in self.app.screen_stack if isinstance(one, TokensScreen) and one.is_mounted), None)

    def bar(self, id: str) -> LineBar:
        """Return one of the lines that do not scroll."""
        return self.query_one(f"#{id}", LineBar)

    def _run_line(self, width: int) -> Line:
        if self.opened is None:
            return []
        return run_line(self.opened.run.info.name, self.place, self.split_state, self.scales, self.marks, width)

    def _foot(self, width: int) -> list[Line]:
        is_side = self.has_class("narrow") and self.has_class("side-open")
        keys = KEYS[-LEAST_KEYS:] if self.opened is None else SIDE_KEYS if is_side else KEYS
        message = self.message or (self.asker.hint if self.asker.is_open else "")
        return [foot_line(message, self.is_alarm, keys, self._share, width)]

    def _sample_lines(self, width: int) -> list[Line]:
        return list(sample_lines(self.shown, self.scales, self.fields, self.marks, width))

    @property
    def marks(self) -> Marks:
        """What is true of the sample and the screen."""
        return Marks(self.is_bookmarked, self.is_following, self.view)

    def show(self, at: SampleAt) -> None:
        """Show a sample."""
        is_same = at.is_same(self.shown)
        is_new_list = at.place != self.shown.place
        self.shown, self.place, self.number = at, at.place, at.number
        self.is_bookmarked = self.is_bookmarked and is_same
        if at.sample is not None and self.fields.learn(self._names(at)):
            self.side.show_fields()
        if is_new_list:
            self.side.samples.clear()
        self.show_text(keeps_place=is_same)
        self._show_row()
        self._show_places()
        self.tell("")
        self.finder.look(keeps_place=is_same)
        self._ask_bookmark()
        if (tokens := self._tokens) is not None:
            tokens.show(at)
        self._press_kept()

    def _press_kept(self) -> None:
        if self.is_ready:
            self.post_message(self.Ready())

    def _show_row(self) -> None:
        """Put the cursor of the list on the sample, or on its group."""
        at, session = self.shown, self.session
        if not self.side.samples.is_grouped or at.sample is None:
            self.side.show_list(at.total, at.number)
            return
        key = at.sample.key

        def take(page: GroupPage) -> None:
            self.side.samples.take(page)
            names = [group.key for group in page.groups]
            name = key.split, key.step, key.group
            self.side.show_list(page.total, page.offset + (names.index(name) if name in names else 0))
            self.side.list.refresh()

        self.ask("group row", lambda: session.groups(at.place, 0, key), take)

    def show_groups(self, is_grouped: bool) -> None:
        """List groups, or samples."""
        self.side.samples.is_grouped = is_grouped
        self.side.samples.clear()
        self._show_row()

    def go_to_row(self, number: int) -> None:
        """Go to a sample of the list, or to the first one of a group."""
        if not self.side.samples.is_grouped:
            self.go(self.place, number)
        elif (key := self.side.samples.first_of(number)) is not None:
            self.go(self.place, 0, key)

    def _ask_bookmark(self) -> None:
        sample, run = self.shown.sample, self.session.run
        if sample is not None:
            key = sample.key
            self.ask("bookmark", lambda: self.bookmarks.has(run, key), lambda is_set: self.show_bookmark(key, is_set))

    def show_bookmark(self, key: SampleKey, is_set: bool) -> None:
        """Show whether a sample is bookmarked, if it is still the one on the screen."""
        is_shown = self.shown.sample is not None and self.shown.sample.key == key
        if is_shown and is_set != self.is_bookmarked:
            self.is_bookmarked = is_set
            self.bar("head").changed()

    def _names(self, at: SampleAt) -> Iterator[str]:
        if at.sample is not None:
            yield from (one.name for one in facts_of(at.sample))
            yield from (f"extra.{name}" for name in at.sample.extra)

    def show_text(self, *, keeps_place: bool = False) -> None:
        """Show the sample as text or as a table."""
        blocks = [] if self.shown.sample is None else self.blocks_of(self.shown.sample)
        self.reader.read(blocks, is_table=self.view == "table", keeps_place=keeps_place)

    def blocks_of(self, sample: Sample) -> list[TextBlock]:
        """Return what the screen shows of a sample."""
        return list(self._table(sample) if self.view == "table" else self._text(sample))

    def _text(self, sample: Sample) -> Iterator[TextBlock]:
        yield from (one for one in blocks_of(sample, self.mask) if self.fields[one.field])

    def _table(self, sample: Sample) -> Iterator[TextBlock]:
        yield row_block("id", str(sample.key))
        for name, value, _ in facts_of(sample):
            if self.fields.in_table(name):
                number = value if isinstance(value, float | int) else None
                yield row_block(name, value, self.scales.get(name, Scale()).ink(number))
        for block in blocks_of(sample, self.mask):
            if self.fields.in_table(block.field):
                yield block._replace(is_row=True)

    def _show_places(self) -> None:
        self.bar("header").changed()
        self.bar("head").changed()
        place = self.place
        pickers = [
            Picker("1", "run", self.session.run.info.name),
            Picker("2", "split", place.split),
            Picker("3", "step", str(place.step)),
            Picker("4", "sort", sort_words(place)),
            Picker("6", "dataset", place.dataset or "all"),
        ]
        pickers += [Picker("F", "filter", place.where)] if place.where else []
        pickers += [Picker("D", "only", "discarded samples")] if place.is_discarded else []
        self.side.show_pickers(pickers)

    def tell(self, message: str, *, is_alarm: bool = False) -> None:
        """Say something at the foot of the screen."""
        self.message, self.is_alarm = message, is_alarm
        if not self.is_mounted:  # a key came first
            return
        self.bar("foot").changed()
        if (tokens := self._tokens) is not None and not is_alarm:  # its title has what failed
            tokens.tell(message)

    # What is asked

    def ask(self, kind: str, work: Callable[[], A], then: Callable[[A], None], *, is_slow: bool = False) -> None:
        """Ask a question."""
        self.questions.ask(kind, work, then, lambda reason: self.failed(kind, reason), is_slow=is_slow)

    def ask_state(self) -> None:
        """Ask for the state of the run: its steps, its splits, its columns."""
        split = self.place.split

        def ask() -> tuple[RunState, list[str]]:
            return self.session.state(split), self.session.columns(split)

        self.ask("state", ask, lambda answer: self._take_state(*answer))

    def _hear(self, run: OpenRun | None) -> None:
        """A thread of the index tells that a run has changed."""
        if self.opened is not None and run is self.opened.run and not self.is_due:
            self.is_due = True
            self.app.call_later(self.set_timer, REST_S, self._look_again)

    def _hear_of_runs(self) -> None:
        """A thread of the index tells that a run is there, or was opened again, as when its first evaluation begins."""
        self.app.call_later(self._change_run)

    def _change_run(self) -> None:
        """Look at the run that took the place of the present one; who moves meanwhile moves in that one."""
        before, runs = self.session.run, self.library.runs if self.library is not None else ()
        run = next((one for one in runs if one.id == before.id), before)
        if run is before:
            return
        session, wanted = Session(run, self.session.split), self.questions.wanted("run")

        def change(_: None) -> None:
            if self.session.run is before:
                self.opened = session
                self._go_again()
                self.ask_state()
                self._change_run()

        self.ask("run", lambda: session.wait_for_samples(wanted), change, is_slow=True)

    def _look_again(self) -> None:
        self.is_due = False
        self.ask_state()  # the phase of the index and the end of the run change without the version

    def _grow_older(self) -> None:
        """Say how long ago the run changed."""
        if self.state is not None and self.state.is_live:
            self.state = self.state.aged(self.session.run.changed_s())
            self.bar("header").changed()

    def _after_change(self, before: RunState, now: RunState) -> None:
        """Show what came: the new step to one who follows, else more samples of the same step."""
        newest = now.steps[-1].step if now.steps else self.place.step
        old, new = (one.step(self.place.step) for one in (before, now))
        if not before.splits and now.splits and not self.session.split:
            self.go(self.session.first_place(), 0)
        elif self.is_following and (newest > self.place.step or new is None):
            self.go(replace(self.place, step=newest), 0)
        elif (old and old.stamp) != (new and new.stamp) or (not now.steps and len(before.splits) != len(now.splits)):
            self._go_again()

    def _go_again(self) -> None:
        """Read the list and the sample again; who is on the way to another one still gets there."""
        self.side.samples.clear()
        is_there = (self.place, self.number) == (self.shown.place, self.shown.number)
        self._open(self.place, self.number, self.shown.sample.key if is_there and self.shown.sample else None)

    def _take_state(self, state: RunState, columns: list[str]) -> None:
        before = self.split_state
        self.state, self.scales = state, scales_of(state.catalogue)
        self._set_ready()
        is_first = before is None or not before.steps
        if self.shown.sample is None and is_first and state.steps and state.step(self.place.step) is None:
            self.go(replace(self.place, step=state.steps[-1].step), 0)  # its split begins
        elif before is not None and before.version != state.version:
            self._after_change(before, state)
        elif before is None and self.shown.version != state.version:
            self._go_again()
        self.side.samples.columns, self.side.samples.scales = columns[:3], self.scales
        self.fields.learn(column.name for column in state.catalogue.columns if column.source in ("metric", "tag"))
        self.side.show_fields()
        self.side.list.refresh()
        self.side.query_one("#list-head", LineBar).changed()
        self._show_places()

    def _want_page(self, number: int) -> None:
        place = self.shown.place
        read = self.session.groups if self.side.samples.is_grouped else self.session.page
        kind = f"page {number}"

        def take(page: SamplePage | GroupPage) -> None:
            if place == self.shown.place and isinstance(page, GroupPage) == self.side.samples.is_grouped:
                self.side.samples.take(page)
                self.side.list.refresh()
            else:
                self.side.samples.lack(number)

        def failed(reason: str) -> None:
            self.side.samples.lack(number)
            self.failed(kind, reason)

        self.questions.ask(kind, lambda: read(place, number), take, failed)

    def _set_ready(self) -> None:
        if not self.is_ready:
            self.is_ready = True
            self.post_message(self.Ready())

    def failed(self, kind: str, reason: str) -> None:
        """Say that a question failed, on the screen that the person looks at."""
        if kind == "sample":
            self._stay()
        elif kind == "state":
            self._set_ready()
        self.tell(reason, is_alarm=True)
        if (tokens := self._tokens) is not None:
            tokens.failed(kind, reason)

    def _stay(self) -> None:
        """Stay where the shown sample is; a wrong filter can be mended."""
        typed = self.place.where if self.place.where != self.shown.place.where else None
        is_new_split = self.place.split != self.shown.place.split
        self.place, self.number = self.shown.place, self.shown.number
        if is_new_split:
            self.ask_state()
        self._press_kept()
        self._show_places()
        self._show_row()
        if typed is not None:
            self.action_filter(typed)

    def go(self, place: ListPlace, number: int, key: SampleKey | None = None) -> None:
        """Go to a sample. Who moves waits for no find any more, nor for another split or run."""
        for kind in ("find", "split", "other run"):
            self.questions.forget(kind)
        self._open(place, number, key)

    def _open(self, place: ListPlace, number: int, key: SampleKey | None) -> None:
        is_new_split = place.split != self.place.split
        self.place, self.number = place, number
        self.questions.forget("group row")
        self.ask("sample", lambda: self.session.open(place, number, key), self.show)
        if is_new_split:
            self.ask_state()

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
        self.ask("split", lambda: session.at_split(place, split), lambda target: self.go(target, 0))

    def go_to_point(self, point: SplitStep | None) -> None:
        """Go to the samples of a point of a curve; of a step without samples to the nearest that has some."""
        if point is None:
            return
        place, session = self.place, self.session
        split = point.split or place.split
        self.ask("split", lambda: session.nearest(place, split, point.step), lambda target: self.go(target, 0))

    def go_to_run(self, run: OpenRun) -> None:
        """Look at another of the open runs, once it has a sample: it may not be indexed yet."""
        session, wanted = Session(run), self.questions.wanted("other run")

        def begin(at: SampleAt) -> None:
            if self.library is not None:
                self.begin(self.library, session, at, self.mask)

        self.questions.forget("find")
        self.tell(f"Opening {run.id} …")
        self.ask("other run", lambda: session.first(wanted), begin, is_slow=True)
