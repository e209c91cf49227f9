"""Nothing of a sample is trained."""

from rolloupe.insight.lint.whole import SampleRule, WholeSample

CUT_OFF = ("truncated", "aborted", "error", "pending")
"""A trainer may mask these on purpose."""


def breaks(one: WholeSample) -> bool | None:
    """Look at samples that count as trained on, and were not cut off."""
    if not one.is_trained or one.mask is None or not len(one.mask) or one.of.row.status in CUT_OFF:
        return None
    return not one.mask.any()


RULE = SampleRule(
    "empty_mask",
    "the loss mask of a sample that counts as trained on, and was not cut off, has no token",
    breaks,
    "Trained on, yet the loss mask has no token",
    "a loss mask and is trained on",
    is_certain=True,
)
