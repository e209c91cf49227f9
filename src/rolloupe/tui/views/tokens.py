"""The tokens of a sample, ready to be drawn: their texts, their series with scales of tints, the card of one token."""

import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from math import isnan
from typing import NamedTuple

import numpy as np
from rich.cells import cell_len

from rolloupe import query, tokens
from rolloupe.errors import BadQuery
from rolloupe.index import OpenRun
from rolloupe.model import Sample
from rolloupe.query import TokenPage, TokenUpdate
from rolloupe.query.search.pattern import Mask
from rolloupe.text.visible import visible_line
from rolloupe.tokens import Floats, Scale
from rolloupe.tui.draw.ink import ACCENT, DIM, PLAIN, STRONG, Ink, Line, cut, joined, safe, width_of
from rolloupe.tui.draw.numbers import figure, score

FIRST = ("kl_k3", "kl", "mismatch_kl", "importance_ratio", "entropy", "log_ratio", "advantages", "logprobs")
"""Series to begin with, of those that a sample has."""
FLAGS = ("loss_mask", "attention_mask", "is_masked", "is_masked_high", "is_masked_low")
"""Flags that a trainer recorded: they are numbers, but not values to compare."""

CLIPPED = 0.01
"""The share of the values beyond either end."""
OUT = 0.25
"""The share of the values that stand out."""
REACH = 1000
"""On a log scale, a tinted value is at most this many times smaller than the end."""
SAME = 1e-6
"""Values that differ by less than float32 can tell are equal."""
SIDES = 0.9
"""If most values are this close to an end, they differ only by their side, and all keep their tints."""

_RATIO, _LOW_WORST = re.compile(r"(?!log)(.*_)?ratio"), re.compile(r"(.*_)?(logprobs|probability)")

Ends = tuple[float, float]


class TokenScale(NamedTuple):
    """A scale between two ends. With `is_two_sided` it has no tint in its middle, at 0 or at a ratio of 1."""

    kind: Scale
    low: float
    high: float
    is_two_sided: bool = False
    quiet: float = 0.0
    """This share of either side, next to the middle, has no tint."""
    is_down: bool = False
    """The tint grows towards the low end."""

    def strengths(self, values: Floats) -> Floats:
        """Return the strength of each tint, from 0 to 1, on a scale with two sides from -1; NaN without a value."""
        low, high = self.low, self.high
        if not low < high:
            return np.where(np.isnan(values) | np.isnan(low), np.nan, 0.0)
        if self.kind == "log":
            with np.errstate(divide="ignore", invalid="ignore"):
                low, high, values = float(np.log(low)), float(np.log(high)), np.log(np.maximum(values, 0.0))
        place = np.clip((values / 2 - low / 2) / (high / 2 - low / 2), 0, 1)  # of halves: the whole may be infinite
        if not self.is_two_sided:
            return 1 - place if self.is_down else place
        strength = 2 * place - 1
        return np.sign(strength) * np.maximum(0.0, np.abs(strength) - self.quiet) / (1 - self.quiet)

    def ramp(self, count: int) -> Floats:
        """Return strengths from one end to the other."""
        if self.kind == "log" and self.low > 0:
            return self.strengths(np.geomspace(self.low, self.high, count))
        return self.strengths(np.linspace(self.low, self.high, count))


def scale_of(values: Floats, kind: Scale, name: str) -> TokenScale:
    """Return the scale of a series: from what is usual to the worst, without the outermost hundredth."""
    ordered = np.sort(values[np.isfinite(values)])
    some = ordered[ordered > 0] if kind == "log" else ordered
    if not len(some):
        return TokenScale(kind, np.nan, np.nan)
    least, greatest = float(some[0]), float(some[-1])
    if greatest - least <= SAME * max(abs(least), abs(greatest)):
        return TokenScale(kind, least, greatest)
    if kind == "symmetric":
        return _two_sided(_between(some), some)
    if kind == "log" and _RATIO.fullmatch(name):
        side = _two_sided(np.log(_between(some)), np.log(some))
        return side._replace(kind=kind, low=float(np.exp(side.low)), high=float(np.exp(side.high)))
    is_down = _LOW_WORST.fullmatch(name) is not None or ordered[-1] <= 0
    low, high = _between(some)  # the ends of the quarter that is worst
    if is_down:
        high = float(np.quantile(ordered, OUT))
    else:
        low = max(float(np.quantile(ordered, 1 - OUT)), least, high / REACH if kind == "log" else -np.inf)
    low, high = (low, high) if low < high else (least, greatest)
    return TokenScale(kind, low, high, is_down=is_down)


def update_scale(coefficients: Floats) -> TokenScale:
    """Return the scale of an update: around zero, and every push has a tint."""
    ordered = np.sort(coefficients[np.isfinite(coefficients)])
    return _two_sided(_between(ordered) if len(ordered) else (np.nan, np.nan), ordered[:0])


def _two_sided(ends: "Ends | Floats", values: Floats) -> TokenScale:
    """Return a scale around zero; the distance that three quarters of the values keep to has no tint."""
    end = float(np.abs(ends).max())
    quiet = float(np.quantile(np.abs(values), 1 - OUT)) if len(values) else 0.0
    return TokenScale("symmetric", -end, end, is_two_sided=True, quiet=quiet / end if quiet < SIDES * end else 0.0)


def _between(ordered: Floats) -> Ends:
    """Return the ends of values without the outermost hundredths; if these ends are equal, the ends of all values."""
    low, high = (float(end) for end in np.quantile(ordered, (CLIPPED, 1 - CLIPPED)))
    return (low, high) if low < high else (float(ordered[0]), float(ordered[-1]))


UPDATE = "update"
"""The name of the coefficients of the run's own rule, among the series."""

EFFECTS = (
    "not trained", "pushed up", "pushed down", "nothing: advantage 0", "masked or clipped",
    "unknown: a number is missing",
)  # fmt: skip
"""By the number of the effect."""
CARD_LINES = 5
LEVELS = 32
"""The number of steps of a tint."""
STEPS = 9, 17
"""Cells of the tints in the legend, on a scale with one side or two."""
LONGEST = 200
"""Letters of a token that are shown."""


class TokenSheet(NamedTuple):
    """The tokens, beginning with the first that has a text."""

    page: TokenPage
    first: int
    texts: list[str]
    """The text of each token from `first` on, as shown: with line breaks as `↵`."""
    roles: list[str]
    update: TokenUpdate | None
    rule: str

    @property
    def names(self) -> list[str]:
        """The series to choose from, the update among them."""
        names = list(self.page.series)
        names.sort(key=lambda name: FIRST.index(name) if name in FIRST else len(FIRST) + (name in FLAGS))
        return [*names, UPDATE] if self.update is not None else names

    def values(self, name: str) -> tokens.Floats:
        """Return a series, or the coefficients of the update."""
        if name == UPDATE:
            assert self.update is not None
            return self.update.coefficients
        return self.page.series[name]

    def scale(self, name: str) -> TokenScale:
        values = self.values(name)
        if self.update is not None and name == UPDATE:
            return update_scale(values[self.update.effects != 0])
        return scale_of(values[tokens.trained(self.page.series)], tokens.kind_of(name).scale, name)


def tokens_of(run: OpenRun, sample: Sample, mask: Mask) -> TokenSheet | None:
    """Return the tokens of a sample, masked; None if its record holds none. A token without a text shows its id."""
    (whole,) = query.with_group_advantages(run, [sample])
    loss = query.loss_of(run)
    page = query.token_page(whole, 0, None, loss)
    if not page.total:
        return None
    first = next((n for n, text in enumerate(page.strings or ()) if text), 0)
    texts = []
    for n in range(first, page.total):
        text, id_ = page.strings[n] if page.strings else "", -1 if page.ids is None else int(page.ids[n])
        texts.append(text or (f"⟨{id_}⟩" if id_ >= 0 else "·"))
    names = [turn.role for turn in whole.turns]
    roles = [names[turn] if 0 <= turn < len(names) else "" for turn in page.spans.turn.tolist()]
    rule, update = query.usual_update(page.updates, loss), None
    if rule is not None:
        with suppress(BadQuery):
            update = query.token_update(whole, query.choice_of(page.loss, rule))
    return TokenSheet(page, first, mask.tokens(texts), roles, update, rule or "")


def shown_text(text: str) -> str:
    """Return a token on one line, at most `LONGEST` letters of it: its line breaks become signs."""
    text = text if len(text) <= LONGEST else f"{text[:LONGEST]}…"
    return visible_line(text.replace("\r\n", "↵").replace("\n", "↵").replace("\t", "→"))


def rows_of(texts: Sequence[str], width: int) -> list[tuple[int, int]]:
    """Return the first and the last token of each line; a token with a line break ends its line."""
    rows: list[tuple[int, int]] = []
    start = used = 0
    for n, text in enumerate(texts):
        cells = len(text) if len(text) <= LONGEST and text.isascii() else cell_len(shown_text(text))
        cells = max(1, cells)  # marks without a width would otherwise make a line endless
        if used and used + cells > width:
            rows.append((start, n))
            start, used = n, 0
        used += cells
        if "\n" in text:
            rows.append((start, n + 1))
            start, used = n + 1, 0
    return [*rows, (start, len(texts))] if start < len(texts) else rows


def tints(scale: TokenScale, strengths: tokens.Floats) -> list[str]:
    """Return the background colour for each strength; empty without a tint."""
    kind = "sided" if scale.is_two_sided else "tint"
    rounded = np.round(strengths * LEVELS) / LEVELS
    return ["" if value != value or value == 0 else f"{kind}@{value:.3f}" for value in rounded.tolist()]


def legend(tokens_: TokenSheet, name: str, scale: TokenScale, width: int) -> Line:
    """Return the legend: the name of the series, and the ends of its scale."""
    title = f"update under {tokens_.rule}" if name == UPDATE else tokens.kind_of(name).title
    ramp: Line = [(" ", Ink("ink-1", tint)) for tint in tints(scale, scale.ramp(STEPS[scale.is_two_sided]))]
    origin = tokens_.page.origins.get(name)
    parts: list[Line] = [
        [(" ", PLAIN), safe(title, STRONG)],
        [(f"{score(scale.low)} ", DIM), *ramp, (f" {score(scale.high)}", DIM)],
        [(f"{scale.kind}", DIM)],
        [safe(str(origin), DIM)] if origin else [],
        [(f"{tokens_.page.total:,} tokens", DIM)],
    ]
    return cut(joined(parts), width)


def card(tokens_: TokenSheet, number: int, name: str, width: int) -> list[Line]:
    """Return every fact of one token: its text with its escapes, its id, its role, its series."""
    page = tokens_.page
    text = tokens_.texts[number - tokens_.first]
    head: list[Line] = [
        [(" token ", DIM), (f"{number:,}", STRONG), (f" of {page.total:,}", DIM)],
        [safe(repr(text[:LONGEST]), ACCENT)],
        [("id ", DIM), (str(page.ids[number]), PLAIN)] if page.ids is not None else [],
        [safe(tokens_.roles[number], DIM)],
    ]
    if tokens_.update is not None:
        effect, coefficient = int(tokens_.update.effects[number]), float(tokens_.update.coefficients[number])
        head.append([("update ", DIM), (score(coefficient), PLAIN), (f" {EFFECTS[effect]}", DIM)])
    return [cut(joined(head), width), *_series_lines(tokens_, number, name, width)][:CARD_LINES]


def _series_lines(tokens_: TokenSheet, number: int, name: str, width: int) -> Iterator[Line]:
    line: Line = [(" ", PLAIN)]
    for series, values in tokens_.page.series.items():
        value = float(values[number])
        shown = "–" if isnan(value) else figure(value) if series in FLAGS else score(value)
        piece: Line = [safe(f"{series} ", DIM), (shown, ACCENT if series == name else PLAIN), ("  ", PLAIN)]
        if width_of(line) + width_of(piece) > width:
            yield line
            line = [(" ", PLAIN)]
        line += piece
    yield line


def by_size(tokens_: TokenSheet, name: str) -> list[int]:
    """Return the tokens in the order of their distance from 0, or from a ratio of 1, the furthest first."""
    values, scale = tokens_.values(name)[tokens_.first :], tokens_.scale(name)
    if scale.kind == "log" and scale.is_two_sided:
        values = np.log(np.where(values > 0, values, np.nan))
    order = np.argsort(-np.nan_to_num(np.abs(values), nan=-1.0), kind="stable")
    return [int(place) + tokens_.first for place in order]
