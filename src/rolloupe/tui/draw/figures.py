"""Numbers as people read them: as on the page, sign for sign."""

from decimal import ROUND_HALF_UP, Context, Decimal
from math import inf, isfinite, isnan

MISSING = "–"
NOISE = 1e-13
"""Sums of rewards that should be zero are this close to it."""
EXACT = 2**53 - 1
"""Beyond it, floats are no exact whole numbers."""

_ONE, _TWO, _THREE = (Context(prec=digits, rounding=ROUND_HALF_UP) for digits in (1, 2, 3))
_WHOLE = Context(prec=12, rounding=ROUND_HALF_UP)


def figure(value: float | None) -> str:
    """Return a whole number exactly, with separated thousands, others with three significant figures."""
    if value is None:
        return MISSING
    if isinstance(value, int) or (value.is_integer() and abs(value) <= EXACT):
        return _minus(f"{int(value):,}")
    return _significant(value)


def score(value: float | None) -> str:
    """Return a number always with three significant figures, so that 1 is `1.00`, aligned with 0.25."""
    if value is None:
        return MISSING
    if abs(value) >= 100 and (isinstance(value, int) or value.is_integer()):
        return figure(value)
    return _significant(0.0 if abs(value) < NOISE else float(value))


def signed(value: float | None) -> str:
    """Return the same with its sign, for values around zero."""
    return f"+{score(value)}" if value is not None and value > 0 else score(value)


def brief(value: float) -> str:
    """Return two significant figures, for narrow places: `1.2K`."""
    size = abs(value)
    if size == inf or size != size:
        return _significant(value)
    if value and not 1e-3 <= size < 1e15:
        return _minus(f"{_ONE.create_decimal(value):.0e}")
    rest, units = float(_TWO.create_decimal(value)) + 0.0, iter(("", "K", "M", "B", "T"))
    unit = next(units)
    while abs(rest) >= 1000:
        rest, unit = rest / 1000, next(units)
    return _minus(f"{rest:g}{unit}")


def narrow(shown: str, value: float | None, width: int) -> str:
    """Return a number as shown, or if that is wider than some cells, briefly."""
    return shown if value is None or len(shown) <= width else brief(value)


def _significant(value: float) -> str:
    if not isfinite(value):
        return "NaN" if isnan(value) else "inf" if value > 0 else "−inf"
    if value == 0:
        return "0.00"
    size, three = abs(value), _THREE.create_decimal_from_float(value)
    if size >= 1e9 or size < 1e-4:
        shown = f"{three:.2e}"
    elif size >= 100:
        shown = f"{Decimal(value).quantize(Decimal(1), context=_WHOLE):,}"
    else:
        shown = f"{three:.{max(0, 2 - three.adjusted())}f}"
    return _minus(shown)


def _minus(shown: str) -> str:
    return shown.replace("e+", "e").replace("-", "−")


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
    return "–" if value is None else str(value) if isinstance(value, int) else figure(value)
