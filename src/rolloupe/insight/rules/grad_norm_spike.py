"""The norm of the gradient jumps."""

from rolloupe.insight.spikes import SpikeRule

RULE = SpikeRule(
    candidates=[],
    pattern=r"(^|/)grad(ient)?_?norm(/mean)?$",
    what="The gradient norm", times=8, deviations=6, sort="",
).rule("grad_norm_spike", "Gradient norm spikes")  # fmt: skip
