"""The pane in which a person reads: blocks of text in lines, with margins, and the places that a search marks."""

from bisect import bisect_right
from collections.abc import Callable, Sequence
from itertools import islice, pairwise, takewhile
from operator import attrgetter, itemgetter
from typing import NamedTuple

from textual import events

from rolloupe.tui.draw.ink import CURRENT_MATCH, MATCH, PLAIN, Line, cut, joined, padded, width_of, wrapped
from rolloupe.tui.views.samples import Run, TextBlock
from rolloupe.tui.widgets.lines import LinePane

WIDE = 84
"""A window of at least this width shows roles in a margin; a narrower window shows them above their texts."""

MARGIN, TABLE_MARGIN = 16, 26
INDENT = 2


class TextPlace(NamedTuple):
    """A place that a search found: a block, and where in its text."""

    block: int
    start: int
    stop: int


class Row(NamedTuple):
    """A line on the screen: a stretch of a block's text, or its heading (`nth` is -1), or nothing (`block` is -1)."""

    block: int
    nth: int
    start: int
    stop: int


BLANK = Row(-1, 0, 0, 0)


class Layout:
    """Blocks in lines. Pieces of text are made only for lines that are drawn."""

    def __init__(self, blocks: Sequence[TextBlock], width: int, *, is_table: bool = False) -> None:
        self.blocks = blocks
        self.width = width
        self._margin = MARGIN if width >= WIDE else 0
        if is_table:  # as many cells as the names need, if there is room
            longest = max((width_of(block.margin[0]) for block in blocks), default=0)
            self._margin = min(max(TABLE_MARGIN, longest + 2), width * 2 // 5)
        self.rows: list[Row] = []
        self._texts: list[range] = []
        """The rows with the text of each block."""
        for number in range(len(blocks)):
            self._add(number)

    def _add(self, number: int) -> None:
        block = self.blocks[number]
        if self.rows and not block.is_row:
            self.rows.append(BLANK)
        if not self._margin:
            self.rows.append(Row(number, -1, 0, 0))
        room = self.width - (self._margin or INDENT) - 1
        lines = [Row(number, nth, *place) for nth, place in enumerate(wrapped(block.text, room))]
        missing = len(block.margin) - len(lines) if self._margin and not block.is_row else 0
        end = len(block.text)
        self._texts.append(range(len(self.rows), len(self.rows) + len(lines)))
        self.rows += lines + [Row(number, len(lines) + nth, end, end) for nth in range(missing)]

    def __len__(self) -> int:
        return len(self.rows)

    def line(self, nth: int, matches: Sequence[TextPlace] = (), current: int = -1) -> Line:
        row = self.rows[nth]
        if row.block < 0:
            return []
        block = self.blocks[row.block]
        if row.nth < 0:
            return cut(joined(block.margin), self.width)
        left: Line = [(" " * INDENT, PLAIN)]
        if self._margin:
            margin = block.margin[row.nth] if row.nth < len(block.margin) else []
            left = [*padded(margin, self._margin - 2), ("  ", PLAIN)]
        return [*left, *_marked(block, row, matches, current)]

    def row_of(self, place: TextPlace) -> int:
        rows = self._texts[place.block]
        return max(rows.start, bisect_right(self.rows, place.start, rows.start, rows.stop, key=attrgetter("start")) - 1)


def _marked(block: TextBlock, row: Row, matches: Sequence[TextPlace], current: int) -> Line:
    """Return a stretch of text in its inks, and in those of the places that a search found."""
    runs: list[Run] = []
    first = bisect_right(matches, (row.block, row.start), key=lambda match: (match.block, match.stop))
    for number in range(first, len(matches)):
        match = matches[number]
        if match.block != row.block or match.start >= row.stop:
            break
        runs.append((match.start, match.stop, CURRENT_MATCH if number == current else MATCH))
    first = bisect_right(block.runs, row.start, key=itemgetter(1))
    runs += takewhile(lambda run: run[0] < row.stop, islice(block.runs, first, None))
    edges = {row.start, row.stop}
    for start, stop, _ in runs:
        edges |= {max(row.start, start), min(row.stop, stop)}
    return [
        (block.text[a:b], next((ink for start, stop, ink in runs if start <= a < stop), PLAIN))
        for a, b in pairwise(sorted(edges))
    ]


class TextPane(LinePane):
    """A text of any length. Calls `resized` when its window has another size."""

    def __init__(self, id: str, resized: Callable[[], None]) -> None:
        super().__init__(id=id)
        self._resized = resized
        self.blocks: Sequence[TextBlock] = ()
        self._is_table = False
        self._layout: Layout | None = None
        self._matches: Sequence[TextPlace] = ()
        self._current = -1

    @property
    def layout_(self) -> Layout:
        if self._layout is None or self._layout.width != self.room - 1:
            self._layout = Layout(self.blocks, self.room - 1, is_table=self._is_table)
        return self._layout

    def read(self, blocks: Sequence[TextBlock], *, is_table: bool = False, keeps_place: bool = False) -> None:
        """Show other blocks, from their first line on."""
        self.blocks, self._is_table, self._layout = blocks, is_table, None
        self.changed()
        if not keeps_place:
            self.scroll_to(0, 0, animate=False)

    def mark(self, matches: Sequence[TextPlace], current: int = -1, *, keeps_place: bool = False) -> None:
        """Show the places that a search found, and go to one of them, unless the window keeps its place."""
        self._matches, self._current = matches, current
        if 0 <= current < len(matches) and not keeps_place:
            self.show_line(self.layout_.row_of(matches[current]))
        self.refresh()

    def count(self) -> int:
        return len(self.layout_)

    def line_at(self, y: int) -> Line:
        return [(" ", PLAIN), *self.layout_.line(y, self._matches, self._current)]

    def on_resize(self, _: events.Resize) -> None:
        self.changed()
        self._resized()
