"""The lines around a sample: the run at the top, the sample above its text, the keys at the foot."""

from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from rich.cells import cell_len

from rolloupe.query import StepSummary
from rolloupe.text.visible import visible_line
from rolloupe.tui.draw.braille import BLOCKS, MISSING, sparkline
from rolloupe.tui.draw.figures import count, score
from rolloupe.tui.draw.ink import ACCENT, DIM, PLAIN, QUIET, STRONG, WARN, Ink, Line, cut, ends, joined, safe, width_of
from rolloupe.tui.draw.scales import Scale
from rolloupe.tui.draw.wrap import wrapped
from rolloupe.tui.keys import KeyHelp
from rolloupe.tui.run.place import ListPlace
from rolloupe.tui.run.session import RunState, SampleAt
from rolloupe.tui.views.facts import figures, position

SPARK = 24
MORE = 14
"""Cells for the number of figures that have no room, and the key that shows them."""

NARROW = 100
"""In a narrower window the left pane is folded away."""

WIDE, TALL = 160, 45
"""From so many columns or lines on, lists have more room."""


def size_classes(width: int, height: int) -> dict[str, bool]:
    """Return what is true of a window: the style sheet has rules for it."""
    return {"narrow": width < NARROW, "wide": width >= WIDE, "tall": height >= TALL}


class Marks(NamedTuple):
    """Facts about the sample on the screen, and about the screen."""

    is_bookmarked: bool = False
    is_following: bool = False
    view: str = "text"


def run_line(
    name: str, place: ListPlace, state: RunState | None, scales: Mapping[str, Scale], marks: Marks, width: int
) -> Line:
    """Return the first line of the screen: the run, the split, the step, the curve of the reward."""
    left = [
        (" ", PLAIN),
        safe(name[:40], STRONG),
        ("   ", PLAIN),
        safe(place.split[:40], ACCENT),
        ("   step ", DIM),
        safe(str(place.step), STRONG),
    ]
    if state is None:
        return cut(left, width)
    step = state.step(place.step)
    if state.steps:
        left.append((f" / {state.steps[-1].step}", DIM))
    else:  # perhaps all files are gone
        left = left[:4]
    summary = _summary(step, scales) if step else []
    following: Line = [("following", ACCENT)] if marks.is_following else []
    right = joined([_progress(state), _age(state), following, [(" ", PLAIN)]])
    room = width - width_of(left) - width_of(summary) - width_of(right) - 8
    spark = spark_line(state, place.step, min(SPARK, room)) if room >= 6 else []
    return ends([*left, ("   ", PLAIN), *spark, ("   ", PLAIN), *summary], right, width)


def spark_line(state: RunState, step: int, width: int) -> Line:
    """Return the mean reward by step as blocks, with the present step in another ink."""
    numbers = state.shown(width)
    text = sparkline([state.rewards[n] for n in numbers], width)
    shown = [state.steps[n].step for n in numbers]
    if state.step(step) is None:
        return [(text, DIM)]
    at = max(0, bisect_right(shown, step) - 1)
    return [(text[:at], DIM), (text[at : at + 1], ACCENT), (text[at + 1 :], DIM)]


def step_at(state: RunState, line: Line, x: int) -> int | None:
    """Return the step whose reward the first line of the screen shows in a cell."""
    start, width = spark_place(line)
    return state.steps[state.shown(width)[x - start]].step if start <= x < start + width else None


def curve_steps(state: RunState, header: Sequence[Line]) -> list[int]:
    """Return the steps of the curve in the first line of the screen, or those it would show if it had room."""
    width = spark_place(header[0])[1] if header else 0
    return [state.steps[number].step for number in state.shown(width or SPARK)]


def spark_place(line: Line) -> tuple[int, int]:
    """Return where the curve begins in the first line of the screen, and its width."""
    at, pieces = 0, []
    for text, _ in line:
        if text and set(text) <= {*BLOCKS, MISSING}:
            pieces.append((at, len(text)))
        at += cell_len(text)
    return (pieces[0][0], sum(width for _, width in pieces)) if pieces else (0, 0)


def _summary(step: StepSummary, scales: Mapping[str, Scale]) -> Line:
    reward = step.reward
    ink = scales.get("reward", Scale()).ink(reward.mean, STRONG)
    state = [(f"  {step.state}", WARN)] if step.state else []
    return [("reward ", DIM), (score(reward.mean), ink), (f" ±{score(reward.std)}", DIM), *state]


def _progress(state: RunState) -> Line:
    problems: Line = [(count(state.problems, "problem"), WARN)] if state.problems else []
    indexing: Line = [(f"indexing {state.share:.0%}", QUIET)] if state.phase == "scalars" else []
    return joined([problems, indexing])


def _age(state: RunState) -> Line:
    if not state.is_live or state.changed_s is None:
        return []
    return [("● ", Ink("live")), (f"live {state.changed_s:.0f} s ago", DIM)]


VIEWS = (("text", "Text"), ("table", "Table"), ("tokens", "Tokens"))


def sample_lines(
    at: SampleAt, scales: Mapping[str, Scale], is_shown: Mapping[str, bool], marks: Marks, width: int
) -> Sequence[Line]:
    """Return the lines above a sample: where it stands, its id, its figures."""
    if at.sample is None:
        note = visible_line(at.note)
        return [[(" ", PLAIN), (note[start:stop], PLAIN)] for start, stop in wrapped(note, width - 2)]
    key = at.sample.key
    members = at.members
    member = members.index(key) if key in members else 0
    left = [(" ", PLAIN), (position(at.number, at.total, len(members), member), STRONG)]
    badge: Line = [("★ bookmarked", ACCENT)] if marks.is_bookmarked else []
    limits = [
        *([at.place.dataset] if at.place.dataset else []),
        *(["filtered"] if at.place.where else []),
        *(["discarded only"] if at.place.is_discarded else []),
    ]
    title = joined([left, [safe(", ".join(limits), ACCENT)] if limits else [], [safe(str(key), QUIET)], badge])
    tabs = joined([[(word, ACCENT if view == marks.view else DIM)] for view, word in VIEWS] + [[(" ", PLAIN)]])
    shown = list(figures(at.sample, scales, is_shown))
    label: list[Line] = []
    if at.sample.label and is_shown.get("label", True) and marks.view == "tokens":
        label = [cut([(" golden ", Ink("golden")), safe(at.sample.label[:width])], width)]
    first = ends(title, tabs, width) if width_of(title) + width_of(tabs) < width else cut(title, width)
    reason = at.sample.row.discarded if is_shown.get("discarded", True) else ""
    return [
        first,
        *_flowed(shown, width, 2, marks.view),
        *_discarded(reason, width),
        *label,
        [("─" * width, Ink("line-2"))],
    ]


def _discarded(reason: str, width: int) -> Iterator[Line]:
    """Yield why a sample was discarded, on as many lines as it takes: of a long one, the start."""
    if reason:
        text = visible_line(f"discarded: {reason}")
        yield from ([(" ", PLAIN), (text[start:stop], WARN)] for start, stop in wrapped(text, width - 2))


def view_at(line: Line, x: int) -> str | None:
    """Return the view whose word is in a cell of the line above a sample."""
    at = 0
    for text, _ in line:
        at += cell_len(text)
        if x < at:
            return next((view for view, word in VIEWS if word == text), None)
    return None


def _flowed(figures_: Sequence[Line], width: int, most: int, view: str) -> Iterator[Line]:
    """Yield figures on lines, at most so many; the last line counts the others, and the text has the key for them."""
    key: Line = [("  s", ACCENT), (" table", DIM)] if view == "text" else []
    lines: list[Line] = [[]]
    for nth, one in enumerate(figures_):
        room = width - width_of(lines[-1]) - width_of(one) - 3
        if room < MORE and len(lines) == most:
            has_room = width - width_of(lines[-1]) >= MORE  # not after a figure that fills the line
            lines[-1] += [("  ", PLAIN), (f"+{len(figures_) - nth}", DIM), *(key if has_room else [])]
            break
        if room < 0:
            lines.append([])
        lines[-1] += [("  " if lines[-1] else " ", PLAIN), *one]
    yield from (cut(line, width) for line in lines if line)


def foot_line(message: str, is_alarm: bool, keys: Sequence[KeyHelp], share: int | None, width: int) -> Line:
    """Return the last line: a message, or the keys; and how far down the text is."""
    right: Line = [(f" {share} % ", DIM)] if share is not None else []
    if message:
        return ends([(" ", PLAIN), safe(message, Ink("alarm" if is_alarm else "ink-1"))], right, width)
    return keys_line([one.foot for one in keys if one.foot], width, right)


def keys_line(words: Sequence[str], width: int, right: Line | None = None) -> Line:
    """Return keys and what they do, as far as there is room; the last two, for help and for leaving, are always there.

    Each is a key, a blank, and a word.
    """
    *feet, help_, leave = ([(" ", PLAIN), *_foot(one)] for one in words)
    end = [*help_, *leave, *(right or [])]
    while feet and sum(map(width_of, feet)) + width_of(end) > width:
        feet.pop()
    return ends(joined(feet, ""), end, width)


def _foot(words: str) -> Line:
    keys, _, meaning = words.partition(" ")
    return [(keys, ACCENT), (f" {meaning} ", DIM)]
