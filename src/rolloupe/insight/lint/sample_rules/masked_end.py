"""The token that ends a response is not trained."""

from rolloupe.derive import END_MARKERS
from rolloupe.insight.lint.whole import SampleRule, WholeSample


def breaks(one: WholeSample) -> bool | None:
    """Look at completed samples whose last token is an end-of-sequence marker behind a trained token."""
    mask = one.trained_mask
    if mask is None or len(mask) < 2 or one.of.row.status != "completed" or not one.token_texts:
        return None
    if one.token_texts[-1].strip() not in END_MARKERS or not mask[-2]:
        return None
    return not mask[-1]


RULE = SampleRule(
    "masked_end",
    "the last token of a completed, trained sample is an end-of-sequence marker, which the loss mask lacks though it "
    "has the token before",
    breaks,
    "The model does not learn to end: the loss mask lacks the last token",
    "a loss mask, is completed and ends with an end-of-sequence token",
    is_certain=True,
)
