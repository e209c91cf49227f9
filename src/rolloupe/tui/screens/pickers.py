"""A list to choose from, which typing narrows, and its uses on the main screen: runs, splits, steps, orders."""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from textual import events
from textual.app import App, ComposeResult
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.widgets import Input

from rolloupe import query
from rolloupe.query import DatasetSummary, SampleItem, Stats
from rolloupe.query.engine.names import EVALS
from rolloupe.tui.draw.ink import ACCENT, DIM, STRONG, Line, padded, safe
from rolloupe.tui.draw.numbers import Scale, count, score
from rolloupe.tui.keys import KEYS
from rolloupe.tui.screens.over import OverScreen
from rolloupe.tui.screens.sidebar import preview
from rolloupe.tui.widgets.lines import LineBar, RowList
from rolloupe.tui.widgets.prompt_line import TypingLine

if TYPE_CHECKING:
    from rolloupe.tui.screens.rollouts import Rollouts


T = TypeVar("T")

MOVES = ("up", "down", "pageup", "pagedown")
ENDS = ("home", "end")
"""Keys that belong to the line if something is typed there."""


class Choice(NamedTuple):
    """Something to choose: its text, and facts at its right."""

    text: str
    facts: Line = []  # noqa: RUF012


class PickScreen(ModalScreen[int | None], OverScreen[int | None]):
    """Returns the number of the choice, None if the person leaves."""

    def __init__(self, title: str, choices: Sequence[Choice], current: int = 0) -> None:
        super().__init__()
        self._title = title
        self._choices = choices
        self._current = current
        self._typed = ""
        self._numbers = list(range(len(choices)))

    def compose(self) -> ComposeResult:
        with Vertical(id="pick"):
            yield LineBar("pick-title", self._title_lines, "surface-float")
            yield TypingLine(placeholder="type to narrow", id="pick-input", compact=True)
            yield RowList("pick-rows", self._choose, has_own_keys=True)

    def on_mount(self) -> None:
        self.rows.ground = "surface-float"
        self._show(self._current)

    def _title_lines(self, width: int) -> list[Line]:
        none: Line = [("  nothing has all these words", DIM)] if not self._numbers else []
        return [padded([safe(f" {self._title}", STRONG), *none], width)]

    @property
    def rows(self) -> RowList:
        return self.query_one("#pick-rows", RowList)

    def _show(self, cursor: int) -> None:
        self.rows.fill(len(self._numbers), self._row, cursor)
        self.query_one(LineBar).changed()

    def _row(self, number: int, width: int) -> list[Line]:
        text, facts = self._choices[self._numbers[number]]
        return [[*padded([safe(f" {text}")], max(0, width - sum(len(fact) for fact, _ in facts))), *facts]]

    def on_input_changed(self, event: Input.Changed) -> None:
        if event.value != self._typed:  # otherwise the list is narrowed already
            self._narrow(event.value)

    def _narrow(self, text: str) -> None:
        """Keep the choices that contain every typed word: exact matches first, then those that begin with the text."""
        self._typed, typed = text, text.lower().strip()
        words = typed.split()
        texts = [choice.text.lower() for choice in self._choices]
        self._numbers = [n for n, text in enumerate(texts) if all(word in text for word in words)]
        self._numbers.sort(key=lambda n: (texts[n] != typed, not texts[n].startswith(typed)))
        self._show(0 if words else self._current)

    def _choose(self, row: int) -> None:
        if row < len(self._numbers):
            self.dismiss(self._numbers[row])

    async def on_key(self, event: events.Key) -> None:
        line = self.query_one(TypingLine)
        if self.misses(event):
            return
        if event.key == "escape":
            event.stop()
            self.dismiss(None)
        elif event.is_printable and event.character and self.focused is None:  # pressed before the line appeared
            event.stop()
            line.insert_text_at_cursor(event.character)
        elif event.key == "enter" and self.focused is not self.rows:
            event.stop()
            event.prevent_default()
            value = line.value
            if value != self._typed:  # a quick person presses Enter before the list is narrowed
                self._narrow(value)
            self._choose(self.rows.cursor)
        elif self.focused is not self.rows and (event.key in MOVES or (event.key in ENDS and not line.value)):
            event.stop()
            event.prevent_default()
            await self.rows.on_key(event)


def pick(app: App[None], title: str, choices: Mapping[T, Choice], current: object, then: Callable[[T], object]) -> None:
    """Let a person choose, then call `then` with the key of the choice; not if the person leaves."""
    keys = list(choices)

    def take(number: int | None) -> None:
        if number is not None:
            then(keys[number])

    now = next((nth for nth, key in enumerate(keys) if key == current), 0)
    app.push_screen(PickScreen(title, list(choices.values()), now), take)


def _reward_facts(reward: Stats, samples: int, scale: Scale) -> Line:
    return [
        (f"{score(reward.mean)} ", scale.ink(reward.mean)),
        (f"±{score(reward.std)}  ", DIM),
        (f"{samples:,} ", DIM),
    ]


def pick_step(screen: "Rollouts") -> None:
    """Choose a step; End goes to the newest."""
    state = screen.live.split_state
    if state is None:
        screen.tell("The steps of this split are being read.")
        return
    scale = screen.reward_scale
    choices = {
        step.step: Choice(f"{step.step}", _reward_facts(step.reward, step.samples, scale)) for step in state.steps
    }
    pick(screen.app, "Step", choices, screen.nav.place.step, lambda step: screen.nav.change(step=step))


def pick_split(screen: "Rollouts") -> None:
    """Choose a split, or all evaluations together."""
    if screen.live.state is None:
        return
    splits, choices = screen.live.state.splits, {}
    first_eval = next((split for split in splits if split.name.startswith("eval/")), None)
    for split in splits:
        if split is first_eval and split is not splits[-1]:
            choices[EVALS] = Choice(f"{EVALS} (all)", [("all evaluations of a step ", DIM)])
        facts = _reward_facts(split.reward, split.samples, screen.reward_scale)
        choices[split.name] = Choice(split.name, [(f"{count(split.steps, 'step')}  ", DIM), *facts])
    pick(screen.app, "Split", choices, screen.nav.place.split, screen.nav.go_to_split)


def pick_sort(screen: "Rollouts") -> None:
    """Choose an order: as recorded, or by a number that has values, from large to small or back."""
    sorts = screen.live.state.sorts if screen.live.state else []
    choices = {("index", False): Choice("as recorded")}
    for name in ("length", *sorts):
        choices |= {(name, falls): Choice(f"{name} {'↓' if falls else '↑'}") for falls in (True, False)}
    now = screen.nav.place.sort, screen.nav.place.descending
    pick(screen.app, "Sort by", choices, now, lambda order: screen.nav.change(sort=order[0], descending=order[1]))


def pick_dataset(screen: "Rollouts") -> None:
    """Choose a dataset or an environment of the split, or all."""
    place, run = screen.nav.place, screen.live.session.run

    def choose(datasets: list[DatasetSummary]) -> None:
        if not datasets:
            screen.tell(f"No sample of {place.split} names a dataset or an environment.")
            return
        choices = {"": Choice("all")}
        for dataset in datasets:
            mean: Line = [(f"{score(dataset.reward)}  ", screen.reward_scale.ink(dataset.reward))]
            choices[dataset.name] = Choice(dataset.name, [*mean, (f"{dataset.samples:,} ", DIM)])
        pick(screen.app, "Dataset", choices, place.dataset, lambda dataset: screen.nav.change(dataset=dataset))

    screen.ask("datasets", lambda: query.datasets(run, place.split), choose)


def pick_run(screen: "Rollouts") -> None:
    """Choose one of the open runs."""
    choices = {run: Choice(run.id, [(f"{run.info.format} ", DIM)]) for run in screen.live.library.runs}
    pick(screen.app, "Run", choices, screen.live.session.run, screen.nav.go_to_run)


def pick_fields(screen: "Rollouts") -> None:
    """Show and hide fields in the left pane."""
    screen.open_side(is_open=True)
    screen.side.query_one("#fields").focus()


def pick_action(screen: "Rollouts") -> None:
    """Choose an action by its name."""
    keys = [key for key in KEYS if key.label != "Ctrl+P"]
    choices = {key.action: Choice(key.meaning, [(f"{key.label} ", ACCENT)]) for key in keys}
    # The list leaves first.
    pick(screen.app, "Do", choices, None, lambda action: screen.call_later(screen.run_action, action))


def pick_bookmark(screen: "Rollouts") -> None:
    """Choose a bookmarked sample."""
    run, nav = screen.live.session.run, screen.nav

    def choose(items: list[SampleItem]) -> None:
        if not items:
            screen.tell("No sample of this run is bookmarked; b bookmarks one.")
            return
        choices = {item.key: Choice(f"{item.id}  {preview(item.response)}") for item in items}
        pick(screen.app, "Bookmarks", choices, nav.key, nav.go_to)

    screen.ask("bookmarks", lambda: screen.bookmarks.listed(run), choose)
