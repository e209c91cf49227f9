"""All that can be set, with the values of the default run."""

from dataclasses import dataclass, field

from rewards import Checking
from task import Teacher


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """One run. `config.json` of the run holds these."""

    seed: int = 7
    steps: int = 90
    threads: int = 2

    # The model, and the moment of supervision before.
    width: int = 128
    layers: int = 3
    heads: int = 4
    drill_steps: int = 120
    drill_batch: int = 256
    sft_steps: int = 480
    sft_batch: int = 56
    sft_lr: float = 3e-3
    teacher: Teacher = field(default_factory=Teacher)

    # Rollouts.
    prompts: int = 20
    samples: int = 8
    temperature: float = 1.0
    longest_prompt: int = 56
    """In tokens. A longer story fails, as it would in a server with a context limit: an error, as data."""
    longest_response: int = 112
    events: tuple[int, ...] = (2, 2, 3, 3)
    """How many things happen in a story: one of these."""
    checking: Checking = "naive"

    # How far rollouts fall behind, and how far they may.
    tokens_per_step: float = 80.0
    """How many tokens of a response the simulated engine gets done in the time of a trainer's step."""
    jitter: float = 0.55
    """How much the engine's speed varies between groups: standard deviation of its logarithm."""
    max_staleness: int = 3

    # GRPO.
    lr: float = 1.5e-4
    warmup: int = 4
    minibatches: int = 2
    clip_low: float = 0.2
    clip_high: float = 0.28
    kl_weight: float = 0.01
    max_grad_norm: float = 1.0
    mask_ratio: float = 5.0
    """Tokens on whose probability sampler and trainer differ by more than this factor are left out of the loss."""

    # What is looked at, and kept.
    eval_every: int = 10
    eval_problems: int = 24
    eval_samples: int = 4
    checkpoint_every: int = 20
    series_groups: int = 20
    """Of how many groups a step the token series are recorded; texts and numbers are recorded of all."""


PRESETS = {"default": Settings(), "demo": Settings(series_groups=2)}
