"""Trainer and inference engine disagree on the same tokens."""

from rolloupe.insight.spikes import SpikeRule

RULE = SpikeRule(
    candidates=[("token", "mismatch_kl", "mean")],
    pattern=r"(^|/)mismatch_kl([_/]mean)?$",
    what="Mismatch KL", times=5, deviations=8, sort="derived.max_mismatch_kl",
).rule("mismatch_spike", "Mismatch of trainer and engine")  # fmt: skip
