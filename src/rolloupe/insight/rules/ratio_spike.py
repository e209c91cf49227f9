"""The importance ratio of some token jumps."""

from rolloupe.insight.spikes import SpikeRule

RULE = SpikeRule(
    candidates=[("token", "importance_ratio", "max")],
    pattern=r"(^|/)(importance_)?ratio[_/]max$",
    what="The largest ratio", times=5, deviations=10, record=4, sort="derived.max_mismatch_kl",
).rule("ratio_spike", "Ratio spikes")  # fmt: skip
