"""Where the gradient came from."""

from msgspec import Struct


class GradientShareView(Struct, kw_only=True):
    """Some of the trained samples, and their share of Σa² over all of them."""

    name: str
    where: str
    """A filter that lists them; empty for what no filter can say."""
    samples: int
    groups: int
    on_rewards: float
    """a is the reward less the mean of the group."""
    on_std: float
    """That is divided by the standard deviation of the group."""
    recorded: float | None
    """a is the advantage that the trainer recorded; null if a sample has none."""


class StepGroupsView(Struct, kw_only=True):
    """The groups of some steps, of which `step` is the first."""

    step: int
    groups: int
    dead: int
    """How many of them have equal rewards."""


class PromptCountsView(Struct, kw_only=True):
    """Prompts of several steps by how they fared; `once` counts the others."""

    metric: str
    once: int
    always: int
    never: int
    solved: int
    lost: int
    mixed: int


class GradientReply(Struct, kw_only=True):
    """`GET /api/runs/{run}/gradient?step_min=&step_max=&env=&correct=`."""

    run: str
    step_min: int | None
    step_max: int | None
    env: str | None
    samples: int
    discarded: int
    """Samples that were not trained on: they count in groups alone."""
    groups: int
    dead: int
    single: int
    """How many groups have one sample, and no siblings."""
    effective: float
    """So many groups of equal weight would pull as much."""
    by_step: list[StepGroupsView]
    """At most 40 ranges of steps."""
    correct: str
    all_right: int
    all_wrong: int
    shaping: GradientShareView | None
    """Groups all right or all wrong; null if nothing says what is right."""
    shaping_samples: list[str]
    dead_samples: list[str]
    by_env: list[GradientShareView]
    by_length: list[GradientShareView]
    by_outcome: list[GradientShareView]
    prompts: PromptCountsView | None
