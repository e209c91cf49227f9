"""The lines around a sample: the run at the top, the facts of the sample above its text, the keys at the foot."""

from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from rich.cells import cell_len

from rolloupe.model import Sample
from rolloupe.query import StepSummary, policy
from rolloupe.text.visible import visible_line
from rolloupe.tui.draw.charts import BLOCKS, MISSING, sparkline
from rolloupe.tui.draw.ink import (
    ACCENT,
    DIM,
    PLAIN,
    QUIET,
    STRONG,
    WARN,
    Ink,
    Line,
    cut,
    ends,
    joined,
    safe,
    width_of,
    wrapped,
)
from rolloupe.tui.draw.numbers import Scale, count, score, words_of
from rolloupe.tui.keys import KeyHelp
from rolloupe.tui.run.session import ListPlace, RunState, SampleAt
from rolloupe.wire.to_wire import facts

STATUS = {"completed": PLAIN, "truncated": Ink("warn"), "aborted": Ink("warn"), "error": Ink("alarm")}


class NamedValue(NamedTuple):
    """A fact with the name that a person filters by."""

    name: str
    value: float | str | None
    label: str = ""


def facts_of(sample: Sample) -> Iterator[NamedValue]:
    """Yield every fact of a sample: those that all samples have, then the run's own."""
    row, written_by = sample.row, policy(sample)
    yield NamedValue("reward", row.reward)
    yield NamedValue("advantage", row.advantage)
    yield NamedValue("status", row.status if row.status_raw in ("", row.status) else f"{row.status} ({row.status_raw})")
    yield from (
        NamedValue(name, value)
        for name, value in (
            ("prompt_tokens", row.prompt_tokens), ("response_tokens", row.response_tokens),
            ("total_tokens", row.total_tokens), ("turns", row.turns), ("env", row.env or None),
            ("discarded", row.discarded or None), ("policy_version", written_by.version or None),
            ("lag", written_by.lag), ("ref_reward", sample.ref_reward), ("uid", row.uid or None),
        )
        if value is not None
    )  # fmt: skip
    for fact in facts(sample):
        yield NamedValue(fact.name, as_value(fact.value, is_text=fact.kind == "tag"), fact.label)


def as_value(value: object, *, is_text: bool = False) -> float | str | None:
    """Return a value of the wire as a plain one; what is no text may be a number that JSON lacks."""
    if not is_text and value in ("NaN", "Infinity", "-Infinity"):
        return float(str(value))
    return value if isinstance(value, float | int | str) or value is None else str(value)


LONGEST = 32
"""Letters of a name in the line of figures."""

FIRST = ("reward", "advantage", "status", "response_tokens", "prompt_tokens", "turns", "lag", "policy_version", "env")
"""The facts that lead the line, in this order."""

LABELS = {"response_tokens": "tokens", "prompt_tokens": "prompt", "policy_version": "version"}


def figures(sample: Sample, scales: Mapping[str, Scale], is_shown: "Mapping[str, bool]") -> Iterator[Line]:
    """Yield the figures of a sample, the most telling first, each with its label.

    The reason why it was discarded has lines of its own.
    """
    values = {one.name: one for one in facts_of(sample) if one.name != "discarded"}
    names = [*(name for name in FIRST if name in values), *(name for name in values if name not in FIRST)]
    for name in names:
        if is_shown.get(name, name != "uid") and values[name].value not in (None, ""):
            yield figure(name, values[name].value, scales.get(name, Scale()))


def cut_name(name: str) -> str:
    """Return the start of a long name, so that others have room beside it."""
    return name if len(name) <= LONGEST else f"{name[: LONGEST - 1]}…"


def figure(name: str, value: float | str | None, scale: Scale) -> Line:
    """Return a label and a value, coloured if it is good or bad."""
    label = safe(f"{cut_name(LABELS.get(name, name))} ", DIM)
    if name == "status":
        label = safe("status ", DIM) if value == "unknown" else ("", PLAIN)
        return [label, safe(str(value), STATUS.get(str(value).partition(" ")[0], PLAIN))]
    if isinstance(value, str):
        return [label, safe(value[:80], STRONG)]
    return [label, (words_of(name, value, scale), scale.ink(value, STRONG)._replace(bold=True))]


def position(number: int, total: int, size: int, member: int) -> str:
    """Return where a sample stands: in its list, and in its group."""
    of_group = f" · {member + 1:,}/{size:,} in group" if size > 1 else ""
    return f"Sample {number + 1:,} of {total:,}{of_group}"


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
        *flowed(shown, width, 2, marks.view),
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


def flowed(figures_: Sequence[Line], width: int, most: int, view: str) -> Iterator[Line]:
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
    """Return the keys that fit, with what they do; the last two, for help and for leaving, are always there.

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
