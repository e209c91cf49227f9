"""The colour of a value in a column: from the range that the run declares, else from the values seen."""

import re
from math import isfinite, isnan, sqrt
from typing import Literal, NamedTuple

from rolloupe.query import Catalogue, ColumnInfo
from rolloupe.tui.draw.figures import figure, score, signed
from rolloupe.tui.draw.ink import PLAIN, Ink

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
    """`score`: from bad to good, of which `low` is the worst; `signed`: around zero; `none`: no colour."""

    kind: Literal["score", "signed", "none"] = "none"
    low: float = 0.0
    high: float = 1.0

    def place(self, value: float | None) -> float | None:
        """Return the place of a value from 0 to 1, on a signed scale from -1 to 1; None if it has none."""
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
        return _observed(column.low, column.high)
    return Scale()


def _observed(low: float, high: float) -> Scale:
    """Return the usual range of rewards that holds those seen so far, else the observed one."""
    if low >= -1 and high <= 1:
        return Scale("score", -1.0 if low < 0 else 0.0, 1.0)
    return Scale("score", low, high)
