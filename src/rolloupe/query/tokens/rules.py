"""The rules of updates that can be applied to a sample."""

from collections.abc import Sequence

from rolloupe import tokens
from rolloupe.model import RunLoss
from rolloupe.tokens import SampleSeries


def update_names(series: Sequence[SampleSeries], loss: RunLoss | None = None) -> list[str]:
    """Return the rules of updates that these series suffice for, by name, the run's own first.

    Where all logprobs are those of one policy, every ratio is 1 and all rules are the same.
    """
    inputs = tokens.loss_inputs(series)
    if inputs is None:
        return []
    is_one_policy = inputs.logprobs is inputs.old_logprobs is inputs.inference_logprobs
    if is_one_policy:
        return ["reinforce"]
    return sorted(tokens.UPDATES, key=lambda name: loss is None or name != loss.rule)
