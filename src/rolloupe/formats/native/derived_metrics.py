"""Sample metrics of a recorded run that follow from its lines, under the names that other formats use."""

import math
from collections.abc import Mapping

from rolloupe.model import SeriesFacts


def derived(
    reward: float | None,
    ref_reward: float | None,
    ref_response: str,
    metrics: Mapping[str, float],
    series: Mapping[str, SeriesFacts],
) -> dict[str, float]:
    """Return the reference's reward and length, gaps of rewards, and mean, sum and maximum of log-ratio and KL.

    The log-ratio is logprobs - ref_logprobs. A line holds the sum of each series: the sum of the log-ratio follows if
    both cover as many tokens. KL needs a recorded series `kl`; recorded metrics are never overwritten.
    """
    found = {} if ref_reward is None else {"ref_reward": ref_reward}
    if ref_response:
        found["ref_response_chars"] = float(len(ref_response))
    for gap, other in (("reward_gap", ref_reward), ("valid_reward_gap", metrics.get("valid_reward"))):
        if reward is not None and other is not None and math.isfinite(reward) and math.isfinite(other):
            found[gap] = reward - other
    own, reference = series.get("logprobs"), series.get("ref_logprobs")
    if own is not None and reference is not None and own.count == reference.count:
        found["sum_log_ratio"] = own.sum - reference.sum
        found["avg_log_ratio"] = found["sum_log_ratio"] / own.count
    if (kl := series.get("kl")) is not None:
        found |= {"avg_kl": kl.sum / kl.count, "sum_kl": kl.sum, "max_kl": kl.max}
    return {name: value for name, value in found.items() if name not in metrics}
