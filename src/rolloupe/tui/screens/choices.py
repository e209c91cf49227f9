"""What the pickers offer: runs, splits, steps, orders."""

from collections.abc import Iterable, Sequence

from rolloupe.query import DatasetSummary, SplitSummary, Stats, StepSummary
from rolloupe.tui.draw.figures import count, score
from rolloupe.tui.draw.ink import DIM, Line
from rolloupe.tui.draw.scales import Scale
from rolloupe.tui.run.place import ListPlace
from rolloupe.tui.run.session import RunState
from rolloupe.tui.screens.pick import Choice


def reward_facts(reward: Stats, samples: int, scale: Scale) -> Line:
    """Return the mean reward and the number of samples."""
    return [
        (f"{score(reward.mean)} ", scale.ink(reward.mean)),
        (f"±{score(reward.std)}  ", DIM),
        (f"{samples:,} ", DIM),
    ]


def step_choices(steps: Sequence[StepSummary], scale: Scale) -> list[Choice]:
    """Return the steps, the newest first."""
    return [Choice(f"{one.step}", reward_facts(one.reward, one.samples, scale)) for one in reversed(steps)]


def split_choices(splits: Iterable[SplitSummary], scale: Scale) -> list[tuple[str, Choice]]:
    """Return the splits, and of several evaluations all together."""
    splits = list(splits)
    choices = [
        (
            one.name,
            Choice(one.name, [(f"{count(one.steps, 'step')}  ", DIM), *reward_facts(one.reward, one.samples, scale)]),
        )
        for one in splits
    ]
    if sum(one.name.startswith("eval/") for one in splits) > 1:
        choices.append(("eval", Choice("eval", [("all evaluations of a step ", DIM)])))
    return choices


def dataset_choices(datasets: Sequence[DatasetSummary], scale: Scale) -> list[Choice]:
    """Return all datasets together, then each."""
    facts: list[Line] = [
        [(f"{score(one.reward)}  ", scale.ink(one.reward)), (f"{one.samples:,} ", DIM)] for one in datasets
    ]
    return [Choice("all"), *(Choice(one.name, line) for one, line in zip(datasets, facts, strict=True))]


def sort_choices(state: RunState) -> list[tuple[str, bool, Choice]]:
    """Return the orders: as recorded, then every number that has values, from large to small and back."""
    choices = [("index", False, Choice("as recorded"))]
    for name in ("length", *state.sorts):
        choices += [(name, True, Choice(f"{name} ↓")), (name, False, Choice(f"{name} ↑"))]
    return choices


def current_sort(place: ListPlace, choices: Sequence[tuple[str, bool, Choice]]) -> int:
    """Return the number of the present order."""
    return next((n for n, one in enumerate(choices) if one[:2] == (place.sort, place.descending)), 0)
