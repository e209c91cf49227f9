"""Numbers as people read them."""

import re
from math import isfinite, isnan


def brief(value: float | None) -> str:
    """Return a whole number, any other with three significant figures, as on the page; a dash if missing."""
    if value is None:
        return "–"
    if not isfinite(value):
        return "NaN" if isnan(value) else "inf" if value > 0 else "−inf"
    if isinstance(value, int) or (value.is_integer() and abs(value) < 1e6):
        return f"{int(value):,}".replace("-", "−")
    return _three(value).replace("-", "−")


def _three(value: float) -> str:
    size = abs(value)
    if size >= 1e6 or size < 1e-4:
        return re.sub(r"e\+?(-?)0*", r"e\1", f"{value:.2e}")
    return f"{value:,.0f}" if size >= 99.95 else f"{value:#.3g}"


def signed(value: float | None) -> str:
    """Return a number with its sign."""
    shown = brief(value)
    return f"+{shown}" if value is not None and value > 0 and isfinite(value) else shown


def count(number: int, noun: str) -> str:
    """Return a number of things: `1 sample`, `2,000 samples`."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def listed(most: int, number: int, noun: str) -> str:
    """Return a number of things of which at most some are listed: `first 300 of 2,000 samples`."""
    return f"first {most:,} of {count(number, noun)}" if number > most else count(number, noun)


def exact(value: float | str | None) -> str:
    """Return a value as exactly as a person may want it."""
    if isinstance(value, str):
        return value
    if isinstance(value, float) and isfinite(value):
        return f"{value:.10g}"
    return "–" if value is None else str(value) if isinstance(value, int) else brief(value)
