"""The rules of updates that can be applied to a sample."""

from collections.abc import Sequence

from rolloupe import tokens
from rolloupe.model import RunLoss
from rolloupe.tokens import SampleSeries

USUAL_UPDATE = "ppo"
"""The rule of a run whose configuration names none that its samples suffice for."""


def usual_update(names: Sequence[str], loss: RunLoss | None = None) -> str | None:
    """Return the rule to begin with, of those that a sample suffices for: the run's own, else the recorded flags."""
    wanted = (loss.rule if loss else None, tokens.RECORDED, USUAL_UPDATE, *names)
    return next((name for name in wanted if name in names), None)


def update_names(series: Sequence[SampleSeries], loss: RunLoss | None = None) -> list[str]:
    """Return the rules of updates that these series suffice for, by name, the run's own first, then recorded flags.

    Where all logprobs are those of one policy, every ratio is 1 and all other rules are the same.
    """
    inputs = tokens.loss_inputs(series)
    if inputs is None:
        return []
    is_one_policy = inputs.logprobs is inputs.old_logprobs is inputs.inference_logprobs
    names = ["reinforce"] if is_one_policy else [name for name in tokens.UPDATES if name != tokens.RECORDED]
    recorded = [] if inputs.recorded_mask is None else [tokens.RECORDED]
    return sorted([*recorded, *names], key=lambda name: loss is None or name != loss.rule)
