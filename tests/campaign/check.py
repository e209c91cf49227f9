"""Opens a folder by the public faces, and compares what they show with the truth."""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from math import fsum, isfinite
from pathlib import Path
from typing import Any, Literal

import rolloupe
from tests.campaign.folders import Case, Expected
from tests.campaign.truth import Message

Verdict = Literal["right", "refused", "lost", "wrong"]
"""Refused: not read, but the line that says so names options with which it is read right. Lost: not even then."""

NAMED = re.compile(r'(?<![\w.-])([a-z_]{2,})\s*=\s*"([^"\n]+)"')
"""A line of a mapping in a message: prompt = "request.text"."""
MAPPED = re.compile(r"""--map ('[^']*'|"[^"]*"|\S+)""")
"""The same as an option: --map prompt=request.text,reward=score."""
OPTION = re.compile(r"--(group-by|reward-key|format)[ =]([^\s,;]+)")


@dataclass
class Outcome:
    """What came of a folder: a verdict and, unless it is right, what differs."""

    case: Case
    verdict: Verdict
    faults: list[tuple[str, str]] = field(default_factory=list)
    """What differs: a fact, and how."""

    @property
    def facts(self) -> str:
        """The facts that differ, as one text."""
        return ", ".join(dict.fromkeys(fact for fact, _ in self.faults))


def check(case: Case, index_dir: Path) -> Outcome:
    """Open the folder of a case and compare; of one that was refused, do what the message says and compare again."""
    faults, notes = _opened(case, index_dir / "plain", {})
    if faults is not None and not faults:
        return Outcome(case, "right")
    lines = [note for note in notes if "Next:" in note]
    if faults is not None:
        return Outcome(case, "wrong", faults)
    if not lines:
        return Outcome(case, "lost", [("no line", f"of {notes[:2]} says what to do")])
    outcome = Outcome(case, "lost", [("line without options", lines[0])])
    for number, line in enumerate(lines):
        if not (options := options_of(line)):
            continue
        again, _ = _opened(case, index_dir / f"mapped{number}", options)
        if again is not None and not again:
            return Outcome(case, "refused")
        if again is None:
            outcome.faults = [("line that opens nothing", f"{options} of {line}")]
        elif outcome.verdict == "lost":
            found = [(f"by the line: {fact}", f"{how}, with {options}") for fact, how in again]
            outcome = Outcome(case, "wrong", found)
    return outcome


def options_of(line: str) -> dict[str, Any]:
    """Take the options of a message as they stand there."""
    text = line.partition("Next:")[2]
    named = dict(NAMED.findall(text))
    for option in MAPPED.findall(text):
        pairs = [pair.partition("=") for pair in option.rstrip(",.;").strip("'\"").split(",")]
        named |= {role: key for role, _, key in pairs if key not in ("", "KEY")}
    options: dict[str, Any] = {"fields": named} if named else {}
    return options | {name.replace("-", "_"): value for name, value in OPTION.findall(text)}


def _opened(case: Case, index_dir: Path, options: dict[str, Any]) -> tuple[list[tuple[str, str]] | None, list[str]]:
    """Return what differs, None of a folder in which no sample was found; and the notes."""
    try:
        with rolloupe.open(case.folder, index_dir=index_dir, **options) as runs:
            notes = [note.reason for note in runs.notes]
            found = [run for run in runs if any(split.samples for split in run.splits())]
            if not found:
                return None, notes + [run.reason for run in runs]
            if len(found) > 1:
                return [("runs", f"{len(found)} runs: {[(run.format, run.name) for run in found][:4]}")], notes
            return compare(case.expected, found[0]), notes
    except rolloupe.RolloupeError as error:
        return None, [str(error)]
    except Exception as error:  # a campaign goes on, and lists it
        return [("crash", f"{type(error).__name__}: {error}")], []


def compare(expected: list[Expected], run: rolloupe.Run) -> list[tuple[str, str]]:
    """Say what a run shows otherwise than it should."""
    faults: list[tuple[str, str]] = []
    items = list(run.samples())
    if len(items) != len(expected):
        faults.append(("count", f"{len(expected)} samples, shown {len(items)} as {run.format}: {run.reason}"))
    faults += _steps(expected, run)
    texts = {item.id: run.texts(item.id) for item in items}
    by_response: dict[str, Any] = {texts[item.id].response: item for item in items}
    met: list[tuple[Expected, Any]] = []
    for one in expected:
        item = _match(one, items, texts, by_response, met)
        if item is None:
            shown = list(by_response)[:2]
            faults.append(("response", f"{_wanted(one)!r:.150} is not among {shown!r:.300}"))
        else:
            met.append((one, item))
    for one, item in met:
        faults += _facts(one, item, texts[item.id])
        faults += _tokens(one, run, item)
        if one.response is None and one.response_turns:
            faults += _turns(one, run.sample(item.id))
    faults += _groups(met)
    return _first_of_each(faults)


def _wanted(one: Expected) -> str:
    return one.response if one.response is not None else " ... ".join(turn.text for turn in one.response_turns)


def _match(one: Expected, items: list[Any], texts: dict[str, Any], by_response: dict[str, Any], met: list[Any]) -> Any:
    if one.response is not None:
        return by_response.get(one.response)
    if one.response_turns:
        first = one.response_turns[0].text
        return next((item for item in items if first in texts[item.id].response), None)
    return items[len(met)] if len(met) < len(items) else None


def _steps(expected: list[Expected], run: rolloupe.Run) -> list[tuple[str, str]]:
    truth: dict[int | None, list[float | None]] = {}
    for one in expected:
        truth.setdefault(one.step, []).append(one.reward)
    shown: dict[int, list[tuple[int, Any]]] = {}
    for split in run.splits():
        for row in run.steps(split.name):
            shown.setdefault(row.step, []).append((row.samples, row.reward))
    faults = []
    if set(truth) == {None}:
        if len(shown) != 1:
            faults.append(("steps", f"one step, shown {sorted(shown)[:8]}"))
    elif set(truth) != set(shown):
        faults.append(("steps", f"{sorted(truth, key=str)[:8]}, shown {sorted(shown)[:8]}"))
    for step, rewards in truth.items():
        parts = shown.get(step, []) if step is not None else [part for parts in shown.values() for part in parts]
        if not parts:
            continue
        if (count := sum(samples for samples, _ in parts)) != len(rewards):
            faults.append(("samples of a step", f"step {step}: {len(rewards)}, shown {count}"))
        finite = [one for one in rewards if one is not None and isfinite(one)]
        scored = sum(stats.count for _, stats in parts)
        total = fsum((stats.mean or 0.0) * stats.count for _, stats in parts)
        if scored != len(finite):
            faults.append(("mean", f"step {step}: {len(finite)} rewards, shown {scored}"))
        elif finite and abs(total / scored - fsum(finite) / len(finite)) > 1e-6:
            faults.append(("mean", f"step {step}: {fsum(finite) / len(finite)}, shown {total / scored}"))
    return faults


def _facts(one: Expected, item: Any, texts: Any) -> list[tuple[str, str]]:
    faults: list[tuple[str, str]] = []

    def same(fact: str, wanted: Any, shown: Any) -> None:
        if wanted != shown:
            faults.append((fact, f"{wanted!r:.200}, shown {shown!r:.200}"))

    same("reward", one.reward, item.reward)
    if one.step is not None:
        same("step", one.step, item.step)
    if one.prompt is not None:
        same("prompt", one.prompt, texts.prompt)
    elif not _in_order([turn.text for turn in one.prompt_turns], texts.prompt):
        faults.append(("prompt", f"{[turn.text for turn in one.prompt_turns]!r:.200}, shown {texts.prompt!r:.200}"))
    if one.response is not None and one.response in texts.prompt:
        faults.append(("prompt", f"holds the response: {texts.prompt!r:.200}"))
    if one.label is not None and one.label not in (texts.label, texts.reference):
        faults.append(("label", f"{one.label!r}, shown {texts.label!r} and {texts.reference!r}"))
    if one.advantage is not None:
        same("advantage", one.advantage, item.advantage)
    if one.status is not None:
        same("status", one.status, item.status)
    return faults


def _in_order(parts: Iterable[str], text: str) -> bool:
    place = 0
    for part in parts:
        place = text.find(part, place)
        if place < 0:
            return False
        place += len(part)
    return True


def _turns(one: Expected, whole: Any) -> list[tuple[str, str]]:
    """Compare the turns of a sample with several: the texts of each role, in order."""
    wanted = [*one.prompt_turns, *one.response_turns]
    shown = [
        Message(turn.role, "".join(part.raw if part.raw is not None else part.text for part in turn.parts))
        for turn in whole.turns
    ]
    for role in ("assistant", "user", "tool", "system"):
        texts = [turn.text for turn in wanted if turn.role == role]
        if not _in_order(texts, "\n".join(turn.text for turn in shown if turn.role == role)):
            roles = [turn.role for turn in shown]
            return [("turns", f"{role}: {texts!r:.200} not in what is shown, whose roles are {roles}")]
    return []


def _tokens(one: Expected, run: rolloupe.Run, item: Any) -> list[tuple[str, str]]:
    """Compare what is shown of the tokens of the response, which come last. Ids may be missing, but never others."""
    if one.mask is None and one.logprobs is None and one.ids is None:
        return []
    table = run.sample(item.id).tokens
    columns = {} if table is None else table.to_pydict()
    faults: list[tuple[str, str]] = []
    if one.ids is not None and any(ids := columns.get("id", [])):
        shown_ids = [None if number is None else int(number) for number in ids][-len(one.ids) :]
        if shown_ids != one.ids:
            faults.append(("token ids", f"{one.ids[:8]}, shown {shown_ids[:8]} of {len(ids)}"))
    trained = one.mask or [True] * len(one.logprobs or ())
    if one.mask is not None:
        marks = [mark is True for mark in columns.get("mask", [])]
        if marks[-len(trained) :] != trained or any(marks[: -len(trained)]):
            faults.append(("mask", f"{_dots(trained)}, shown {_dots(marks)}"))
    if one.logprobs is not None:
        values = [columns[name] for name in columns if "logprobs" in name and name != "top_logprobs"]
        if not any(_is_same(one.logprobs, each, trained) for each in values):
            faults.append(
                ("logprobs", f"{one.logprobs[:5]}, shown {[each[-5:] for each in values]} in {sorted(columns)}")
            )
    return faults


def _is_same(wanted: list[float], shown: list[float | None], trained: list[bool]) -> bool:
    """Whether what is shown of the last tokens is what it should be, wherever they count."""
    last = shown[-len(trained) :]
    pairs = [(a, b) for a, b, mark in zip(wanted, last, trained, strict=False) if mark]
    return len(last) == len(trained) and all(b is not None and abs(a - b) < 1e-5 for a, b in pairs)


def _dots(marks: Iterable[bool]) -> str:
    return "".join("x" if mark else "." for mark in marks)


def _groups(met: list[tuple[Expected, Any]]) -> list[tuple[str, str]]:
    """Compare the groups as sets of samples."""
    wanted: dict[Any, set[str]] = {}
    shown: dict[Any, set[str]] = {}
    for one, item in met:
        wanted.setdefault((one.step, one.group), set()).add(item.id)
        shown.setdefault((item.split, item.step, item.group), set()).add(item.id)
    if {frozenset(ids) for ids in wanted.values()} == {frozenset(ids) for ids in shown.values()}:
        return []
    sizes = [sorted((len(ids) for ids in groups.values()), reverse=True) for groups in (wanted, shown)]
    return [("groups", f"{len(wanted)} of {sizes[0][:6]} samples, shown {len(shown)} of {sizes[1][:6]}")]


def _first_of_each(faults: list[tuple[str, str]]) -> list[tuple[str, str]]:
    """Keep the first fault of each fact."""
    first: dict[str, str] = {}
    for fact, how in faults:
        first.setdefault(fact, how)
    return list(first.items())
