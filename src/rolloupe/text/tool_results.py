"""Which turn answers which call of a tool, and what a result says of itself: an exit code, a duration, a failure.

Three levels of failure are kept apart: one that the record states, an exit code, and words that look like an error.
Only the first two make a result a failed one.
"""

import re
from collections import deque
from collections.abc import Sequence
from typing import Any, Literal

from msgspec import Struct

from rolloupe.model import Turn
from rolloupe.text.tool_calls import json_object

ResultOutcome = Literal["ok", "failed", "timeout", "unknown"]
Place = tuple[int, int]
"""The number of a turn, and of a part in it."""


class CallResult(Struct, frozen=True, kw_only=True):
    """What the result of a call says."""

    turn: int
    """The number of the turn that has the result."""
    outcome: ResultOutcome
    """`unknown` where the record says neither that the call worked nor that it failed."""
    exit_code: int | None = None
    duration_s: float | None = None
    error: str = ""
    """The error that the record states, in its words."""
    lines: int = 0
    error_lines: int = 0
    """Lines that mention an error, among the first million characters."""


def results_of(turns: Sequence[Turn], start: int = 0, stop: int | None = None) -> dict[Place, CallResult]:
    """Return the result of each call that has one, of the calls in the turns from `start` to `stop`."""
    places = range(len(turns))[start:stop]
    pairs = {place: turn for place, turn in _pairs(turns).items() if place[0] in places}
    results = {turn: result_of(turns[turn], turn) for turn in {*pairs.values()}}
    return {place: results[turn] for place, turn in pairs.items()}


def _pairs(turns: Sequence[Turn]) -> dict[Place, int]:
    """Pair calls with the turns that answer them: by the ids of the calls, otherwise by their order.

    A call with an id waits for its result, whatever comes between; if an id occurs again, the later call waits.
    """
    pairs: dict[Place, int] = {}
    waiting: dict[str, tuple[int, deque[Place]]] = {}
    last, unnamed = deque[Place](), deque[Place]()
    for at, turn in enumerate(turns):
        calls = [((at, place), part.call) for place, part in enumerate(turn.parts) if part.kind == "tool_call"]
        if calls:
            for place, call in calls:
                name = call.id if call else ""
                if waiting.get(name, (-1,))[0] != at:
                    waiting[name] = at, deque()
                waiting[name][1].append(place)
            last = deque(place for place, _ in calls)
            unnamed = deque(last if not any(call and call.id for _, call in calls) else ())
        elif turn.role == "tool":
            # A result that names unknown calls belongs to none; one that names nothing belongs to the next call.
            named = turn.tool_call_id
            ids = [named] if named == "" or named in waiting else named.split(", ")
            answered = [waiting[id_][1].popleft() for id_ in ids if id_ and id_ in waiting and waiting[id_][1]]
            while last and last[0] in pairs:
                last.popleft()
            if not answered and named == "" and last:
                answered = [last.popleft()]
            elif not answered and named != "" and unnamed:
                answered = [unnamed.popleft()]
            pairs |= dict.fromkeys(answered, at)
        elif turn.role == "user":
            last, unnamed = deque(), deque()
    return pairs


_EXIT = re.compile(
    r"(?:\[?(?:the )?(?:command|process)(?: has)?,? (?:(?:completed|finished|exited),? )?(?:with )?)?\[?"
    r"(?:exit(?:ed)?(?: with)?[ _]?(?:code|status)|return[ _]?code|<returncode>)[:= ]*"
    r"(?P<code>-?[0-9]{1,9})(?:</returncode>)?[\]).]{0,3}"
    r"|\[?(?:command|process) exited with (?:code|status) (?P<other>-?[0-9]{1,9})[\].]{0,2}",
    re.IGNORECASE,
)
_TIMEOUT = re.compile(
    r"[^\w]{0,3}(?:error: ?)?(?:the |this )?(?:command|execution|process|tool|call|request|operation|code|script)s?"
    r"(?: execution| call)? ?(?:has |have |was )?timed[ -]out\b.{0,120}",
    re.IGNORECASE,
)
_WALL = re.compile(r"(?:wall|run|execution|elapsed) ?time:? *(?P<s>[0-9.]{1,12}) ?s(?:ec.{0,40})?", re.IGNORECASE)
_ERRORS = re.compile(r"(?i:\b(?:error|exception|traceback|failed|fatal)\b)|[a-z](?:Error|Exception)\b")
_CODES = ("exit_code", "exitCode", "returncode", "return_code", "exit_status")
_MOST_CODE, _MOST_S = 2**31, 1e9
_DURATIONS = {
    "duration_s": 1.0, "duration_seconds": 1.0, "wall_time_seconds": 1.0, "execution_time": 1.0, "runtime": 1.0,
    "duration_ms": 1e-3, "execution_time_ms": 1e-3, "elapsed_ms": 1e-3,
}  # fmt: skip
_ERROR_KEYS = ("error", "is_error", "isError")
_NO_ERRORS = frozenset(("", "false", "none", "null", "no", "0"))
_ENDS_LINES, _LINE_CHARS = 3, 300
_MAX_JSON_CHARS = 200_000
_READ_CHARS = 1_000_000


def result_of(turn: Turn, number: int) -> CallResult:
    """Return what a turn with a result says of its call."""
    text = "".join(part.text for part in turn.parts if part.kind != "marker")
    written = "".join(part.raw or part.text for part in turn.parts if part.kind != "marker")
    is_json = written[:1] == "{" and len(written) <= _MAX_JSON_CHARS
    of_text = json_object(written) if is_json else {}
    members = _with_inner(of_text) | _with_inner(turn.logs)  # the record goes before what a tool wrote
    codes = (_number(members.get(key), _MOST_CODE) for key in _CODES)
    code = next((int(value) for value in codes if value is not None and value == int(value)), None)
    times = ((_number(members.get(key), _MOST_S), by) for key, by in _DURATIONS.items())
    took = next((value * by for value, by in times if value is not None and value > 0), None)
    errors = (turn.logs.get(key) for key in _ERROR_KEYS)
    error = next((value for value in errors if value and str(value)[:9].strip().lower() not in _NO_ERRORS), None)
    is_late = members.get("timed_out") is True or members.get("timeout") is True
    for line in _ends(text):
        if code is None and (match := _EXIT.fullmatch(line)):
            code = int(match["code"] or match["other"])
        elif took is None and (match := _WALL.fullmatch(line)):
            took = _seconds(match["s"])
        is_late = is_late or _TIMEOUT.fullmatch(line) is not None
    words = error if isinstance(error, str) and error.lower() not in ("true", "error") else ""
    is_late = is_late or re.search(r"\btimed?[ _-]?out", words[:_LINE_CHARS], re.IGNORECASE) is not None
    is_failed = bool(error) or code not in (None, 0)
    is_known = code == 0 or any(turn.logs.get(key) is False for key in _ERROR_KEYS)
    return CallResult(
        turn=number,
        outcome="timeout" if is_late else "failed" if is_failed else "ok" if is_known else "unknown",
        exit_code=code,
        duration_s=took,
        error=words,
        lines=text.count("\n") + (1 if text and text[-1] != "\n" else 0),
        error_lines=sum(1 for line in text[:_READ_CHARS].split("\n") if _ERRORS.search(line)),
    )


def _with_inner(members: dict[str, Any]) -> dict[str, Any]:
    """Return members together with those of the objects in which harnesses put them."""
    inner = [value for key in ("metadata", "info", "extra") if isinstance(value := members.get(key), dict)]
    return {name: value for one in (members, *inner) for name, value in one.items()}


def _number(value: object, limit: float) -> float | None:
    """Return a number, or one in a text, below a limit."""
    if isinstance(value, str) and len(value) < 20:
        try:
            value = float(value)
        except ValueError:
            return None
    return float(value) if isinstance(value, int | float) and value is not True and -limit < value < limit else None


def _seconds(written: str) -> float | None:
    try:
        return float(written) or None
    except ValueError:
        return None


def _ends(text: str) -> list[str]:
    """Return the last and first lines, where a harness adds its own words, from the end on; none that are long."""
    text = text.strip()
    head = text[: _ENDS_LINES * _LINE_CHARS].split("\n")[:_ENDS_LINES]
    tail = text[-_ENDS_LINES * _LINE_CHARS :].split("\n")[-_ENDS_LINES:]
    return [line.strip() for line in dict.fromkeys([*reversed(tail), *head]) if len(line) < _LINE_CHARS]
