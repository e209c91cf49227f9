"""Exponential moving average of a curve, corrected for its start."""

import math
import sys

import numpy as np

from rolloupe.query.curves.records import Floats, Ints

LARGEST = sys.float_info.max


def smoothed(steps: Ints, values: Floats, span_steps: int) -> Floats:
    """Return the average at each point: NaN at a value that is not finite, and such values do not count.

    The weight of a value falls with its distance in steps: by w = 1 - 2 / (span + 1) for each step. Dividing by the sum
    of the weights corrects the bias of the start (Kingma and Ba 2015, section 3), so that a constant curve stays
    constant.
    """
    keep = 1 - 2 / (span_steps + 1)
    result = np.full(len(values), np.nan)
    mean = weight = 0.0
    last = 0
    for place, (step, value) in enumerate(zip(steps.tolist(), values.tolist(), strict=True)):
        if not math.isfinite(value):
            continue
        before = keep ** (step - last) * weight if weight else 0.0
        weight = before + 1
        mean = min(max(mean * (before / weight) + value / weight, -LARGEST), LARGEST)  # rounding may exceed it
        result[place], last = mean, step
    return result
