"""What the keys of the main screen do."""

from typing import TYPE_CHECKING, cast

from msgspec.structs import replace
from textual.widget import Widget

from rolloupe import query
from rolloupe.model import Sample
from rolloupe.query import DatasetSummary, SampleItem
from rolloupe.query.search import Hit
from rolloupe.tui.draw.ink import ACCENT, DIM
from rolloupe.tui.draw.scales import Scale
from rolloupe.tui.keys import KEYS
from rolloupe.tui.run.session import near
from rolloupe.tui.screen_keys import EVERY_KEY
from rolloupe.tui.screens.choices import current_sort, dataset_choices, sort_choices, split_choices, step_choices
from rolloupe.tui.screens.evals import EvalsScreen
from rolloupe.tui.screens.findings import FindingsScreen
from rolloupe.tui.screens.group import GroupScreen
from rolloupe.tui.screens.help import HelpScreen
from rolloupe.tui.screens.metrics import MetricsScreen
from rolloupe.tui.screens.pick import Choice, PickScreen
from rolloupe.tui.screens.search import SearchScreen
from rolloupe.tui.screens.tokens import TokensScreen
from rolloupe.tui.views.headers import curve_steps, step_at, view_at
from rolloupe.tui.views.lists import preview
from rolloupe.tui.widgets.bar import LineBar
from rolloupe.tui.widgets.rows import RowList

if TYPE_CHECKING:
    from rolloupe.tui.screens.rollouts import Rollouts


FIND_HINT = "Enter: find, then the next match · Esc: close"
SEARCH_HINT = "text in prompts and responses of the run · Enter: search · Esc: close"
FILTER_HINT = "e.g. reward < 0.1 and turns > 3 · Tab: complete · Enter: go · Esc: close"
"""What the foot says beside the line to type into."""


class Actions:
    """The actions, mixed into the screen."""

    @property
    def _me(self) -> "Rollouts":
        return cast("Rollouts", self)

    # Moving

    def action_sample(self, by: int) -> None:
        """Go to another sample of the list."""
        me = self._me
        number = me.number + by
        if me.place == me.shown.place and not 0 <= number < me.shown.total:
            key, end = ("N", "last") if by > 0 else ("P", "first")
            me.tell(f"This is the {end} sample of the list; {key} goes to another step.")
            return
        me.go(me.place, max(0, number))

    def action_step(self, by: int) -> None:
        """Go to another step."""
        me = self._me
        place, session, state = me.place, me.session, me.split_state
        if state is None:  # a moment after another split was chosen
            me.ask("split", lambda: session.beside(place, by), lambda target: me.go(target, 0))
            return
        step = near([one.step for one in state.steps], place.step, by)
        if step == place.step:
            me.tell(f"This is the {'last' if by > 0 else 'first'} step.")
            return
        me.go(replace(me.place, step=step), 0)

    def action_along(self, by: int) -> None:
        """Go along the curve of the first line, to the step before or after: of thousands it shows a few."""
        me = self._me
        if me.split_state is None:
            self.action_step(by)
            return
        step = near(curve_steps(me.split_state, me.bar("header").lines), me.place.step, by)
        if step == me.place.step:
            me.tell(f"This is the {'last' if by > 0 else 'first'} step of the curve.")
            return
        me.go(replace(me.place, step=step), 0)

    def action_line(self, by: int) -> None:
        """Scroll by a line."""
        self._me.reader.line(by)

    def action_page(self, by: int) -> None:
        """Scroll by a page."""
        self._me.reader.page(by)

    def action_end(self, is_last: bool) -> None:
        """Go to the top or the bottom."""
        self._me.reader.go_to_end(is_last=is_last)

    def action_focus_pane(self, by: int) -> None:
        """Move the focus to another pane; in a narrow window the left one unfolds."""
        me = self._me
        panes: list[Widget] = [me.reader, *(me.side.query_one(f"#{name}") for name in ("pickers", "list", "fields"))]
        now = panes.index(me.focused) if me.focused in panes else 0
        pane = panes[(now + by) % len(panes)]
        me.open_side(is_open=pane is not me.reader)
        pane.focus()

    # Looking

    def action_switch(self) -> None:
        """Switch between text and table."""
        me = self._me
        me.view = "text" if me.view == "table" else "table"
        me.tell("")
        me.show_text()
        me.bar("head").changed()
        me.finder.look()

    def action_again(self) -> None:
        """Read the sample and the state of the run again."""
        me = self._me
        key = me.shown.sample.key if me.shown.sample else None
        me.side.samples.clear()
        me.go(me.place, me.number, key)
        me.ask_state()

    def action_discarded(self) -> None:
        """Show only discarded samples, or all."""
        me = self._me
        me.go(replace(me.place, is_discarded=not me.place.is_discarded), 0)

    def action_follow(self) -> None:
        """Follow the run, or stop following."""
        me = self._me
        me.is_following = not me.is_following
        newest = me.split_state.steps[-1].step if me.split_state and me.split_state.steps else me.place.step
        me.bar("header").changed()
        if me.is_following and newest != me.place.step:
            me.go(replace(me.place, step=newest), 0)
        me.tell("Following: new steps are shown as they come." if me.is_following else "Not following any more.")

    # Finding

    def action_find(self) -> None:
        """Ask what to find."""
        me = self._me
        me.tell("")
        me.asker.ask("find", FIND_HINT, me.finder.enter, me.finder.text, stays=True)

    def action_filter(self, typed: str | None = None) -> None:
        """Ask for a filter; an empty one shows all samples."""
        me = self._me

        def go(text: str) -> None:
            me.go(replace(me.place, where=text.strip()), 0)

        names = [column.name for column in me.state.catalogue.columns] if me.state else []
        me.tell("")
        me.asker.ask("filter", FILTER_HINT, go, me.place.where if typed is None else typed, words=names)

    def action_search(self) -> None:
        """Ask what to search the run for."""
        me = self._me
        me.tell("")
        me.asker.ask("search", SEARCH_HINT, self._search)

    def _search(self, text: str) -> None:
        if text:
            me = self._me
            me.questions.forget("find")
            me.app.push_screen(SearchScreen(me, text), lambda hit: self._open_hit(hit, text))

    def _open_hit(self, hit: Hit | None, text: str) -> None:
        if hit is None:
            return
        self._me.finder.begin(text)
        self._me.go_to(hit.sample.key)

    def action_clear(self) -> None:
        """Close what is open, and forget what was found."""
        me = self._me
        me.asker.close()
        me.finder.clear()
        me.open_side(is_open=False)
        me.reader.focus()
        me.tell("")

    # Choosing

    def action_pick(self, what: str) -> None:
        """Choose something in a list."""
        if self._me.state is not None:
            getattr(self, f"_pick_{what}")()

    def _pick_step(self) -> None:
        me = self._me
        if me.split_state is None:
            me.tell("The steps of this split are being read.")
            return
        steps = list(reversed(me.split_state.steps))
        now = next((n for n, one in enumerate(steps) if one.step == me.place.step), 0)

        def chosen(number: int | None) -> None:
            if number is not None:
                me.go(replace(me.place, step=steps[number].step), 0)

        choices = step_choices(me.split_state.steps, me.scales.get("reward", Scale()))
        me.app.push_screen(PickScreen("Step", choices, now), chosen)

    def _pick_split(self) -> None:
        me = self._me
        assert me.state is not None
        splits = split_choices(me.state.splits, me.scales.get("reward", Scale()))
        now = next((n for n, (name, _) in enumerate(splits) if name == me.place.split), 0)

        def chosen(number: int | None) -> None:
            if number is not None:
                me.go_to_split(splits[number][0])

        me.app.push_screen(PickScreen("Split", [choice for _, choice in splits], now), chosen)

    def _pick_sort(self) -> None:
        me = self._me
        assert me.state is not None
        sorts = sort_choices(me.state)

        def chosen(number: int | None) -> None:
            if number is not None:
                name, descending, _ = sorts[number]
                me.go(replace(me.place, sort=name, descending=descending), 0)

        me.app.push_screen(PickScreen("Sort by", [one[2] for one in sorts], current_sort(me.place, sorts)), chosen)

    def _pick_dataset(self) -> None:
        me = self._me
        place, run = me.place, me.session.run

        def choose(found: list[DatasetSummary]) -> None:
            names = ["", *(one.name for one in found)]

            def chosen(number: int | None) -> None:
                if number is not None:
                    me.go(replace(me.place, dataset=names[number]), 0)

            if not found:
                me.tell(f"No sample of {place.split} names a dataset or an environment.")
                return
            choices = dataset_choices(found, me.scales.get("reward", Scale()))
            now = names.index(place.dataset) if place.dataset in names else 0
            me.app.push_screen(PickScreen("Dataset", choices, now), chosen)

        me.ask("datasets", lambda: query.datasets(run, place.split), choose)

    def _pick_run(self) -> None:
        me = self._me
        assert me.library is not None
        runs = me.library.runs

        def chosen(number: int | None) -> None:
            if number is not None:
                me.go_to_run(runs[number])

        choices = [Choice(run.id, [(f"{run.info.format} ", DIM)]) for run in runs]
        now = next((n for n, run in enumerate(runs) if run is me.session.run), 0)
        me.app.push_screen(PickScreen("Run", choices, now), chosen)

    def _pick_fields(self) -> None:
        me = self._me
        me.open_side(is_open=True)
        me.side.query_one("#fields").focus()

    def action_palette(self) -> None:
        """Choose an action by its name."""
        me = self._me
        actions = [one for one in KEYS if one.action != "palette"]

        def chosen(number: int | None) -> None:
            if number is not None:
                me.call_later(me.run_action, actions[number].action)

        choices = [Choice(one.meaning, [(f"{one.label} ", ACCENT)]) for one in actions]
        me.app.push_screen(PickScreen("Do", choices), chosen)

    def on_row_list_chosen(self, event: RowList.Chosen) -> None:
        """Do what was chosen in the left pane."""
        me, rows = self._me, event.rows.id
        if rows == "list":
            me.go_to_row(event.number)
        elif rows == "fields":
            me.fields.toggle(list(me.fields)[event.number])
            me.side.show_fields()
            me.show_text(keeps_place=True)
            me.bar("head").changed()
        elif rows == "pickers":
            picker = me.side.picker(event.number)
            keys = {"filter": "filter", "only": "discarded"}
            me.call_later(me.run_action, keys.get(picker.name, f"pick('{picker.name}')"))

    def on_row_list_moved(self, event: RowList.Moved) -> None:
        """Show the sample under the cursor of the list."""
        if event.rows.id == "list":
            self._me.go_to_row(event.number)

    def on_line_bar_clicked(self, event: LineBar.Clicked) -> None:
        """Go to the step under the mouse in the curve of the header, or to the view whose name is there."""
        me, line = self._me, event.bar.lines[0] if event.bar.lines else []
        state = me.split_state if event.bar.id == "header" else None
        if state is not None and (step := step_at(state, line, event.x)) is not None:
            me.go(replace(me.place, step=step), 0)
        view = view_at(line, event.x) if event.bar.id == "head" and event.y == 0 else None
        if view == "tokens":
            self.action_tokens()
        elif view is not None and view != me.view:
            self.action_switch()

    # Other screens

    def _sample(self) -> Sample | None:
        """Return the sample on the screen; without one, tell the person so."""
        if self._me.shown.sample is None:
            self._me.tell("There is no sample here.")
        return self._me.shown.sample

    def action_group(self) -> None:
        """Show the group side by side."""
        me = self._me
        if (sample := self._sample()) is not None:
            me.app.push_screen(GroupScreen(me, sample.key), me.go_to)

    def action_groups(self) -> None:
        """List groups instead of samples, or samples again."""
        me = self._me
        me.show_groups(not me.side.samples.is_grouped)
        me.open_side(is_open=True)
        me.side.list.focus()

    def action_tokens(self) -> None:
        """Show the tokens."""
        if self._sample() is not None:
            self._me.app.push_screen(TokensScreen(self._me))

    def action_evals(self) -> None:
        """Show the evaluations."""
        self._me.app.push_screen(EvalsScreen(self._me), self._me.go_to)

    def action_findings(self) -> None:
        """Show what the reward pays for, and the data quality."""
        self._me.app.push_screen(FindingsScreen(self._me), self._me.go_to)

    def action_metrics(self) -> None:
        """Show the curves."""
        self._me.app.push_screen(MetricsScreen(self._me), self._me.go_to_point)

    # Keeping

    def action_copy(self) -> None:
        """Copy the id of the sample."""
        me = self._me
        if (sample := self._sample()) is not None:
            name = str(sample.key)
            me.app.copy_to_clipboard(name)
            me.tell(f"Sent to the clipboard: {name}")

    def action_bookmark(self) -> None:
        """Set or remove a bookmark."""
        me = self._me
        item, run = me.shown.item, me.session.run
        if self._sample() is None or item is None:
            return

        def show(is_set: bool) -> None:
            me.show_bookmark(item.key, is_set)
            me.tell("Bookmarked; the page shows it too." if is_set else "The bookmark is removed.")

        def failed(reason: str) -> None:
            me.failed("bookmark", reason)

        me.questions.write(lambda: me.bookmarks.toggle(run, item), show, failed)

    def action_bookmarks(self) -> None:
        """Choose a bookmarked sample."""
        me, run = self._me, self._me.session.run

        def choose(items: list[SampleItem]) -> None:
            def chosen(number: int | None) -> None:
                me.go_to(None if number is None else items[number].key)

            choices = [Choice(f"{one.id}  {preview(one.response)}") for one in items]
            now = next((n for n, one in enumerate(items) if me.shown.item and one.key == me.shown.item.key), 0)
            if items:
                me.app.push_screen(PickScreen("Bookmarks", choices, now), chosen)
            else:
                me.tell("No sample of this run is bookmarked; b bookmarks one.")

        me.ask("bookmarks", lambda: me.bookmarks.listed(run), choose)

    def action_help(self) -> None:
        """Show all keys."""
        self._me.app.push_screen(HelpScreen(EVERY_KEY))

    def action_theme(self) -> None:
        """Change between light and dark."""
        me = self._me
        me.call_later(me.app.run_action, "theme")
