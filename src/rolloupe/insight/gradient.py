"""Where the gradient of a run came from: each group pulls by Σa², the squared advantages of its samples."""

from collections.abc import Sequence

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from rolloupe import query
from rolloupe.errors import NotFound
from rolloupe.features import Floats, Grouping
from rolloupe.index import OpenRun
from rolloupe.insight.findings.correctness import correctness_of, metrics_of
from rolloupe.query import GROUP, SampleQuery

FLAT = 1e-12
"""Less is a rounding error."""


class GradientShare(Struct, frozen=True):
    """A part of the groups, and its share of Σa² over all of them."""

    name: str
    groups: int
    on_rewards: float
    """Of rewards less the mean of the group."""
    on_std: float
    """Of the same, divided by the standard deviation of the group, as GRPO does."""


class RunGradient(Struct, frozen=True, kw_only=True):
    """Where the gradient of the training samples came from."""

    groups: int
    """Groups with a reward."""
    dead: int
    """How many of them have equal rewards, and no gradient."""
    dead_by_step: dict[int, int]
    effective: float
    """(Σw)²/Σw² of w = Σa² on rewards: as many groups of equal weight would be as many."""
    correct: str
    """The metric that counts as correctness; empty without one."""
    shaping: GradientShare | None
    """Groups all right or all wrong, whose rewards differ by other parts only; None without correctness."""
    by_env: list[GradientShare]


def gradient(run: OpenRun) -> RunGradient:
    """Add up what the groups of `train` pull. Raises `NotFound` for a run without."""
    correct = correctness_of(run, metrics_of(run.snapshot(), "train"), "")
    names = ["step", "reward", "env", *([correct] if correct else [])]
    arrays = query.sample_arrays(run, SampleQuery(splits=("train",)), names)
    if not len(arrays):
        raise NotFound("the run has no training samples")
    rewards = arrays.numbers("reward")
    own = np.flatnonzero(np.isfinite(rewards))
    grouping = Grouping(arrays.table[GROUP].to_numpy().astype(np.uint64).view(np.int64)[own])
    gaps = grouping.centred(rewards[own])
    pulls = grouping.sums(gaps * gaps)
    is_dead = pulls < FLAT
    pulls[is_dead] = 0
    normed = np.where(is_dead, 0, grouping.sizes).astype(np.float64)  # Σ(gap/std)² is the size of a group
    first = own[grouping.starts]
    steps = arrays.numbers("step")[first].astype(np.int64)
    envs = arrays.table["env"].fill_null("").to_numpy()[first]
    dead_steps, counts = np.unique(steps[is_dead], return_counts=True)
    right = arrays.numbers(names[-1])[own] if correct else None
    return RunGradient(
        groups=len(grouping),
        dead=int(is_dead.sum()),
        dead_by_step=dict(zip(dead_steps.tolist(), counts.tolist(), strict=True)),
        effective=float(pulls.sum() ** 2 / (pulls @ pulls)) if pulls.any() else 0.0,
        correct=correct,
        shaping=None if right is None else _share("shaping", _are_alike(grouping, right) & ~is_dead, [pulls, normed]),
        by_env=[_share(env, envs == env, [pulls, normed]) for env in sorted({*envs.tolist()})],
    )


def _are_alike(grouping: Grouping, values: Floats) -> NDArray[np.bool_]:
    """The groups of which all samples have the same value."""
    gaps = grouping.centred(np.nan_to_num(values))
    alike: NDArray[np.bool_] = grouping.sums(gaps * gaps) < FLAT
    return alike


def _share(name: str, groups: NDArray[np.bool_], weights: Sequence[Floats]) -> GradientShare:
    shares = [float(one[groups].sum() / one.sum()) if one.any() else 0.0 for one in weights]
    return GradientShare(name, int(groups.sum()), *shares)
