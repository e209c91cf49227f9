"""The KL to the reference jumps."""

from rolloupe.insight.spikes import SpikeRule

RULE = SpikeRule(
    candidates=[("token", "kl", "mean"), ("token", "kl_k3", "mean"), ("sample", "derived.mean_kl", "mean")],
    pattern=r"(^|/)((approx|ppo|mean|ref|reference)_)?kl(_(div|loss|mean))?(/mean)?$",
    what="KL", times=4, deviations=6, sort="derived.max_kl",
).rule("kl_spike", "KL spikes")  # fmt: skip
