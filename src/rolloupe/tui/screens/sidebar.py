"""The left pane: pickers, the list of samples or groups, the fields."""

from collections.abc import Iterator, Mapping, Sequence
from math import isnan
from typing import TYPE_CHECKING, NamedTuple

from textual.app import ComposeResult
from textual.containers import Vertical

from rolloupe.model import KNOWN
from rolloupe.query import Group, GroupPage, SampleItem, SamplePage
from rolloupe.query.search.pattern import Mask
from rolloupe.tui.draw.charts import BLOCKS, MISSING
from rolloupe.tui.draw.ink import ACCENT, DIM, GHOST, PLAIN, STRONG, WARN, Line, ends, padded, safe
from rolloupe.tui.draw.numbers import Scale, count, narrow, score, words_of
from rolloupe.tui.run.session import PAGE, ListPlace
from rolloupe.tui.widgets.lines import LineBar, RowList

if TYPE_CHECKING:
    from rolloupe.tui.screens.rollouts import Rollouts

WIDTH = 9
"""Cells of a figure in a list."""

DISCARDED, KEPT = ("×", WARN), (" ", PLAIN)
"""The sign before a row."""


def sample_row(item: SampleItem, columns: Sequence[str], scales: Mapping[str, Scale], mask: Mask, width: int) -> Line:
    """Return a sample of a list: its figures, and the start of its response."""
    line: Line = [DISCARDED if item.discarded else KEPT]
    for name in columns:
        value = value_of(item, name)
        scale = scales.get(name, Scale())
        shown = narrow(words_of(name, value, scale), value, WIDTH - 1)
        line += [(f"{shown:>7}", scale.ink(value)), (" ", PLAIN)]
    return padded([*line, safe(preview(mask(item.response)), DIM)], width)


STRIP = 16
"""Cells of a strip, at most."""


def group_row(group: Group, scale: Scale, mask: Mask, strip: int, width: int) -> Line:
    """Return a group of a list: its mean reward, the reward of each member, and the start of the prompt."""
    rewards = [value if isinstance(value, int | float) else None for value in group.cells[0]]
    if len(rewards) > STRIP:  # a selection, from the lowest to the highest
        rewards.sort(key=lambda value: (value is None or isnan(value), value or 0.0))
        rewards = [rewards[round(n * (len(rewards) - 1) / (STRIP - 1))] for n in range(STRIP)]
    cells: Line = []  # the higher the better, and coloured
    for value in rewards:
        place = scale.place(value) if scale.kind == "score" else None
        block = BLOCKS[3 if place is None else round(7 * place)]
        cells.append((MISSING, GHOST) if value is None or isnan(value) else (block, scale.ink(value)))
    mean = group.reward.mean
    line: Line = [
        DISCARDED if group.discarded else KEPT,
        (f"{narrow(score(mean), mean, WIDTH - 1):>7}", scale.ink(mean)),
        (" ", PLAIN),
        *padded(cells, strip),
        (" ", PLAIN),
        safe(" ".join(mask(group.prompt[:400]).split()), DIM),
    ]
    return padded(line, width)


def preview(response: str) -> str:
    """Return the start of a response on one line, without the tag that most begin with."""
    return " ".join(response[:200].split()).removeprefix("<think>").lstrip()


def value_of(item: SampleItem, name: str) -> float | None:
    """Return a number of a sample in a list."""
    is_field = name in KNOWN and hasattr(item, name)
    value = getattr(item, name) if is_field else item.metrics.get(name.removeprefix("metric."))
    return value if isinstance(value, int | float) else None


class Picker(NamedTuple):
    """A choice in the left pane: its key, its name, and the chosen value."""

    key: str
    name: str
    value: str


def pickers_of(run: str, place: ListPlace) -> Iterator[Picker]:
    """Yield the choices: the run, the list of samples, and its limits."""
    yield Picker("1", "run", run)
    yield Picker("2", "split", place.split)
    yield Picker("3", "step", str(place.step))
    yield Picker("4", "sort", sort_words(place))
    yield Picker("6", "dataset", place.dataset or "all")
    if place.where:
        yield Picker("F", "filter", place.where)
    if place.is_discarded:
        yield Picker("D", "only", "discarded samples")


def picker_row(picker: Picker, width: int) -> list[Line]:
    """Return a picker."""
    left = [(f" {picker.key} {picker.name:7} ", DIM), safe(picker.value, STRONG)]
    return [ends(left, [("▾ ", DIM)], width)]


def sort_words(place: ListPlace) -> str:
    """Return the order of a list as words."""
    if place.sort == "index":
        return "as recorded" if not place.descending else "as recorded ↓"
    return f"{place.sort} {'↓' if place.descending else '↑'}"


def field_row(name: str, is_shown: bool, width: int) -> list[Line]:
    """Return a field with its mark."""
    mark = ("[x] ", ACCENT) if is_shown else ("[ ] ", DIM)
    return [padded([(" ", PLAIN), mark, safe(name, PLAIN if is_shown else DIM)], width)]


SHORT = {"advantage": "adv", "response_tokens": "tokens", "response_chars": "chars"}


def short(name: str) -> str:
    """Return the name of a column in seven letters."""
    return SHORT.get(name, name.rpartition(".")[2])[:7]


class Sidebar(Vertical):
    """The pane. It asks for the pages of the list, of samples or groups, that come into view."""

    def __init__(self, rollouts: "Rollouts") -> None:
        super().__init__(id="side")
        self._rollouts = rollouts
        self.fields = rollouts.fields
        self.is_grouped = False
        self.pickers: Sequence[Picker] = ()
        self._columns: Sequence[str] = ("reward",)
        self._pages: dict[int, SamplePage | GroupPage | None] = {}
        """The pages, by their numbers; None for a requested page."""
        self._total = 0

    def compose(self) -> ComposeResult:
        yield RowList("pickers", self._pick, keeps_cursor=False, has_own_keys=True)
        yield LineBar("list-head", self._list_head)
        yield RowList("list", self.go_to_row, self.go_to_row, has_own_keys=True)
        yield LineBar("fields-head", lambda _: [[(" Fields", STRONG), ("  Enter shows or hides", DIM)]] * self.is_used)
        yield RowList("fields", self._toggle, keeps_cursor=False, has_own_keys=True)

    @property
    def is_used(self) -> bool:
        return bool(self.pickers)

    # The choices

    def show_pickers(self, run: str, place: ListPlace) -> None:
        is_first = not self.is_used
        self.pickers = list(pickers_of(run, place))
        if is_first:
            for name in ("list-head", "fields-head"):
                self.query_one(f"#{name}", LineBar).changed()
        rows = self.query_one("#pickers", RowList)
        rows.styles.height = len(self.pickers)
        rows.fill(len(self.pickers), lambda number, width: picker_row(self.pickers[number], width))

    def _pick(self, number: int) -> None:
        name = self.pickers[number].name
        action = {"filter": "filter", "only": "discarded"}.get(name, f"pick('{name}')")
        self.call_later(self._rollouts.run_action, action)

    # The list

    def _list_head(self, width: int) -> list[Line]:
        if not self.is_used:
            return []
        if self.is_grouped:
            return [ends([("  reward of each answer", DIM)], [(f"{count(self._total, 'group')} ", DIM)], width)]
        names = [short(name) for name in self._columns]
        return [ends([(f" {' '.join(f'{name:>7}' for name in names)}", DIM)], [(f"{self._total:,} ", DIM)], width)]

    def _row(self, number: int, width: int) -> list[Line]:
        """Return a row, blank until its page is read."""
        if number // PAGE not in self._pages:
            self._pages[number // PAGE] = None
            self._want_page(number)
        page, scales, mask = self._pages[number // PAGE], self._rollouts.live.scales, self._rollouts.mask
        if page is None:
            return [[(" …", DIM)]]
        nth = number - page.offset
        if isinstance(page, SamplePage):
            return [
                sample_row(page.samples[nth], self._columns, scales, mask, width) if nth < len(page.samples) else []
            ]
        if nth >= len(page.groups):
            return [[]]
        strip = min(STRIP, max(group.samples for group in page.groups))
        return [group_row(page.groups[nth], scales.get("reward", Scale()), mask, strip, width)]

    @property
    def list(self) -> RowList:
        return self.query_one("#list", RowList)

    def show_columns(self, columns: Sequence[str]) -> None:
        self._columns = columns
        self.list.refresh()
        self.query_one("#list-head", LineBar).changed()

    def clear(self) -> None:
        """Read the list again as it comes into view."""
        self._pages.clear()

    def show_row(self) -> None:
        """Put the cursor of the list on the sample on the screen, or on its group."""
        at, session = self._rollouts.nav.shown, self._rollouts.live.session
        if not self.is_grouped or at.sample is None:
            self._show_list(at.total, at.number)
            return
        key = at.sample.key

        def take(page: GroupPage) -> None:
            self._pages[page.offset // PAGE] = page
            names = [group.key for group in page.groups]
            name = key.split, key.step, key.group
            self._show_list(page.total, page.offset + (names.index(name) if name in names else 0))
            self.list.refresh()

        self._rollouts.ask("group row", lambda: session.groups(at.place, 0, key), take)

    def _show_list(self, total: int, number: int) -> None:
        self._total = total
        if self.list.total != total:
            self.list.fill(total, self._row, number)
        else:
            self.list.go_to(number)
        self.query_one("#list-head", LineBar).changed()

    def show_groups(self, is_grouped: bool) -> None:
        self.is_grouped = is_grouped
        self.clear()
        self.show_row()

    def go_to_row(self, number: int) -> None:
        nav, page = self._rollouts.nav, self._pages.get(number // PAGE)
        if not self.is_grouped:
            nav.go(nav.place, number)
        elif isinstance(page, GroupPage) and number - page.offset < len(page.groups):
            nav.go(nav.place, 0, page.groups[number - page.offset].members[0])

    def _want_page(self, number: int) -> None:
        nav, session = self._rollouts.nav, self._rollouts.live.session
        place = nav.shown.place
        read = session.groups if self.is_grouped else session.page
        kind = f"page {number}"

        def take(page: SamplePage | GroupPage) -> None:
            if place == nav.shown.place and isinstance(page, GroupPage) == self.is_grouped:
                self._pages[number // PAGE] = page
                self.list.refresh()
            else:
                self._pages.pop(number // PAGE, None)

        def failed(reason: str) -> None:
            self._pages.pop(number // PAGE, None)
            self._rollouts.failed(kind, reason)

        self._rollouts.questions.ask(kind, lambda: read(place, number), take, failed)

    # The fields

    def show_fields(self) -> None:
        names = list(self.fields)
        rows = self.query_one("#fields", RowList)
        rows.fill(len(names), lambda number, width: field_row(names[number], self.fields[names[number]], width))

    def _toggle(self, number: int) -> None:
        self.fields.toggle(list(self.fields)[number])
        self.show_fields()
        self._rollouts.show_text(keeps_place=True)
        self._rollouts.bar("head").changed()
