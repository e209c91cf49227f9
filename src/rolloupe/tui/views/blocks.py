"""A sample as blocks of text: turns, golden answer, reference response and other fields; and which fields are shown."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from rolloupe.model import Part, Sample, Turn
from rolloupe.text import legible_parts
from rolloupe.text.visible import visible
from rolloupe.tui.draw.ink import DIM, PLAIN, QUIET, Ink, Line, safe, spread
from rolloupe.tui.draw.numbers import Scale, count, exact, figure, score
from rolloupe.tui.run.masks import Mask
from rolloupe.tui.views.headers import facts_of
from rolloupe.wire.to_wire import without_data

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
    """A text with a name, and lines of facts beside it. Nothing in the text is hostile any more."""

    field: str
    """The field that shows or hides it."""
    margin: list[Line]
    """Shown at its left; in a narrow window on one line above it."""
    text: str
    runs: Sequence[Run] = ()
    is_row: bool = False
    """True for a row of a table: no blank line parts it from the next."""


def blocks_of(sample: Sample, mask: Mask) -> Iterator[TextBlock]:
    """Yield the blocks of a sample, in reading order."""
    for turn in sample.turns:
        yield turn_block(turn, turn.origin, mask)
    if sample.label:
        yield _named("label", [("golden", Ink("golden"))], mask(sample.label))
    for turn in sample.ref_turns:
        yield turn_block(turn, "reference", mask, "reference ")
    for note in sample.notes:
        yield _named("notes", [("note", Ink("warn"))], note)
    yield from extra_blocks(sample)


def extra_blocks(sample: Sample) -> Iterator[TextBlock]:
    """Yield the fields of the record that have no place of their own."""
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
    text, runs = _inked(turn.parts, mask)
    return TextBlock(field, [[safe(before + turn.role, ink)], *([fact] for fact in facts if fact)], text, runs)


def _inked(parts: Iterable[Part], mask: Mask) -> tuple[str, list[Run]]:
    texts: list[str] = []
    runs: list[Run] = []
    at = 0
    for part, written in legible_parts(parts):
        text = shown(mask(written))
        ink = KINDS.get(part.kind, PLAIN)
        texts.append(text)
        runs.append((at, at + len(text), ink))
        at += len(text)
    return "".join(texts).rstrip("\n"), runs


def shown(text: str) -> str:
    """Return a text that is fit for the screen."""
    return visible(spread(text))


def _named(field: str, margin: Line, text: str) -> TextBlock:
    return TextBlock(field, [margin], shown(text))


def as_text(value: Any) -> str:
    """Return a value of a record as text: JSON on several lines, if it holds others."""
    if isinstance(value, str):
        return value
    if isinstance(value, list | dict):
        return _as_json(value)
    return exact(value) if isinstance(value, float) else str(value)


def _as_json(value: Any) -> str:
    """Return JSON, with the numbers that it lacks as Python writes them; Python's own form of other values."""
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
    for name, value, _ in facts_of(sample):
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
        """Show a hidden field, or hide a shown one."""
        self._chosen[name] = not self[name]

    def in_table(self, name: str) -> bool:
        """Return whether a table shows a field: unless a person hid it."""
        return self._chosen.get(name, True)

    def __getitem__(self, name: str) -> bool:
        return self._chosen.get(name, not name.startswith("extra.") and name != "uid")

    def __iter__(self) -> Iterator[str]:
        return iter(self._known)

    def __len__(self) -> int:
        return len(self._known)
