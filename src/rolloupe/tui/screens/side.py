"""The left pane: pickers, the list of samples, the fields."""

from collections.abc import Callable, Sequence

from textual.app import ComposeResult
from textual.containers import Vertical

from rolloupe.model import SampleKey
from rolloupe.query import Group, GroupPage, SamplePage
from rolloupe.tui.draw.figures import count
from rolloupe.tui.draw.ink import DIM, STRONG, Line, ends
from rolloupe.tui.draw.scales import Scale
from rolloupe.tui.run.masks import Mask
from rolloupe.tui.run.session import PAGE
from rolloupe.tui.views.fields import Fields
from rolloupe.tui.views.lists import STRIP, Picker, field_row, group_row, picker_row, sample_row
from rolloupe.tui.widgets.bar import LineBar
from rolloupe.tui.widgets.rows import RowList

SHORT = {"advantage": "adv", "response_tokens": "tokens", "response_chars": "chars"}


def short(name: str) -> str:
    """Return the name of a column in seven letters."""
    return SHORT.get(name, name.rpartition(".")[2])[:7]


class SampleRows:
    """The rows of a list, samples or groups, by page; asks for the pages that come into view."""

    def __init__(self, want: Callable[[int], None]) -> None:
        self.columns: Sequence[str] = ("reward",)
        self.scales: dict[str, Scale] = {}
        self.mask = Mask()
        self.is_grouped = False
        self._pages: dict[int, SamplePage | GroupPage] = {}
        self._asked: set[int] = set()
        self._want = want

    def take(self, page: SamplePage | GroupPage) -> None:
        """Keep a page."""
        self._pages[page.offset // PAGE] = page

    def lack(self, number: int) -> None:
        """Ask for a page again when it comes into view: its question had no answer."""
        self._asked.discard(number // PAGE)

    def clear(self) -> None:
        """Forget all pages: the list is another."""
        self._pages.clear()
        self._asked.clear()

    def lines(self, number: int, width: int) -> list[Line]:
        """Return a row, a blank one until its page is there."""
        page = self._pages.get(number // PAGE)
        if page is None:
            if number // PAGE not in self._asked:
                self._asked.add(number // PAGE)
                self._want(number)
            return [[(" …", DIM)]]
        nth = number - page.offset
        if isinstance(page, GroupPage):
            return self._group_lines(page.groups, nth, width)
        return (
            sample_row(page.samples[nth], self.columns, self.scales, self.mask, width)
            if nth < len(page.samples)
            else [[]]
        )

    def _group_lines(self, groups: Sequence[Group], nth: int, width: int) -> list[Line]:
        if nth >= len(groups):
            return [[]]
        strip = min(STRIP, max(group.samples for group in groups))
        return group_row(groups[nth], self.scales.get("reward", Scale()), self.mask, strip, width)

    def first_of(self, number: int) -> SampleKey | None:
        """Return the first sample of a group; None if its page is not there."""
        page = self._pages.get(number // PAGE)
        if not isinstance(page, GroupPage) or number - page.offset >= len(page.groups):
            return None
        return page.groups[number - page.offset].members[0]


class Side(Vertical):
    """The pane. The screen fills it and hears what is chosen."""

    def __init__(self, fields: Fields, want: Callable[[int], None]) -> None:
        super().__init__(id="side")
        self.fields = fields
        self.samples = SampleRows(want)
        self._pickers: Sequence[Picker] = ()
        self._total = 0

    def compose(self) -> ComposeResult:
        """Lay it out."""
        yield RowList("pickers", keeps_cursor=False, has_own_keys=True)
        yield LineBar("list-head", self._list_head)
        yield RowList("list", has_own_keys=True)
        yield LineBar("fields-head", lambda _: [[(" Fields", STRONG), ("  Enter shows or hides", DIM)]] * self.is_used)
        yield RowList("fields", keeps_cursor=False, has_own_keys=True)

    @property
    def is_used(self) -> bool:
        """True once there is a run."""
        return bool(self._pickers)

    def _list_head(self, width: int) -> list[Line]:
        if not self.is_used:
            return []
        if self.samples.is_grouped:
            return [ends([("  reward of each answer", DIM)], [(f"{count(self._total, 'group')} ", DIM)], width)]
        names = [short(name) for name in self.samples.columns]
        return [ends([(f" {' '.join(f'{name:>7}' for name in names)}", DIM)], [(f"{self._total:,} ", DIM)], width)]

    @property
    def list(self) -> RowList:
        """The list of samples."""
        return self.query_one("#list", RowList)

    def show_pickers(self, pickers: Sequence[Picker]) -> None:
        """Show what is chosen."""
        is_first, self._pickers = not self._pickers, pickers
        if is_first:
            for name in ("list-head", "fields-head"):
                self.query_one(f"#{name}", LineBar).changed()
        rows = self.query_one("#pickers", RowList)
        rows.styles.height = len(pickers)
        rows.fill(len(pickers), lambda number, width: picker_row(self._pickers[number], width))

    def picker(self, number: int) -> Picker:
        """Return one of the pickers."""
        return self._pickers[number]

    def show_list(self, total: int, number: int) -> None:
        """Show the list with its cursor on a sample."""
        self._total = total
        if self.list.total != total:
            self.list.fill(total, self.samples.lines, number)
        else:
            self.list.go_to(number)
        self.query_one("#list-head", LineBar).changed()

    def show_fields(self) -> None:
        """Show the fields with their marks."""
        names = list(self.fields)
        rows = self.query_one("#fields", RowList)
        rows.fill(len(names), lambda number, width: field_row(names[number], self.fields[names[number]], width))
