"""What says where the gradient came from."""

from collections.abc import Sequence

from msgspec import Struct


class GradientShare(Struct, frozen=True, kw_only=True):
    """Some of the samples, and their share of Σa² over all of them."""

    name: str
    where: str = ""
    """A filter that lists them; empty for what no filter can say."""
    samples: int
    groups: int
    """The groups that have some of them."""
    on_rewards: float
    """The share of Σa² if a is the reward less the mean of the group."""
    on_std: float
    """The share if that is divided by the standard deviation of the group, as GRPO does."""
    recorded: float | None
    """The share by the advantages that the trainer recorded; None if a sample has none."""


class StepGroups(Struct, frozen=True):
    """The groups of a step."""

    step: int
    groups: int
    dead: int
    """How many of them have equal rewards, and no gradient."""


def in_bins(steps: Sequence[StepGroups], most: int) -> list[StepGroups]:
    """The sums of at most so many ranges of steps; `step` is the first of each."""
    bins = min(most, len(steps))
    parts = [steps[len(steps) * n // bins : len(steps) * (n + 1) // bins] for n in range(bins)]
    return [StepGroups(one[0].step, sum(of.groups for of in one), sum(of.dead for of in one)) for one in parts]


class PromptCounts(Struct, frozen=True, kw_only=True):
    """How prompts fared that were asked at several steps."""

    metric: str
    """What decides whether an answer is right. A prompt does well at a step if more than half of its answers are."""
    once: int
    """Prompts of one step alone; the others are counted below."""
    always: int
    """They did well at every step."""
    never: int
    """No answer was ever right."""
    solved: int
    """They do well at the last step, and did not always."""
    lost: int
    """They did well before, but not at the last step."""
    mixed: int
    """They never did well, with some right answers."""


class RunGradient(Struct, frozen=True, kw_only=True):
    """Where the gradient of the trained samples of a window came from."""

    step_min: int | None
    step_max: int | None
    env: str | None
    samples: int
    """Trained samples with a reward."""
    discarded: int
    """Samples with a reward that were not trained on: nothing but `groups`, `dead` and `single` counts them."""
    groups: int
    """Groups with a reward, those that were discarded too."""
    dead: int
    """How many of them have equal rewards, and no gradient."""
    single: int
    """How many of the groups have one sample, and no siblings."""
    effective: float
    """(Σw)²/Σw² of w = Σa² on rewards: so many groups of equal weight would be as many."""
    by_step: list[StepGroups]
    """A step each, or as many ranges of steps as were asked for."""
    correct: str
    """The metric that counts as correctness; empty without one."""
    all_right: int
    """Groups of which every trained sample is right; 0 without a metric of correctness."""
    all_wrong: int
    """Groups of which every one is wrong; a group where a sample lacks the metric is neither."""
    shaping: GradientShare | None
    """Groups all right or all wrong, whose rewards differ by other parts only; None without correctness."""
    shaping_samples: list[str]
    """A sample each of those of these groups that pull most after the division."""
    dead_samples: list[str]
    """A sample each of the latest dead groups."""
    by_env: list[GradientShare]
    by_length: list[GradientShare]
    by_outcome: list[GradientShare]
    prompts: PromptCounts | None
    """None for one environment alone."""
    note: str = ""
    """Why nothing has a gradient; empty if something has one."""
