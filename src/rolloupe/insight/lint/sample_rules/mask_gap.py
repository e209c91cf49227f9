"""The loss mask of one turn has a gap."""

import numpy as np

from rolloupe.insight.lint.whole import SampleRule, WholeSample


def breaks(one: WholeSample) -> bool | None:
    """Look at samples of one turn: between turns the tokens of tools and users are masked rightly."""
    mask = one.trained_mask
    if mask is None or one.of.row.turns != 1:
        return None
    at = np.flatnonzero(mask)
    return bool(at[-1] - at[0] + 1 > len(at))


RULE = SampleRule(
    "mask_gap",
    "between tokens of a trained sample of one turn that the loss mask has, it lacks some",
    breaks,
    "The loss mask of one turn has gaps",
    "a loss mask and one turn",
)
