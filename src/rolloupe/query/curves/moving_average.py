"""Exponential moving average of a curve, corrected for its start."""

import math

import numpy as np

from rolloupe.query.curves.records import Floats, Ints

LARGEST = float(np.finfo(np.float64).max)
LAST_STEP = 2**63 - 1

MOST_E = 200.0
"""Weights within a block differ by less than e to this power, so that sums of them overflow nowhere."""

SCALED = 2.0**-300
"""Sums of larger numbers than 1e150, times the weights of a block, would overflow without it."""


USUAL, USUAL_SPAN, LEAST_SMOOTHED = -1, 10, 30
"""The span that stands for the usual one: of ten steps, but none for a curve of fewer than 30 points."""


def average(steps: Ints, values: Floats, span_steps: int) -> Floats | None:
    """Return the average of a whole curve over a span, which may be `USUAL`; None if nothing is averaged."""
    if span_steps == USUAL:
        span_steps = 0 if len(values) < LEAST_SMOOTHED else USUAL_SPAN
    return smoothed(steps, values, span_steps) if span_steps else None


def smoothed(steps: Ints, values: Floats, span_steps: int) -> Floats:
    """Return the average at each point: NaN at a value that is not finite, and such values do not count.

    The weight of a value falls with its distance in steps: by w = 1 - 2 / (span + 1) for each step. Dividing by the sum
    of the weights corrects the bias of the start (Kingma and Ba 2015, section 3), so that a constant curve stays
    constant.

    In a block of points, the weights relative to its first point grow, by 1 / w a step; the sums up to each point, over
    the sums of the weights, are the averages.
    """
    keep = 1 - 2 / (span_steps + 1)
    result = np.full(len(values), np.nan)
    finite = np.isfinite(values)
    at, all_values = steps[finite], values[finite]
    if keep <= 0 or not len(at):
        result[finite] = all_values
        return result
    scale = SCALED if np.abs(all_values).max() > 1e150 else 1.0
    fall = -math.log(keep)
    means = np.empty(len(at))
    first, mean, weight, last = 0, 0.0, 0.0, int(at[0])
    while first < len(at):
        end = min(int(at[first]) + int(MOST_E / fall), LAST_STEP)
        stop = max(first + 1, int(np.searchsorted(at, end, "right")))
        growth = np.exp((at[first:stop] - at[first]) * fall)
        before = weight * math.exp(-fall * (int(at[first]) - last))
        weights = before + np.cumsum(growth)
        block = (before * mean + np.cumsum(growth * (all_values[first:stop] * scale))) / weights
        means[first:stop] = block
        mean, weight, last = float(block[-1]), float(weights[-1] / growth[-1]), int(at[stop - 1])
        first = stop
    result[finite] = np.clip(means, -LARGEST * scale, LARGEST * scale) / scale
    return result
