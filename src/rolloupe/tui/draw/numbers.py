"""Numbers as people read them, sign for sign as on the page, and the colour of a value in its column."""

import re
from decimal import ROUND_HALF_UP, Context, Decimal
from math import inf, isfinite, isnan, sqrt
from typing import Literal, NamedTuple

from rolloupe.query import Catalogue, ColumnInfo
from rolloupe.tui.draw.ink import PLAIN, Ink

MISSING = "–"
NOISE = 1e-13
"""Sums of rewards that should be zero are this close to it."""
EXACT = 2**53 - 1
"""Beyond this, floats are not exact whole numbers."""

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
    """Return a number of things, of which a list shows at most `most`: `first 300 of 2,000 samples`."""
    return f"first {most:,} of {count(number, noun)}" if number > most else count(number, noun)


def exact(value: float | str | None) -> str:
    """Return a value with up to ten digits."""
    if isinstance(value, str):
        return value
    if isinstance(value, float) and isfinite(value):
        return f"{value:.10g}"
    return "–" if value is None else str(value) if isinstance(value, int) else figure(value)


_REWARDS = re.compile(r"^(ref_|valid_)*rewards?(\b|_)", re.IGNORECASE)
_COSTS = re.compile(
    r"penalt|repetition|length|(^|[._/])((num_)?(re)?tries|num_(turns|steps|calls|tokens|errors|attempts))($|[._/])",
    re.IGNORECASE,
)
_DIFFERENCES = re.compile(r"(_gap|log_ratio|advantages?)$", re.IGNORECASE)

_SLACK = 1e-3


def reward_ink(place: float) -> str:
    """Return the colour of a reward, from 0, the lowest, to 1: the nearest of five."""
    return f"reward-ink-{int(4 * place + 0.5)}"


class Scale(NamedTuple):
    """`score`: from bad to good, with `low` as the worst value; `signed`: around zero; `none`: no colour."""

    kind: Literal["score", "signed", "none"] = "none"
    low: float = 0.0
    high: float = 1.0

    def place(self, value: float | None) -> float | None:
        """Return the place of a value, from 0 to 1, or from -1 to 1 on a signed scale; None without a place."""
        if value is None or isnan(value) or self.kind == "none":
            return None
        if self.kind == "signed":
            return max(-1.0, min(1.0, value / self.high)) if self.high and isfinite(self.high) else 0.0
        if self.low == self.high:
            return float(value >= self.high)
        share = (value - self.low) / (self.high - self.low) if isfinite(value) else float(value > 0)
        return max(0.0, min(1.0, share))

    def ink(self, value: float | None, usual: Ink = PLAIN) -> Ink:
        """Return the ink of a number: only numbers that are good or bad, or on one side of zero, have a colour."""
        place = self.place(value)
        if value is None or place is None or (self.kind == "signed" and not value):
            return usual
        is_score, side = self.kind == "score", "pos" if value > 0 else "neg"
        return usual._replace(colour=reward_ink(place) if is_score else f"advantage-ink-{side}")


def words_of(name: str, value: float | None, scale: Scale) -> str:
    """Return a number in the form of its column: with three figures if it is a score, with a sign around zero."""
    if name == "advantage" or scale.kind == "signed":
        return signed(value)
    return score(value) if name == "reward" or scale.kind == "score" else figure(value)


def scales_of(catalogue: Catalogue) -> dict[str, Scale]:
    """Return the scale of each column."""
    return {column.name: _scale(column, catalogue.group_size) for column in catalogue.columns}


def _scale(column: ColumnInfo, group_size: int) -> Scale:
    if column.kind != "number":
        return Scale()
    if column.worst is not None and column.best is not None and column.worst != column.best:
        is_doubtful = column.worst < column.best and _COSTS.search(column.name)
        return Scale() if is_doubtful else Scale("score", column.worst, column.best)
    if column.low is None or column.high is None:
        return Scale()
    end = max(abs(column.low), abs(column.high))
    if column.name == "advantage":
        most = sqrt(max(0, group_size - 1))
        return Scale("signed", high=most if 1 + _SLACK < end <= most + _SLACK else end)
    if _DIFFERENCES.search(column.name):
        return Scale("signed", high=end)
    if _REWARDS.search(column.name) and not _COSTS.search(column.name):
        is_usual = column.low >= -1 and column.high <= 1
        low, high = (-1.0 if column.low < 0 else 0.0, 1.0) if is_usual else (column.low, column.high)
        return Scale("score", low, high)
    return Scale()
