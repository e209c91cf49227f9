"""Messages that a Telescope environment sent back after a generation, and the tool calls that each answers.

`env_responses` holds the messages, `tool_calls.result` the result of each tool. One message may answer several parallel
calls, so results only identify the calls that a message answers: they become turns themselves only if the archive holds
no message at all.
"""

from collections.abc import Sequence
from typing import NamedTuple

from rolloupe import text
from rolloupe.formats.reading import fields
from rolloupe.formats.telescope.tables import Row
from rolloupe.formats.telescope.texts import UnpackedTexts
from rolloupe.model import Part, Turn

CALL_FACTS = ("success", "exit_code", "truncated", "result_tokens", "sandbox_id")
TOOL_RESULT = "tool_result"
"""The `turn_type` of a message that answers tool calls."""

NEAR = 32
"""Number of messages to search for a result, before and after its own place."""


class Result(NamedTuple):
    """A tool call and its result."""

    call: Row
    text: str


def answer_turns(messages: Sequence[Row], calls: Sequence[Row], texts: UnpackedTexts) -> list[Turn]:
    """The turns after a generation, from the rows of `env_responses` and of the `tool_calls` that they answer."""
    results = [Result(row, texts.of(row.get("result"))) for row in calls]
    if not messages:
        return [_unsent(result) for result in results if result.text]
    turns = [_message(row, texts) for row in messages]
    for turn, turn_results in zip(turns, _answered(turns, results), strict=True):
        _tie(turn, turn_results)
    for number, result in enumerate(results):
        if not any(result.text in _text_of(turn) for turn in (*turns[_near(number)], turns[-1])):
            turns[-1].logs[f"result (call {_number(result.call)})"] = result.text
    return turns


def call_id(call: Row) -> str:
    """The id of a call: Telescope numbers the calls of each generation of each agent."""
    names = ("agent_id", "generation_idx")
    return ".".join(str(number) for number in (*(fields.integer(call.get(one)) or 0 for one in names), _number(call)))


def _number(call: Row) -> int:
    return fields.integer(call.get("tool_call_idx")) or 0


def _message(row: Row, texts: UnpackedTexts) -> Turn:
    kind = fields.tag(row.get("turn_type")) or ""
    is_result = kind == TOOL_RESULT
    turn = Turn(
        role="tool" if is_result else "user",
        origin="response",
        parts=[Part(kind="tool_result" if is_result else "text", text=texts.of(row.get("content")))],
        tokens=fields.count(row.get("tokens")),
        logs={} if kind in ("", TOOL_RESULT) else {"turn_type": kind},
    )
    if (response_s := fields.number(row.get("response_time"))) is not None:
        turn.metrics["response_time"] = response_s
    return turn


def _unsent(result: Result) -> Turn:
    turn = Turn(role="tool", origin="response", parts=[Part(kind="tool_result", text=result.text)])
    turn.logs["logged"] = "as the result of the call alone"
    _tie(turn, [result])
    return turn


def _answered(turns: Sequence[Turn], results: Sequence[Result]) -> list[list[Result]]:
    """The results in each message: a lone message holds all of them; otherwise texts and order decide."""
    found: list[list[Result]] = [[] for _ in turns]
    tools = [number for number, turn in enumerate(turns) if turn.role == "tool"]
    for number, result in enumerate(results):
        near = tools
        if len(tools) > 1:
            same = tools[number : number + 1] if len(tools) == len(results) else []
            near = [one for one in same + tools[_near(number)] if result.text and result.text in _text_of(turns[one])]
            near = [one for one in near if not found[one]] or near or same
        for one in near[:1]:
            found[one].append(result)
    return found


def _near(number: int) -> slice:
    """The messages around a place: they follow the order of the calls, and a sample may have thousands of both."""
    return slice(max(0, number - NEAR), number + NEAR)


def _text_of(turn: Turn) -> str:
    return turn.parts[0].text


def _tie(turn: Turn, results: Sequence[Result]) -> None:
    """Record in a turn the calls that it answers, and the archive's other facts about each."""
    names = [text.clean(str(call.get("tool_name") or "")) for call, _ in results]
    turn.name = ", ".join(dict.fromkeys(filter(None, names)))
    turn.tool_call_id = ", ".join(call_id(call) for call, _ in results)
    for call, _ in results:
        behind = f" (call {_number(call)})" if len(results) > 1 else ""
        turn.logs |= {f"{name}{behind}": call[name] for name in CALL_FACTS if call.get(name) not in (None, "", -1)}
        if call.get("error"):
            turn.logs[f"error{behind}"] = call["error"]
