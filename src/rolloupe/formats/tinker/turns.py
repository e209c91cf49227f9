"""The turns of a trajectory of the Tinker cookbook, and its texts: from its record, and with the step's log."""

import re
from collections.abc import Callable, Sequence
from itertools import chain
from typing import Any, NamedTuple

from msgspec.structs import replace

from rolloupe import text
from rolloupe.formats.reading import value_parsers as parsers
from rolloupe.formats.reading.logtree import turns_of
from rolloupe.formats.reading.records import Record
from rolloupe.model import Part, Status, ToolCall, Turn
from rolloupe.text.tool_calls import from_arguments

CONTENT = "assistant_content"
PROMPTS = ("prompt", "question", "problem", "observation", "ob_text", "user_content")
"""Names under which environments log the prompt, in the first step."""

_CALL = re.compile(r"tool_call_([0-9]{1,6})")
_RESULT = re.compile(r"tool_result_([0-9]{1,6})")
_WRITTEN_CALL = re.compile(r"([^\s(){}\[\]\"']+)\((.*)\)", re.DOTALL)
_STOP = "stop/"
_STATUSES: dict[Status, tuple[str, ...]] = {
    "completed": ("completed", "tool_stopped", "stop", "ok"),
    "truncated": ("context_overflow", "length"),
    "error": ("parse_error", "rollout_timeout", "error", "timeout"),
}
_FLAGS = ("context_overflow", "max_tokens_reached", "max_turns", "parse_error", "tool_stopped")
"""Metrics of environments older than `stop/...` that describe the end of an episode."""


def steps_of(record: Record) -> list[Record]:
    """Return the steps of a trajectory that are objects."""
    return parsers.dicts(record.get("steps"))


def numbers(record: Record) -> dict[str, float]:
    """Return the metrics of a trajectory: the mean of each over its steps and the trajectory's own value."""
    collected: dict[str, list[float]] = {}
    for entry in _metrics(record):
        for key, number in parsers.numbers(entry).items():
            collected.setdefault(key, []).append(number)
    # -0.0 plus a number is the number
    return {key: sum(values, -0.0) / len(values) for key, values in collected.items()}


def status(record: Record) -> tuple[Status, str]:
    """Return how a trajectory ended: the status of schema 2, else the last `stop/{reason}` that is set."""
    word = record.get("status")
    for reason in (None if word == "ok" else word, record.get("stop_reason")):
        if isinstance(reason, str) and reason:
            return _status(reason)
    newest = [parsers.numbers(entry) for entry in reversed(_metrics(record))]
    stops = (key.removeprefix(_STOP) for entry in newest for key in entry if key.startswith(_STOP) and entry[key])
    flags = (flag for entry in newest for flag in _FLAGS if entry.get(flag))
    end = next(chain(stops, flags), "ok" if word == "ok" else "")
    return _status(end)


def _metrics(record: Record) -> list[Record]:
    of_steps = [parsers.as_dict(step.get("metrics")) for step in steps_of(record)]
    return [*of_steps, parsers.as_dict(record.get("trajectory_metrics"))]


def _status(reason: str) -> tuple[Status, str]:
    word = reason[: parsers.MAX_TAG_CHARS]
    if word.startswith("max_"):
        return "truncated", word
    for common, reasons in _STATUSES.items():
        if word in reasons:
            return common, word
    return parsers.status(word)


def logged_turns(steps: list[Record]) -> list[Turn]:
    """Build the turns of each step from the environment's logs; a step without text shows only its numbers."""
    return [turn for number, step in enumerate(steps) for turn in _step_turns(step, number, len(steps))]


def _step_turns(step: Record, number: int, count: int) -> list[Turn]:
    logs = parsers.as_dict(step.get("logs"))
    messages = logs.get("_conversation")
    if parsers.is_messages(messages):
        turns = text.from_messages(messages, origin="response")
        set_facts(next((turn for turn in turns if turn.role == "assistant"), turns[0]), step, number, count)
        return turns
    named = (key for key in PROMPTS if isinstance(logs.get(key), str) and logs[key])
    prompt_key = next(named, "") if number == 0 else ""
    prompt = [Turn(role="user", parts=text.parts(logs[prompt_key]))] if prompt_key else []
    content = logs.get(CONTENT)
    calls = {at: Part(kind="tool_call", text=written, call=call_of(written)) for at, written in _numbered(logs, _CALL)}
    parts = text.parts(content) if isinstance(content, str) and content else []
    turn = Turn(role="assistant", origin="response", parts=[*parts, *calls.values()])
    results = []
    for at, value in _numbered(logs, _RESULT):
        call = calls[at].call if at in calls else None
        result = [text.output_part(value, "tool_result")]
        results.append(Turn(role="tool", origin="response", parts=result, name=call.name if call else ""))
    set_facts(turn, step, number, count)
    turn.logs.pop(prompt_key, None)
    return [*prompt, turn, *results]


def calls_in(logs: Record) -> list[str]:
    """Return the calls of a step as logged."""
    return [written for _, written in _numbered(logs, _CALL)]


def _numbered(logs: Record, pattern: re.Pattern[str]) -> list[tuple[int, str]]:
    """Return the texts of keys that end in a number, by that number."""
    matches = [(match, value) for key, value in logs.items() if (match := pattern.fullmatch(key))]
    return sorted((int(match[1]), value) for match, value in matches if isinstance(value, str))


def call_of(written: str) -> ToolCall:
    """Read a call as logged, `name(arguments as JSON)`."""
    match = _WRITTEN_CALL.fullmatch(written)
    if match is None:
        return ToolCall(name="", arguments=written, error="not of the form name(arguments)")
    return from_arguments(match[1], match[2])


_READERS: dict[str, Callable[[object], object]] = {
    "ob_len": parsers.number,
    "ac_len": parsers.count,
    "reward": parsers.number,
}
"""The readers of a step's numbers; rejected values are shown among the logs."""


def set_facts(turn: Turn, step: Record, number: int, count: int) -> None:
    """Give a turn the numbers of its step, and the logs and other members that appear nowhere else."""
    metrics, logs = parsers.as_dict(step.get("metrics")), parsers.as_dict(step.get("logs"))
    turn.tokens = parsers.count(step.get("ac_len"))
    turn.reward = parsers.number(step.get("reward"))
    turn.metrics = parsers.numbers({"ob_len": step.get("ob_len"), **metrics})
    stops = [key.removeprefix(_STOP) for key in metrics if key.startswith(_STOP) and parsers.number(metrics[key])]
    turn.stop_reason = stops[-1] if stops else turn.stop_reason
    step_number, done = parsers.count(step.get("step_idx")), step.get("episode_done")
    turn.facts = {} if step_number is None else {"step_idx": step_number}
    if isinstance(done, bool):
        turn.facts["episode_done"] = "yes" if done else "no"
    implied = {"step_idx": number, "episode_done": number == count - 1}
    rest: dict[str, Any] = {}
    for key, value in step.items():
        is_read = key in _READERS and _READERS[key](value) is not None
        is_object = key in ("metrics", "logs") and isinstance(value, dict)
        if not (is_read or is_object or value is None or implied.get(key) == value):
            rest[key] = value
    rest |= {f"metrics.{key}": value for key, value in metrics.items() if value is not None and key not in turn.metrics}
    rest |= {key: value for key, value in logs.items() if not _is_turn(key, value)}
    turn.logs = {key: parsers.showable(value) for key, value in rest.items()}


def _is_turn(key: str, value: object) -> bool:
    if key == "_conversation":
        return parsers.is_messages(value)
    return isinstance(value, str) and (key == CONTENT or bool(_CALL.fullmatch(key) or _RESULT.fullmatch(key)))


def aligned(turns: list[Turn], steps: list[Record]) -> bool:
    """Give the last answers of a conversation the numbers of one step each; for too few answers, return False."""
    spoken = [at for at, turn in enumerate(turns) if turn.role == "assistant"][-len(steps) :] if steps else []
    if not steps or len(spoken) < len(steps):
        return False
    for at, turn in enumerate(turns):
        turn.origin = "prompt" if at < spoken[0] else "response"
    for number, (at, step) in enumerate(zip(spoken, steps, strict=True)):
        set_facts(turns[at], step, number, len(steps))
    return True


class Tied(NamedTuple):
    """The messages of a trajectory, and the reason for the match. Without `whole`, the turns are only its prompt.

    `at` is the place of their conversation in the outline, as in `LoggedTranscript`.
    """

    turns: list[Turn]
    whole: bool
    reason: str
    at: str = ""


def turns_in(record: Record) -> tuple[list[Turn], bool]:
    """Return the turns of a record, and whether its steps found their places among them."""
    step_records = steps_of(record)
    conversation = record.get("conversation")
    if not (isinstance(conversation, list) and parsers.is_messages(conversation)):
        return logged_turns(step_records), True
    turns = turns_of(conversation)
    placed = aligned(turns, step_records)
    if not placed:
        for turn in turns[text.first_answer(turns) :]:
            turn.origin = "response"
    return turns, placed or not step_records


def lacks_prompt(turns: Sequence[Turn]) -> bool:
    """Return whether a record lacks a prompt, which the step's log may hold."""
    return not any(turn.origin == "prompt" for turn in turns)


def with_log(turns: list[Turn], record: Record, tied: Tied) -> list[Turn] | None:
    """Return the turns of a record with the contents of the step's log; None if the two contradict."""
    logged = [  # copies: the log's own turns must not change
        replace(turn, parts=[*turn.parts], metrics={**turn.metrics}, logs={**turn.logs}, facts={**turn.facts})
        for turn in tied.turns
    ]
    if not tied.whole:
        return logged + turns
    return logged if aligned(logged, steps_of(record)) else None


def shows(record: Record, tied: Tied) -> bool:
    """Return whether a sample shows the contents of a step's log: from the log, or from a record with equal turns."""
    turns, _ = turns_in(record)
    if lacks_prompt(turns):
        return with_log(turns, record, tied) is not None
    candidates = iter(turns)
    return all(any((turn.role, turn.parts) == (other.role, other.parts) for other in candidates) for turn in tied.turns)


def texts_of(turns: Sequence[Turn]) -> tuple[str, str]:
    """Return prompt and response as plain text."""
    pieces: dict[str, list[str]] = {"prompt": [], "response": []}
    for turn in turns:
        shown = (part for part in turn.parts if part.kind not in ("image", "json"))
        if piece := "".join(part.text if part.raw is None else part.raw for part in shown):
            pieces[turn.origin].append(piece)
    return "\n\n".join(pieces["prompt"]), "\n\n".join(pieces["response"])


def answers_of(turns: Sequence[Turn]) -> list[Turn]:
    """Return the turns of the response."""
    return [turn for turn in turns if turn.origin == "response"]
