"""A sample as blocks of text, and the lines around it: the run at the top, its facts above the text, the keys below."""

import json
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec
from rich.cells import cell_len

from rolloupe.model import Sample, Turn
from rolloupe.query import policy
from rolloupe.query.search.pattern import Mask
from rolloupe.text import read_parts, with_results
from rolloupe.text.visible import visible
from rolloupe.tui.draw.charts import BLOCKS, MISSING, sparkline, thinned
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
    folded,
    joined,
    rule,
    safe,
    width_of,
)
from rolloupe.tui.draw.numbers import Scale, count, exact, figure, score, words_of
from rolloupe.tui.keys import KeyHelp
from rolloupe.tui.run.session import ListPlace, RunState, SampleAt
from rolloupe.wire.to_wire import named_facts, without_data

STATUS = {"completed": PLAIN, "truncated": Ink("warn"), "aborted": Ink("warn"), "error": Ink("alarm")}


def facts_of(sample: Sample) -> dict[str, float | str | None]:
    """Return every fact of a sample by its name in filters; the facts that all samples have come first."""
    row, written_by = sample.row, policy(sample)
    known = {
        "prompt_tokens": row.prompt_tokens, "response_tokens": row.response_tokens, "total_tokens": row.total_tokens,
        "turns": row.turns, "env": row.env or None, "discarded": row.discarded or None,
        "policy_version": written_by.version or None, "lag": written_by.lag, "ref_reward": sample.ref_reward,
        "uid": row.uid or None,
    }  # fmt: skip
    return {
        "reward": row.reward,
        "advantage": row.advantage,
        "status": row.status if row.status_raw in ("", row.status) else f"{row.status} ({row.status_raw})",
        **{name: value for name, value in known.items() if value is not None},
        **{name: value for _, name, value, _ in named_facts(sample)},
    }


LONGEST = 32
"""Letters of a name in the line of figures."""

FIRST = ("reward", "advantage", "status", "response_tokens", "prompt_tokens", "turns", "lag", "policy_version", "env")
"""The facts that lead the line, in this order."""

LABELS = {"response_tokens": "tokens", "prompt_tokens": "prompt", "policy_version": "version"}


def figures(sample: Sample, scales: Mapping[str, Scale], is_shown: "Mapping[str, bool]") -> Iterator[Line]:
    """Yield the figures of a sample, the most telling first, each with its label.

    The reason why it was discarded has lines of its own.
    """
    values = facts_of(sample)
    values.pop("discarded", None)
    for name in dict.fromkeys([*(name for name in FIRST if name in values), *values]):
        if is_shown.get(name, name != "uid") and values[name] not in (None, ""):
            yield named_figure(name, values[name], scales.get(name, Scale()))


def named_figure(name: str, value: float | str | None, scale: Scale) -> Line:
    """Return a label and a value, coloured if it is good or bad."""
    shown = LABELS.get(name, name)
    label = safe(f"{shown if len(shown) <= LONGEST else f'{shown[: LONGEST - 1]}…'} ", DIM)
    if name == "status":
        label = safe("status ", DIM) if value == "unknown" else ("", PLAIN)
        return [label, safe(str(value), STATUS.get(str(value).partition(" ")[0], PLAIN))]
    if isinstance(value, str):
        return [label, safe(value[:80], STRONG)]
    return [label, (words_of(name, value, scale), scale.ink(value, STRONG)._replace(bold=True))]


SPARK = 24
MORE = 14
"""Cells for the count of figures without room, and for the key that shows them."""

NARROW = 100
"""In a narrower window, the left pane is hidden."""

WIDE, TALL = 160, 45
"""In a window with at least this many columns or lines, lists have more room."""


def size_classes(width: int, height: int) -> dict[str, bool]:
    """Return the classes of a window of this size, for which the style sheet has rules."""
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
    if state.steps:
        left.append((f" / {state.steps[-1].step}", DIM))
    else:  # perhaps all files are gone
        left = left[:4]
    summary: Line = []
    if step := state.by_step.get(place.step):
        ink = scales.get("reward", Scale()).ink(step.reward.mean, STRONG)
        summary = [("reward ", DIM), (score(step.reward.mean), ink), (f" ±{score(step.reward.std)}", DIM)]
        summary += [(f"  {step.state}", WARN)] if step.state else []
    is_live = state.is_live and state.changed_s is not None
    right = joined(
        [
            [(count(state.problems, "problem"), WARN)] if state.problems else [],
            [(f"indexing {state.share:.0%}", QUIET)] if state.phase == "scalars" else [],
            [("● ", Ink("live")), (f"live {state.changed_s:.0f} s ago", DIM)] if is_live else [],
            [("following", ACCENT)] if marks.is_following else [],
            [(" ", PLAIN)],
        ]
    )
    room = width - width_of(left) - width_of(summary) - width_of(right) - 8
    spark = spark_line(state, place.step, min(SPARK, room)) if room >= 6 else []
    return ends([*left, ("   ", PLAIN), *spark, ("   ", PLAIN), *summary], right, width)


def spark_line(state: RunState, step: int, width: int) -> Line:
    """Return the mean reward by step as blocks, with the present step in another ink."""
    numbers = state.shown(width)
    text = sparkline([state.rewards[n] for n in numbers], width)
    shown = [state.steps[n].step for n in numbers]
    if state.by_step.get(step) is None:
        return [(text, DIM)]
    at = max(0, bisect_right(shown, step) - 1)
    return [(text[:at], DIM), (text[at : at + 1], ACCENT), (text[at + 1 :], DIM)]


def step_at(state: RunState, line: Line, x: int) -> int | None:
    """Return the step whose reward the first line of the screen shows in a cell."""
    start, width = spark_place(line)
    return state.steps[state.shown(width)[x - start]].step if start <= x < start + width else None


def curve_steps(state: RunState, header: Sequence[Line]) -> list[int]:
    """Return the steps of the curve in the first line of the screen, or the steps that it would show if it had room."""
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


VIEWS = (("text", "Text"), ("table", "Table"), ("tokens", "Tokens"))


def sample_lines(
    at: SampleAt, scales: Mapping[str, Scale], is_shown: Mapping[str, bool], marks: Marks, width: int
) -> Sequence[Line]:
    """Return the lines above a sample: its place, its id, its figures."""
    if at.sample is None:
        return [[(" ", PLAIN), (text, PLAIN)] for text in folded(at.note, width - 2)]
    key, members = at.sample.key, at.members
    position = f"Sample {at.number + 1:,} of {at.total:,}"
    if len(members) > 1:
        position += f" · {members.index(key) + 1 if key in members else 1:,}/{len(members):,} in group"
    left = [(" ", PLAIN), (position, STRONG)]
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
    discarded: list[Line] = []
    if at.sample.row.discarded and is_shown.get("discarded", True):
        reason = f"discarded: {at.sample.row.discarded}"
        discarded = [[(" ", PLAIN), (text, WARN)] for text in folded(reason, width - 2)]
    life = [life_line(at, scales, width)] if at.life else []
    return [first, *life, *flowed(shown, width, 2, marks.view), *discarded, *label, rule(width)]


def life_line(at: SampleAt, scales: Mapping[str, Scale], width: int) -> Line:
    """Return the steps where the prompt of a sample appears, as blocks of their mean rewards."""
    here = next((n for n, place in enumerate(at.life) if at.sample and place.key.step == at.sample.key.step), 0)
    means = [place.reward.mean for place in at.life]
    numbers = thinned(means, SPARK)
    text = sparkline([means[n] for n in numbers], SPARK)
    current = max(0, bisect_right(numbers, here) - 1)
    place = at.life[here]
    mean = score(place.reward.mean)
    discarded = f", {place.discarded:,} discarded" if place.discarded else ""
    line: Line = [
        (" prompt ", DIM),
        (text[:current], DIM),
        (text[current : current + 1], ACCENT),
        (text[current + 1 :], DIM),
        (f" {here + 1:,} of {len(at.life):,} steps", QUIET),
        ("  mean ", DIM),
        (mean, scales.get("reward", Scale()).ink(place.reward.mean, STRONG)),
        (f" of {count(place.samples, 'sample')}{discarded}", DIM),
        ("  { }", ACCENT),
        (" its other steps", DIM),
    ]
    return cut(line, width)


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
    for nth, value in enumerate(figures_):
        room = width - width_of(lines[-1]) - width_of(value) - 3
        if room < MORE and len(lines) == most:
            has_room = width - width_of(lines[-1]) >= MORE  # not after a figure that fills the line
            lines[-1] += [("  ", PLAIN), (f"+{len(figures_) - nth}", DIM), *(key if has_room else [])]
            break
        if room < 0:
            lines.append([])
        lines[-1] += [("  " if lines[-1] else " ", PLAIN), *value]
    yield from (cut(line, width) for line in lines if line)


def foot_line(message: str, is_alarm: bool, keys: Sequence[KeyHelp], share: int | None, width: int) -> Line:
    """Return the last line: a message, or the keys; and how far down the text is."""
    right: Line = [(f" {share}% ", DIM)] if share is not None else []
    if message:
        return ends([(" ", PLAIN), safe(message, Ink("alarm" if is_alarm else "ink-1"))], right, width)
    return keys_line(keys, width, right)


def keys_line(keys: Sequence[KeyHelp], width: int, right: Line | None = None) -> Line:
    """Return the keys that fit, with what they do; the last two, for help and for leaving, are always there."""
    words = [key.foot.split(" ", 1) for key in keys if key.foot]
    *feet, help_, leave = ([(" ", PLAIN), (names, ACCENT), (f" {meaning} ", DIM)] for names, meaning in words)
    end = [*help_, *leave, *(right or [])]
    while feet and sum(map(width_of, feet)) + width_of(end) > width:
        feet.pop()
    return ends(joined(feet, ""), end, width)


Run = tuple[int, int, Ink]
"""Where a stretch of a text begins and ends, and its ink."""

KINDS = {
    "think": Ink("think"),
    "marker": Ink("ink-ghost"),
    "placeholder": DIM,
    "tool_call": Ink("tool"),
    "tool_result": Ink("tool"),
    "answer": Ink(bold=True),
    "json": QUIET,
}
"""The ink of the parts of a turn."""

ROLES = {"system": "role-system", "user": "role-user", "human": "role-user", "tool": "role-tool"}


class TextBlock(NamedTuple):
    """A text with a name, and lines of facts beside it. The text has no hostile characters left."""

    field: str
    """The field that shows or hides it."""
    margin: list[Line]
    """Shown to the left of the text, or in a narrow window on one line above it."""
    text: str
    runs: Sequence[Run] = ()
    is_row: bool = False
    """True for a row of a table: no blank line separates it from the next block."""


def blocks_of(sample: Sample, mask: Mask) -> Iterator[TextBlock]:
    """Yield the blocks of a sample, in reading order."""
    for turn in with_results(sample.turns):
        yield turn_block(turn, turn.origin, mask)
    if sample.label:
        yield _named("label", [("golden", Ink("golden"))], mask(sample.label))
    for turn in with_results(sample.ref_turns):
        yield turn_block(turn, "reference", mask, "reference ")
    for note in sample.notes:
        yield _named("notes", [("note", Ink("warn"))], note)
    for name, value in sample.extra.items():
        yield _named(f"extra.{name}", [safe(name, DIM)], as_text(without_data(value)))


def turn_block(turn: Turn, field: str, mask: Mask, before: str = "") -> TextBlock:
    """Return a turn, its role and its facts in the margin."""
    ink = Ink(ROLES.get(turn.role, "role-assistant"), bold=True)
    facts = [
        safe(turn.name, DIM) if turn.name else None,
        safe(turn.tool_call_id, DIM) if turn.tool_call_id else None,
        ("error", Ink("warn")) if turn.logs.get("is_error") or turn.logs.get("error") else None,
        (count(turn.tokens, "token"), DIM) if turn.tokens is not None else None,
        (f"reward {score(turn.reward)}", DIM) if turn.reward is not None else None,
        safe(turn.stop_reason, DIM) if turn.stop_reason else None,
        *(safe(f"{name} {figure(value)}", DIM) for name, value in turn.metrics.items()),
        *(safe(f"{name} {exact(value)}", DIM) for name, value in turn.facts.items()),
    ]
    texts: list[str] = []
    runs: list[Run] = []
    at = 0
    for part, written in read_parts(turn.parts):
        texts.append(shown(mask(written)))
        runs.append((at, at + len(texts[-1]), KINDS.get(part.kind, PLAIN)))
        at += len(texts[-1])
    margin = [[safe(before + turn.role, ink)], *([fact] for fact in facts if fact)]
    return TextBlock(field, margin, "".join(texts).rstrip("\n"), runs)


TAB = 4


def shown(text: str) -> str:
    """Return a text that is safe on the screen."""
    return visible(text.replace("\t", " " * TAB))


def _named(field: str, margin: Line, text: str) -> TextBlock:
    return TextBlock(field, [margin], shown(text))


def as_text(value: Any) -> str:
    """Return a value of a record as text: JSON on several lines, if it holds others.

    Numbers and other values that JSON lacks are as Python writes them.
    """
    if not isinstance(value, (list, dict)):
        return exact(value) if isinstance(value, float) else str(value)
    try:
        written = msgspec.json.encode(value)
        if b"null" in written:  # it may stand for NaN
            return json.dumps(value, indent=2, ensure_ascii=False)
        return msgspec.json.format(written, indent=2).decode()
    except (TypeError, ValueError, RecursionError, msgspec.MsgspecError):
        return repr(value)


def table_blocks(sample: Sample, fields: "Fields", mask: Mask, scales: Mapping[str, Scale]) -> Iterator[TextBlock]:
    """Yield the rows of the table of a sample: its id, its facts and its texts."""
    yield row_block("id", str(sample.key))
    for name, value in facts_of(sample).items():
        if fields.in_table(name):
            number = value if isinstance(value, float | int) else None
            yield row_block(name, value, scales.get(name, Scale()).ink(number))
    for block in blocks_of(sample, mask):
        if fields.in_table(block.field):
            yield block._replace(is_row=True)


def row_block(name: str, value: float | str | None, ink: Ink = PLAIN) -> TextBlock:
    """Return a row of a table."""
    text = shown(exact(value))
    return TextBlock(name, [[safe(name, DIM)]], text, [(0, len(text), ink)], is_row=True)


TEXTS = ("prompt", "response", "label", "reference", "notes")
"""Fields that are texts, in reading order."""


class Fields(Mapping[str, bool]):
    """The known fields in order, each with whether it is shown, by choice or by default."""

    def __init__(self) -> None:
        self._known: dict[str, None] = dict.fromkeys(TEXTS)
        self._chosen: dict[str, bool] = {}

    def learn(self, names: Iterable[str]) -> bool:
        """Add fields. Returns whether any was new."""
        before = len(self._known)
        self._known.update(dict.fromkeys(names))
        return len(self._known) > before

    def toggle(self, name: str) -> None:
        self._chosen[name] = not self[name]

    def in_table(self, name: str) -> bool:
        """Return whether a table shows a field: it does unless a person hid the field."""
        return self._chosen.get(name, True)

    def __getitem__(self, name: str) -> bool:
        return self._chosen.get(name, not name.startswith("extra.") and name != "uid")

    def __iter__(self) -> Iterator[str]:
        return iter(self._known)

    def __len__(self) -> int:
        return len(self._known)
