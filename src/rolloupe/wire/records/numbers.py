"""Numbers that JSON cannot represent."""

import math
from typing import TypeAlias

Number: TypeAlias = float | int | str | None
"""A finite number; "NaN", "Infinity", "-Infinity"; the digits of an integer past 2**53; or null for a missing one."""

SAFE_INTEGER = 2**53


def number(value: float | None) -> Number:
    """Encode a number so that the browser gets exactly the same value. Bools become 0 and 1."""
    if value is None:
        return None
    if isinstance(value, int):
        return int(value) if -SAFE_INTEGER <= value <= SAFE_INTEGER else str(value)
    if math.isfinite(value):
        return value
    if math.isnan(value):
        return "NaN"
    return "Infinity" if value > 0 else "-Infinity"
