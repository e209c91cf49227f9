"""Landmarks of training: steps at which a run saved a checkpoint, or was resumed."""

from typing import NamedTuple

from rolloupe.index import OpenRun
from rolloupe.query.run.trainer_files import checkpoints


class Saved(NamedTuple):
    """A checkpoint with a step."""

    step: int
    name: str


class Resumed(NamedTuple):
    """A launch of the run after the first one."""

    step: int
    """The first step of which its samples count."""
    launch: int
    again: int
    """The number of its steps that an earlier launch had recorded, too."""


class Landmarks(NamedTuple):
    """Both in ascending order of step."""

    saved: list[Saved]
    resumed: list[Resumed]


def landmarks(run: OpenRun) -> Landmarks:
    """Return the steps at which a run saved a checkpoint, or was resumed."""
    saved = [Saved(one.step, one.name) for one in checkpoints(run) if one.step is not None]
    return Landmarks(sorted(saved), _resumed(run))


def _resumed(run: OpenRun) -> list[Resumed]:
    """The launches from the second on of which samples count."""
    steps: dict[int, set[int]] = {}
    repeated: dict[int, set[int]] = {}
    for stats in run.snapshot().steps.values():
        if stats.launch > 1:
            steps.setdefault(stats.launch, set()).add(stats.step)
            if stats.superseded:
                repeated.setdefault(stats.launch, set()).add(stats.step)
    found = (Resumed(min(own), launch, len(repeated.get(launch, ()))) for launch, own in steps.items())
    return sorted(found)
