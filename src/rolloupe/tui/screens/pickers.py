"""What a person chooses on the main screen: runs, splits, steps, orders, datasets, actions, bookmarks."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rolloupe import query
from rolloupe.query import DatasetSummary, SampleItem, SplitSummary, Stats
from rolloupe.tui.draw.ink import ACCENT, DIM, Line
from rolloupe.tui.draw.numbers import Scale, count, score
from rolloupe.tui.keys import KEYS
from rolloupe.tui.screens.pick import Choice, pick
from rolloupe.tui.screens.sidebar import preview

if TYPE_CHECKING:
    from rolloupe.tui.screens.rollouts import Rollouts


def _reward_facts(reward: Stats, samples: int, scale: Scale) -> Line:
    """Return the mean reward and the number of samples."""
    return [
        (f"{score(reward.mean)} ", scale.ink(reward.mean)),
        (f"±{score(reward.std)}  ", DIM),
        (f"{samples:,} ", DIM),
    ]


def pick_step(screen: "Rollouts") -> None:
    """Choose a step, the newest first."""
    state = screen.live.split_state
    if state is None:
        screen.tell("The steps of this split are being read.")
        return
    steps, scale = list(reversed(state.steps)), screen.reward_scale
    choices = [Choice(f"{step.step}", _reward_facts(step.reward, step.samples, scale)) for step in steps]
    now = _place_of(screen.nav.place.step, [step.step for step in steps])
    pick(screen.app, "Step", choices, now, lambda number: screen.nav.change(step=steps[number].step))


def pick_split(screen: "Rollouts") -> None:
    """Choose a split, or of several evaluations all together."""
    assert screen.live.state is not None
    splits = screen.live.state.splits
    names = [split.name for split in splits]
    choices = [Choice(split.name, _split_facts(split, screen.reward_scale)) for split in splits]
    if sum(name.startswith("eval/") for name in names) > 1:
        names.append("eval")
        choices.append(Choice("eval", [("all evaluations of a step ", DIM)]))
    now = _place_of(screen.nav.place.split, names)
    pick(screen.app, "Split", choices, now, lambda number: screen.nav.go_to_split(names[number]))


def _split_facts(split: SplitSummary, scale: Scale) -> Line:
    return [(f"{count(split.steps, 'step')}  ", DIM), *_reward_facts(split.reward, split.samples, scale)]


def pick_sort(screen: "Rollouts") -> None:
    """Choose an order: as recorded, or by a number that has values, from large to small or back."""
    assert screen.live.state is not None
    names = ("length", *screen.live.state.sorts)
    orders = [("index", False), *((name, falls) for name in names for falls in (True, False))]
    choices = [Choice("as recorded"), *(Choice(f"{name} {'↓' if falls else '↑'}") for name, falls in orders[1:])]
    now = _place_of((screen.nav.place.sort, screen.nav.place.descending), orders)

    def then(number: int) -> None:
        name, falls = orders[number]
        screen.nav.change(sort=name, descending=falls)

    pick(screen.app, "Sort by", choices, now, then)


def pick_dataset(screen: "Rollouts") -> None:
    """Choose a dataset or an environment of the split, or all."""
    place, run = screen.nav.place, screen.live.session.run

    def choose(datasets: list[DatasetSummary]) -> None:
        if not datasets:
            screen.tell(f"No sample of {place.split} names a dataset or an environment.")
            return
        names = ["", *(dataset.name for dataset in datasets)]
        choices = [
            Choice("all"),
            *(Choice(dataset.name, _dataset_facts(dataset, screen.reward_scale)) for dataset in datasets),
        ]
        now = _place_of(place.dataset, names)
        pick(screen.app, "Dataset", choices, now, lambda number: screen.nav.change(dataset=names[number]))

    screen.ask("datasets", lambda: query.datasets(run, place.split), choose)


def _dataset_facts(dataset: DatasetSummary, scale: Scale) -> Line:
    return [(f"{score(dataset.reward)}  ", scale.ink(dataset.reward)), (f"{dataset.samples:,} ", DIM)]


def pick_run(screen: "Rollouts") -> None:
    """Choose one of the open runs."""
    runs = screen.live.library.runs
    choices = [Choice(run.id, [(f"{run.info.format} ", DIM)]) for run in runs]
    now = _place_of(screen.live.session.run, runs)
    pick(screen.app, "Run", choices, now, lambda number: screen.nav.go_to_run(runs[number]))


def pick_fields(screen: "Rollouts") -> None:
    """Show and hide fields in the left pane."""
    screen.open_side(is_open=True)
    screen.side.query_one("#fields").focus()


def pick_action(screen: "Rollouts") -> None:
    """Choose an action by its name."""
    actions = [key for key in KEYS if key.action != "palette"]
    choices = [Choice(key.meaning, [(f"{key.label} ", ACCENT)]) for key in actions]
    pick(screen.app, "Do", choices, 0, lambda number: screen.do_later(actions[number].action))


def pick_bookmark(screen: "Rollouts") -> None:
    """Choose a bookmarked sample."""
    run, nav = screen.live.session.run, screen.nav

    def choose(items: list[SampleItem]) -> None:
        if not items:
            screen.tell("No sample of this run is bookmarked; b bookmarks one.")
            return
        choices = [Choice(f"{item.id}  {preview(item.response)}") for item in items]
        now = _place_of(nav.shown.item and nav.shown.item.key, [item.key for item in items])
        pick(screen.app, "Bookmarks", choices, now, lambda number: nav.go_to(items[number].key))

    screen.ask("bookmarks", lambda: screen.bookmarks.listed(run), choose)


def _place_of(value: object, values: Sequence[object]) -> int:
    """Return the number of the present choice; the first if it is not among them."""
    return next((number for number, other in enumerate(values) if other == value), 0)


PICKERS = {
    "run": pick_run,
    "split": pick_split,
    "step": pick_step,
    "sort": pick_sort,
    "fields": pick_fields,
    "dataset": pick_dataset,
}
"""By the names that keys have for them."""
