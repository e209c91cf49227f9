"""The main screen: the list at the left, the sample at the right, and what its keys do."""

from collections.abc import Callable, Sequence
from typing import TypeVar

from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Horizontal, Vertical
from textual.events import Resize
from textual.message import Message
from textual.screen import Screen
from textual.widget import Widget

from rolloupe.index import Library
from rolloupe.model import Sample, SampleKey
from rolloupe.query.search import Hit
from rolloupe.query.search.pattern import Mask
from rolloupe.tui.draw.ink import Line
from rolloupe.tui.draw.numbers import Scale
from rolloupe.tui.keys import EVERY_KEY, KEYS, SIDE_KEYS, actions_of
from rolloupe.tui.run.questions import Questions
from rolloupe.tui.run.session import Bookmarks, SampleAt, Session
from rolloupe.tui.screens import brief, evals, find, findings, group, metrics, navigator, over, pickers, sidebar
from rolloupe.tui.screens.tokens import TokensScreen
from rolloupe.tui.views import samples
from rolloupe.tui.widgets.lines import LineBar, PaneKeys, RowList
from rolloupe.tui.widgets.prompt_line import PromptLine
from rolloupe.tui.widgets.text_pane import TextPane

A = TypeVar("A")

ACTIONS = actions_of(KEYS)
OF_SAMPLE = ("tokens", "group", "bookmark", "copy", "prompt_step(1)", "prompt_step(-1)")
"""Actions on the sample on the screen."""
LEAST_KEYS = 2
"""How many keys at the end of the table need no run."""

FIND_HINT = "Enter: find, then the next match · Esc: close"
SEARCH_HINT = "text in prompts and responses of the run · Enter: search · Esc: close"
FILTER_HINT = "e.g. reward < 0.1 and turns > 3 · Tab: complete · Enter: go · Esc: close"
"""The hint in the foot, beside the line to type into."""


class Rollouts(PaneKeys, Screen[None]):
    """Samples of a run, one at a time."""

    class Ready(Message):
        """Sent once the steps, splits and columns of the run are known and the sample is read: keys can act now."""

    BINDINGS = [Binding(",".join(key.keys), key.action, key.meaning, show=False) for key in KEYS]  # noqa: RUF012

    def __init__(self, questions: Questions, bookmarks: Bookmarks) -> None:
        super().__init__()
        self.questions = questions
        self.bookmarks = bookmarks
        self.nav = navigator.Navigator(self)
        self.live = navigator.LiveRun(self)
        self.finder = find.Finder(self)
        self.fields = samples.Fields()
        self.mask = Mask()
        self.view = "text"
        self.message, self.is_alarm = "", False
        self.is_bookmarked = False

    def lacks_sample_of(self, key: str) -> bool:
        """Return whether a key is for the sample that is still being read."""
        return self.nav.is_moving and not self.prompt.is_open and ACTIONS.get(key) in OF_SAMPLE

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool:
        """Refuse actions that need a run until a run is open."""
        del parameters
        return self.live.opened is not None or action in ("help", "theme")

    def ask(self, kind: str, work: Callable[[], A], then: Callable[[A], None], *, is_slow: bool = False) -> None:
        self.questions.ask(kind, work, then, lambda reason: self.failed(kind, reason), is_slow=is_slow)

    # The parts of the screen

    def compose(self) -> ComposeResult:
        yield LineBar("header", lambda width: [self._run_line(width)], clicked=self._click_header)
        yield brief.BriefBand(self)
        with Horizontal(id="middle"):
            yield sidebar.Sidebar(self)
            with Vertical(id="main"):
                yield LineBar("head", self._sample_lines, "surface-page", self._click_head)
                yield TextPane("reader", self._draw_foot)
        yield PromptLine(self._draw_foot, self.tell)
        yield LineBar("foot", self._foot)

    @property
    def reader(self) -> TextPane:
        return self.query_one("#reader", TextPane)

    @property
    def pane(self) -> TextPane:
        return self.reader

    @property
    def side(self) -> sidebar.Sidebar:
        return self.query_one(sidebar.Sidebar)

    @property
    def brief(self) -> brief.BriefBand:
        return self.query_one(brief.BriefBand)

    @property
    def prompt(self) -> PromptLine:
        return self.query_one(PromptLine)

    def bar(self, id: str) -> LineBar:
        return self.query_one(f"#{id}", LineBar)

    @property
    def _tokens(self) -> TokensScreen | None:
        """The token view, if it is open, perhaps with its help or a list to choose from over it."""
        screens = (screen for screen in self.app.screen_stack if isinstance(screen, TokensScreen))
        return next((screen for screen in screens if screen.is_mounted), None)

    def on_mount(self) -> None:
        self.on_resize()
        self.reader.focus()
        for name in ("scroll_y", "virtual_size"):
            self.watch(self.reader, name, self._draw_foot, init=False)

    def on_resize(self, _: Resize | None = None) -> None:
        for name, is_so in samples.size_classes(*self.app.size).items():
            self.set_class(is_so, name)

    def open_side(self, *, is_open: bool) -> None:
        """In a narrow window, show the left pane instead of the text."""
        self.set_class(is_open, "side-open")
        self._draw_foot()

    @property
    def _is_side_alone(self) -> bool:
        return self.has_class("narrow") and self.has_class("side-open")

    # The lines around the text

    @property
    def reward_scale(self) -> Scale:
        return self.live.scales.get("reward", Scale())

    @property
    def _marks(self) -> samples.Marks:
        return samples.Marks(self.is_bookmarked, self.live.is_following, self.view)

    def _run_line(self, width: int) -> Line:
        live = self.live
        if live.opened is None:
            return []
        name = live.opened.run.info.name
        return samples.run_line(name, self.nav.place, live.split_state, live.scales, self._marks, width)

    def _sample_lines(self, width: int) -> Sequence[Line]:
        return samples.sample_lines(self.nav.shown, self.live.scales, self.fields, self._marks, width)

    def _foot(self, width: int) -> list[Line]:
        keys = KEYS[-LEAST_KEYS:] if self.live.opened is None else SIDE_KEYS if self._is_side_alone else KEYS
        message = self.message or (self.prompt.hint if self.prompt.is_open else "")
        share = None if self._is_side_alone else self.reader.share
        return [samples.foot_line(message, self.is_alarm, keys, share, width)]

    def _draw_foot(self) -> None:
        """Draw the foot once the text has its size: it says how far down the window is."""
        self.call_after_refresh(self.bar("foot").changed)

    def show_places(self) -> None:
        self.bar("header").changed()
        self.bar("head").changed()
        self.side.show_pickers(self.live.session.run.info.name, self.nav.place)

    def tell(self, message: str, *, is_alarm: bool = False) -> None:
        self.message, self.is_alarm = message, is_alarm
        if not self.is_mounted:  # a key came first
            return
        self.bar("foot").changed()
        if (tokens := self._tokens) is not None and not is_alarm:  # its title shows the failure
            tokens.tell(message)

    def failed(self, kind: str, reason: str) -> None:
        """Say that a question failed, on the screen that the person looks at."""
        if kind == "sample":  # stay at the shown sample; the person can correct a wrong filter
            typed = self.nav.place.where if self.nav.place.where != self.nav.shown.place.where else None
            self.nav.stay()
            self.press_kept()
            self.show_places()
            self.side.show_row()
            if typed is not None:
                self.action_filter(typed)
        elif kind == "state":
            self.live.set_ready()
        self.tell(reason, is_alarm=True)
        if (tokens := self._tokens) is not None:
            tokens.failed(kind, reason)

    # The sample

    def begin(self, library: Library, session: Session, first: SampleAt, mask: Mask) -> None:
        if self.live.opened is not None and self.live.opened.run.id != session.run.id:
            self.nav.shown = self.nav.shown._replace(sample=None)  # two runs may have samples with the same id
        self.live.begin(library, session)
        self.mask = mask
        self.side.clear()
        self.show(first)
        self.live.ask_state()
        self.live.change_run()

    def show_note(self, note: str) -> None:
        self.nav.shown = self.nav.shown._replace(note=note)
        self.bar("head").changed()

    def show(self, at: SampleAt) -> None:
        is_same = at.is_same(self.nav.shown)
        is_new_list = at.place != self.nav.shown.place
        self.nav.shown, self.nav.place, self.nav.number = at, at.place, at.number
        self.is_bookmarked = self.is_bookmarked and is_same
        if at.sample is not None:
            names = [*samples.facts_of(at.sample), *(f"extra.{name}" for name in at.sample.extra)]
            if self.fields.learn(names):
                self.side.show_fields()
        if is_new_list:
            self.side.clear()
        self.show_text(keeps_place=is_same)
        self.side.show_row()
        self.show_places()
        self.tell("")
        self.finder.look(keeps_place=is_same)
        if (key := self.nav.key) is not None:
            run, bookmarks = self.live.session.run, self.bookmarks
            self.ask("bookmark", lambda: bookmarks.has(run, key), lambda is_set: self._show_bookmark(key, is_set))
        if (tokens := self._tokens) is not None:
            tokens.show(at)
        self.press_kept()

    def press_kept(self) -> None:
        """Let the app press the keys that it kept for the sample, or for the state of the run."""
        if self.live.is_ready:
            self.post_message(self.Ready())

    def show_text(self, *, keeps_place: bool = False) -> None:
        sample = self.nav.shown.sample
        blocks = [] if sample is None else self.blocks_of(sample)
        self.reader.read(blocks, is_table=self.view == "table", keeps_place=keeps_place)

    def blocks_of(self, sample: Sample) -> list[samples.TextBlock]:
        if self.view == "table":
            return list(samples.table_blocks(sample, self.fields, self.mask, self.live.scales))
        return [block for block in samples.blocks_of(sample, self.mask) if self.fields[block.field]]

    def _show_bookmark(self, key: SampleKey, is_set: bool) -> None:
        """Show whether a sample is bookmarked, if it is still on the screen."""
        if self.nav.key == key and is_set != self.is_bookmarked:
            self.is_bookmarked = is_set
            self.bar("head").changed()

    def on_screen_suspend(self) -> None:
        """Show the keys again when the person returns from a screen, or a message that came meanwhile."""
        if self.live.opened is not None and not self.finder.text:
            self.tell("")

    # Keys that move

    def action_sample(self, by: int) -> None:
        self.nav.to_sample(by)

    def action_step(self, by: int) -> None:
        self.nav.to_step(by)

    def action_along(self, by: int) -> None:
        self.nav.along_curve(by)

    def action_prompt_step(self, by: int) -> None:
        self.nav.along_prompt(by)

    def action_focus_pane(self, by: int) -> None:
        panes: list[Widget] = [self.reader, *self.side.query(RowList)]
        now = panes.index(self.focused) if self.focused in panes else 0
        pane = panes[(now + by) % len(panes)]
        self.open_side(is_open=pane is not self.reader)
        pane.focus()

    def action_follow(self) -> None:
        live = self.live
        live.is_following = not live.is_following
        self.bar("header").changed()
        if live.is_following and live.newest_step != self.nav.place.step:
            self.nav.change(step=live.newest_step)
        self.tell("Following: new steps are shown as they come." if live.is_following else "Not following any more.")

    def action_pick(self, what: str) -> None:
        """Choose by the function `pick_...` of this name."""
        getattr(pickers, f"pick_{what}")(self)

    # Keys that read

    def action_switch(self) -> None:
        self.view = "text" if self.view == "table" else "table"
        self.tell("")
        self.show_text()
        self.bar("head").changed()
        self.finder.look()

    def action_again(self) -> None:
        self.side.clear()
        self.nav.go(self.nav.place, self.nav.number, self.nav.key)
        self.live.ask_state()

    def action_discarded(self) -> None:
        self.nav.change(is_discarded=not self.nav.place.is_discarded)

    # Keys that find

    def action_find(self) -> None:
        self.tell("")
        self.prompt.ask("find", FIND_HINT, self.finder.enter, self.finder.text, stays=True)

    def action_filter(self, typed: str | None = None) -> None:
        state, value = self.live.state, self.nav.place.where if typed is None else typed
        names = [column.name for column in state.catalogue.columns] if state else []
        self.tell("")
        self.prompt.ask("filter", FILTER_HINT, lambda text: self.nav.change(where=text.strip()), value, words=names)

    def action_search(self) -> None:
        def search(text: str) -> None:
            if text:
                self.questions.forget("find")
                self.app.push_screen(find.SearchScreen(self, text), lambda hit: open_hit(hit, text))

        def open_hit(hit: Hit | None, text: str) -> None:
            if hit is not None:
                self.finder.begin(text)
                self.nav.go_to(hit.sample.key)

        self.tell("")
        self.prompt.ask("search", SEARCH_HINT, search)

    def action_clear(self) -> None:
        self.prompt.close()
        self.finder.clear()
        self.open_side(is_open=False)
        self.reader.focus()
        self.tell("")

    # Keys that open other screens

    def _has_sample(self) -> bool:
        """Return whether there is a sample on the screen; if not, notify the person."""
        if self.nav.key is None:
            self.tell("There is no sample here.")
        return self.nav.key is not None

    def action_group(self) -> None:
        if self._has_sample() and self.nav.key:
            self.app.push_screen(group.GroupScreen(self, self.nav.key), self.nav.go_to)

    def action_groups(self) -> None:
        self.side.show_groups(not self.side.is_grouped)
        self.open_side(is_open=True)
        self.side.list.focus()

    def action_tokens(self) -> None:
        if self._has_sample():
            self.app.push_screen(TokensScreen(self))

    def action_evals(self) -> None:
        self.app.push_screen(evals.EvalsScreen(self), self.nav.go_to)

    def action_findings(self) -> None:
        self.app.push_screen(findings.FindingsScreen(self), self.nav.go_to)

    def action_metrics(self) -> None:
        self.app.push_screen(metrics.MetricsScreen(self), self.nav.go_to_point)

    def action_evidence(self, number: int) -> None:
        self.brief.open(number)

    def action_help(self) -> None:
        self.app.push_screen(over.HelpScreen(EVERY_KEY))

    def action_theme(self) -> None:
        self.call_later(self.app.run_action, "theme")

    # Keys that keep

    def action_copy(self) -> None:
        if self._has_sample():
            self.app.copy_to_clipboard(str(self.nav.key))
            self.tell(f"Sent to the clipboard: {self.nav.key}")

    def action_bookmark(self) -> None:
        item, run = self.nav.shown.item, self.live.session.run
        if not self._has_sample() or item is None:
            return

        def show(is_set: bool) -> None:
            self._show_bookmark(item.key, is_set)
            self.tell("Bookmarked; the page shows it too." if is_set else "The bookmark is removed.")

        self.questions.write(
            lambda: self.bookmarks.toggle(run, item), show, lambda reason: self.failed("bookmark", reason)
        )

    # Clicks into the lines around the text

    def _click_header(self, x: int, _: int) -> None:
        state, lines = self.live.split_state, self.bar("header").lines
        if state is not None and lines and (step := samples.step_at(state, lines[0], x)) is not None:
            self.nav.change(step=step)

    def _click_head(self, x: int, y: int) -> None:
        view = samples.view_at(self.bar("head").lines[0], x) if y == 0 and self.bar("head").lines else None
        if view == "tokens":
            self.action_tokens()
        elif view not in (None, self.view):
            self.action_switch()
