"""A sample of Telescope: the texts of its rows, and the turns that they are.

Turns follow `generation_idx`; what the environment answered stands behind the generation that it answers. Tool calls
are in a table of their own as well as in what the model wrote: where the two can be matched, the card is the table's.
"""

import json
import sys
from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from msgspec.structs import replace

from rolloupe import text
from rolloupe.formats import _fields as fields
from rolloupe.formats._decoding import MAX_WINDOW_LOG
from rolloupe.formats._telescope_tables import Facts, Row
from rolloupe.model import Part, ToolCall, Turn

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

MAX_TEXT_BYTES = 64 * 2**20
"""So much text is made of one sample."""

TIMINGS = ("queue_time", "ttft", "prefill_time", "decode_time", "inference_time", "e2e_latency")
CALL_FACTS = ("success", "exit_code", "truncated", "result_tokens", "sandbox_id")
_FRAME = b"\x28\xb5\x2f\xfd"
_WINDOW: dict[int, int] = {zstd.DecompressionParameter.window_log_max: MAX_WINDOW_LOG}

Place = tuple[int, int]
"""Agent and generation."""


class Texts:
    """The texts of one sample, unpacked as long as there is room for them."""

    def __init__(self) -> None:
        self.left = MAX_TEXT_BYTES
        self.notes: list[str] = []

    def of(self, value: object) -> str:
        """A text, whether it is packed or not."""
        if isinstance(value, str):
            return text.clean(value)
        if not isinstance(value, bytes) or not value:
            return ""
        data = self._unpacked(value) if value.startswith(_FRAME) else value[: self.left]
        self.left -= len(data)
        return text.clean(data.decode("utf-8", errors="replace"))

    def _unpacked(self, value: bytes) -> bytes:
        try:
            decoder = zstd.ZstdDecompressor(options=_WINDOW)
            data = decoder.decompress(value, max_length=max(1, self.left))
            if not decoder.eof:
                self._note(
                    f"more than {MAX_TEXT_BYTES >> 20} MiB of text, or text that is cut off: the rest is not shown"
                )
        except (zstd.ZstdError, EOFError, ValueError) as error:
            self._note(f"a text could not be unpacked: {str(error)[:200]}")
            return b""
        return data

    def _note(self, what: str) -> None:
        if what not in self.notes:
            self.notes.append(what)


def prompt_turns(prompt: Row) -> list[Turn]:
    """The turns of a prompt."""
    named = (("system", "system_prompt", "tokens_system_prompt"), ("user", "prompt", "tokens_prompt"))
    found = []
    for role, column, tokens in named:
        own = prompt.get(column)
        if isinstance(own, str) and own:
            parts = [Part(kind="text", text=text.clean(own))]
            found.append(Turn(role=role, parts=parts, tokens=fields.count(prompt.get(tokens)) or None))
    return found


def response_turns(facts: Facts, texts: Texts) -> list[Turn]:
    """The turns of a response: the main agent's first, then those of each agent below it."""
    answers, calls = _by_place(facts, "env_responses"), _by_place(facts, "tool_calls")
    infos, metrics = _by_place(facts, "info_turns"), _by_place(facts, "turn_metrics")
    found: list[Turn] = []
    for place, generations in sorted(_by_place(facts, "generations").items()):
        own = sorted(calls.pop(place, []), key=lambda row: fields.integer(row.get("tool_call_idx")) or 0)
        for number, generation in enumerate(generations):
            turn = _generation(generation, place, texts, own if not number else [])
            if not number:
                _inform(turn, infos.get(place, []), metrics.get(place, []))
            found.append(turn)
        found += _answers(answers.pop(place, []), own, place, texts)
    for place in sorted({*answers, *calls}):  # of generations that are not there
        found += _answers(answers.get(place, []), calls.get(place, []), place, texts)
    return found


def _by_place(facts: Facts, name: str) -> dict[Place, list[Row]]:
    found: dict[Place, list[Row]] = defaultdict(list)
    for row in facts.about.get(name, []):
        found[fields.integer(row.get("agent_id")) or 0, fields.integer(row.get("generation_idx")) or 0].append(row)
    return found


def _generation(row: Row, place: Place, texts: Texts, calls: Sequence[Row]) -> Turn:
    timed = any(fields.number(row.get(name)) for name in TIMINGS)
    names = (*(TIMINGS if timed else ()), "prompt_tokens")
    metrics = {name: number for name in names if (number := fields.number(row.get(name))) is not None}
    server = fields.integer(row.get("server_id"))
    logs = {"server_id": server} if server is not None and server >= 0 else {}
    request = row.get("vllm_request_id")
    return Turn(
        role="assistant",
        origin="response",
        name=f"agent {place[0]}" if place[0] else "",
        parts=_with_calls(text.parts(texts.of(row.get("content"))), calls, place),
        tokens=fields.count(row.get("tokens")),
        stop_reason=fields.tag(row.get("stop_reason")) or "",
        metrics=metrics,
        logs=logs | ({"vllm_request_id": request} if isinstance(request, str) and request else {}),
    )


def _with_calls(parts: list[Part], calls: Sequence[Row], place: Place) -> list[Part]:
    """The parts of what a model wrote, its calls as the table has them; verbatim all the same."""
    cards = [_card(row, place) for row in calls]
    written = [number for number, part in enumerate(parts) if part.kind == "tool_call"]
    if len(written) == len(cards):
        for number, card in zip(written, cards, strict=True):
            parts[number] = replace(parts[number], call=card)
        return parts
    shown = [str(row.get("raw_text") or card.arguments) for row, card in zip(calls, cards, strict=True)]
    return parts + [Part(kind="tool_call", text=own, raw="", call=card) for own, card in zip(shown, cards, strict=True)]


def _card(row: Row, place: Place) -> ToolCall:
    return ToolCall(
        name=text.clean(str(row.get("tool_name") or "")),
        arguments=text.clean(str(row.get("arguments") or "")),
        id=_call_id(row, place),
        error=text.clean(str(row.get("error") or "")),
    )


def _call_id(row: Row, place: Place) -> str:
    return f"{place[0]}.{place[1]}.{fields.integer(row.get('tool_call_idx')) or 0}"


def _answers(answers: Sequence[Row], calls: Sequence[Row], place: Place, texts: Texts) -> list[Turn]:
    """What the environment said after a generation: each answer, and the results of calls that none of them shows."""
    results = [(row, texts.of(row.get("result"))) for row in calls]
    found = []
    for row in answers:
        own = texts.of(row.get("content"))
        kind = fields.tag(row.get("turn_type")) or ""
        call = next((one for one in results if one[1] and one[1] in own), results[0] if len(results) == 1 else None)
        if call is not None and kind == "tool_result":
            results.remove(call)
        turn = Turn(
            role="tool" if kind == "tool_result" else "user",
            origin="response",
            parts=[Part(kind="tool_result" if kind == "tool_result" else "text", text=own)],
            tokens=fields.count(row.get("tokens")),
            logs={} if kind in ("", "tool_result") else {"turn_type": kind},
        )
        if (response_s := fields.number(row.get("response_time"))) is not None:
            turn.metrics["response_time"] = response_s
        if call is not None and turn.role == "tool":
            _tie(turn, call[0], place)
        found.append(turn)
    for row, own in results:
        if own:
            turn = Turn(role="tool", origin="response", parts=[Part(kind="tool_result", text=own)])
            turn.logs["logged"] = "as the result of the call alone"
            _tie(turn, row, place)
            found.append(turn)
    return found


def _tie(turn: Turn, call: Row, place: Place) -> None:
    turn.name = text.clean(str(call.get("tool_name") or ""))
    turn.tool_call_id = _call_id(call, place)
    turn.logs |= {name: call[name] for name in CALL_FACTS if call.get(name) not in (None, "", -1)}
    if call.get("error"):
        turn.logs["error"] = call["error"]


def _inform(turn: Turn, infos: Sequence[Row], metrics: Sequence[Row]) -> None:
    for row in infos:
        key = str(row.get("info_key") or "info")
        call = fields.integer(row.get("tool_call_idx"))
        key = f"{key} (call {call})" if call is not None and call >= 0 else key
        value: Any = row.get("info_value")
        turn.logs[key] = f"{turn.logs[key]}\n{value}" if key in turn.logs else value
    for row in metrics:
        if (number := fields.number(row.get("value"))) is not None:
            turn.metrics[str(row.get("metric_name") or "metric")] = number


def label_of(answers: Sequence[Row]) -> str:
    """The golden answer: one text, or a line for each key where they differ."""
    pairs = {str(row.get("key") or ""): str(row.get("value")) for row in answers if row.get("value") is not None}
    if len(set(pairs.values())) <= 1:
        return text.clean(next(iter(pairs.values()), ""))
    return text.clean("\n".join(f"{key}: {value}" for key, value in pairs.items()))


def as_json(facts: Facts, texts: Texts) -> bytes:
    """Every row about a sample as one JSON document, its texts unpacked."""

    def shown(row: Row) -> Row:
        return {key: texts.of(value) if isinstance(value, bytes) else value for key, value in row.items()}

    document: dict[str, Any] = {"samples_data": shown(facts.row), "prompts": shown(facts.prompt)}
    document |= {name: [shown(row) for row in rows] for name, rows in facts.about.items()}
    return json.dumps(document, ensure_ascii=False, indent=1, default=str).encode("utf-8", "replace")
