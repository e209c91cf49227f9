"""`v`: the answers of a group side by side, with their rewards, and the place where each departs from the best."""

from collections.abc import Iterator
from itertools import groupby
from math import isfinite
from typing import TYPE_CHECKING, NamedTuple

from textual import events
from textual.widget import Widget

from rolloupe import query
from rolloupe.model import SampleKey
from rolloupe.query import GroupAnswer, SampleItem
from rolloupe.query.search.pattern import Mask
from rolloupe.tui.draw.ink import ACCENT, DIM, PLAIN, STRONG, Ink, Line, cut, joined, padded, rule, safe
from rolloupe.tui.draw.numbers import count, figure, score, signed
from rolloupe.tui.keys import GROUP_KEYS
from rolloupe.tui.screens.over import BackScreen
from rolloupe.tui.views.samples import KINDS, ROLES, TextBlock, shown
from rolloupe.tui.widgets.lines import LineBar, LinePane
from rolloupe.tui.widgets.text_pane import Layout, TextPlace

if TYPE_CHECKING:
    from rolloupe.tui.screens.rollouts import Rollouts

COLUMN, MARK = 38, 24
"""The least width of a column, and how many characters are marked where an answer departs from the best."""


class AnswerColumn(NamedTuple):
    """A member of the group: its facts, and its answer as blocks."""

    key: SampleKey
    item: SampleItem | None
    blocks: list[TextBlock]
    parting: list[TextPlace]
    note: str


class GroupAnswers(NamedTuple):
    """The group."""

    best: float | None
    """The highest reward; None if all answers have equal rewards."""
    columns: list[AnswerColumn]
    total: int
    prompt: str


class GroupPane(LinePane):
    """The columns in view. They scroll together."""

    def __init__(self) -> None:
        super().__init__(id="columns")
        self._layouts: list[Layout] = []
        self._columns: list[AnswerColumn] = []
        self._width = COLUMN

    @property
    def shown(self) -> int:
        return max(1, self.room // COLUMN)

    def show(self, columns: list[AnswerColumn]) -> None:
        self._columns = columns
        self._width = self.room // max(1, len(columns))
        self._layouts = [Layout(column.blocks, self._width - 2) for column in columns]
        self.changed()

    def count(self) -> int:
        return max((len(layout) for layout in self._layouts), default=0)

    def line_at(self, y: int) -> Line:
        line: Line = []
        for column, layout in zip(self._columns, self._layouts, strict=True):
            part = layout.line(y, column.parting) if y < len(layout) else []
            line += [*padded([(" ", PLAIN), *part], self._width - 1), ("│", Ink("line-2"))]
        return line[:-1]


class GroupScreen(BackScreen[SampleKey]):
    """The group of a sample. Returns the answer that a person opens."""

    KEYS = GROUP_KEYS

    def __init__(self, rollouts: "Rollouts", key: SampleKey) -> None:
        super().__init__(rollouts)
        self._key = key
        self._group: GroupAnswers | None = None
        self.number = 0
        """The chosen column."""

    def body(self) -> Iterator[Widget]:
        yield LineBar("group-head", self._heads, "surface-page")
        yield GroupPane()

    def on_mount(self) -> None:
        run, key, mask = self.session.run, self._key, self.rollouts.mask

        def ask() -> GroupAnswers:
            compared = query.compared(run, key)
            items = query.named(run, [compared.best, *(member.key for member in compared.members)])
            columns = [_column(member, items.get(member.key), mask) for member in compared.members]
            own = items.get(key)
            rewards = {item.reward for item in items.values() if item.reward is not None and isfinite(item.reward)}
            best = max(rewards) if len(rewards) > 1 else None
            return GroupAnswers(best, columns, compared.total, mask(own.prompt) if own else "")

        def take(group: GroupAnswers) -> None:
            self._group = group
            self.number = next((n for n, column in enumerate(group.columns) if column.key == key), 0)
            self._show()

        self.ask("group", ask, take)

    @property
    def is_reading(self) -> bool:
        return self._group is None

    @property
    def pane(self) -> GroupPane:
        return self.query_one(GroupPane)

    def _window(self) -> tuple[int, list[AnswerColumn]]:
        columns = self._group.columns if self._group else []
        first = self.number // self.pane.shown * self.pane.shown
        return first, columns[first : first + self.pane.shown]

    def _show(self) -> None:
        self.pane.show(self._window()[1])
        self.redraw("title", "group-head")

    def on_resize(self, _: events.Resize) -> None:
        self._show()

    def title_lines(self, width: int) -> list[Line]:
        if self._group is None:
            return [[(" Group  ", STRONG), ("Reading …", DIM)]]
        first, columns = self._window()
        last = first + len(columns)
        span = f"{first + 1}–{last}" if last > first + 1 else f"{last}"
        parts = [
            [(" Group", STRONG)],
            [(f"{span} of {count(self._group.total, 'answer')}", DIM)],
            [safe(" ".join(self._group.prompt.split()), PLAIN)],
        ]
        return [cut(joined(parts), width)]

    def _heads(self, width: int) -> list[Line]:
        first, columns = self._window()
        each = width // max(1, len(columns))
        lines: list[Line] = [[], []]
        for nth, column in enumerate(columns):
            is_chosen, best = first + nth == self.number, self._group.best if self._group else None
            is_best = best is not None and column.item is not None and column.item.reward == best
            name = joined([
                [("▸ " if is_chosen else "  ", ACCENT), safe(f"{column.key.index}", ACCENT if is_chosen else STRONG)],
                [("best", Ink("live"))] if is_best else [],
            ])  # fmt: skip
            lines[0] += padded(name, each)
            lines[1] += padded([("  ", PLAIN), *self._facts(column)], each)
        return [*lines, rule(width)]

    def _facts(self, column: AnswerColumn) -> Line:
        item = column.item
        if item is None or column.note:
            return [safe(column.note, DIM)]
        ink = self.rollouts.reward_scale.ink(item.reward, STRONG)
        advantage: Line = [("adv ", DIM), (signed(item.advantage), PLAIN)] if item.advantage is not None else []
        tokens: Line = [("tokens ", DIM), (figure(item.response_tokens), PLAIN)]
        return joined([[("reward ", DIM), (score(item.reward), ink)], advantage, tokens])

    def on_click(self, event: events.Click) -> None:
        """Choose the answer under the mouse; a second click opens it."""
        first, columns = self._window()
        number = first + event.screen_x * len(columns) // max(1, self.size.width)
        if columns and number == self.number:
            self.dismiss(columns[number - first].key)
        elif columns:
            self.number = number
            self._show()

    def action_answer(self, by: int) -> None:
        columns = self._group.columns if self._group else []
        if columns:
            self.number = max(0, min(self.number + by, len(columns) - 1))
            self._show()

    def action_choose(self) -> None:
        if self._group is not None and self._group.columns:
            self.dismiss(self._group.columns[self.number].key)


def _column(member: GroupAnswer, item: SampleItem | None, mask: Mask) -> AnswerColumn:
    blocks: list[TextBlock] = []
    parting: list[TextPlace] = []
    for _, pieces in groupby(enumerate(member.pieces), key=lambda pair: pair[1].turn):
        text, runs, role = "", [], ""
        for number, piece in pieces:
            part = shown(mask(piece.text))
            if member.parts_at is not None and member.parts_at.piece == number:
                start = len(text) + min(len(part), len(shown(mask(piece.text[: member.parts_at.char]))))
                parting.append(TextPlace(len(blocks), start, start + MARK))
            runs.append((len(text), len(text) + len(part), KINDS.get(piece.kind, PLAIN)))
            text, role = text + part, piece.role
        margin = [[safe(role, Ink(ROLES.get(role, "role-assistant"), bold=True))]]
        blocks.append(TextBlock("response", margin, text.rstrip(), runs))
    return AnswerColumn(member.key, item, blocks, parting, member.error)
