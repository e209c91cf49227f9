"""A sample of Telescope: the texts of its rows, and its turns.

Turns follow `generation_idx`; the environment's answers follow the generation that they answer. Tool calls occur both
in a table of their own and in the model's text: if the two match, the card shows the table's call.
"""

import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from msgspec.structs import replace

from rolloupe import text
from rolloupe.formats.reading import fields
from rolloupe.formats.telescope.answers import answer_turns, call_id
from rolloupe.formats.telescope.tables import Facts, Row
from rolloupe.formats.telescope.texts import UnpackedTexts
from rolloupe.model import Part, ToolCall, Turn

TIMINGS = ("queue_time", "ttft", "prefill_time", "decode_time", "inference_time", "e2e_latency")

Place = tuple[int, int]
"""Agent and generation."""


def prompt_turns(prompt: Row) -> list[Turn]:
    """The turns of a prompt."""
    named = (("system", "system_prompt", "tokens_system_prompt"), ("user", "prompt", "tokens_prompt"))
    found = []
    for role, column, tokens in named:
        content = prompt.get(column)
        if isinstance(content, str) and content:
            parts = [Part(kind="text", text=text.clean(content))]
            found.append(Turn(role=role, parts=parts, tokens=fields.count(prompt.get(tokens)) or None))
    return found


def response_turns(facts: Facts, texts: UnpackedTexts) -> list[Turn]:
    """The turns of a response: the main agent's first, then those of each agent below it."""
    calls = sorted(facts.about.get("tool_calls", []), key=lambda row: fields.integer(row.get("tool_call_idx")) or 0)
    cards, answered = _by_place(calls), _by_place(calls, _answered_at)
    answers = _by_place(facts.about.get("env_responses", []))
    infos, metrics = (_by_place(facts.about.get(name, [])) for name in ("info_turns", "turn_metrics"))
    found: list[Turn] = []
    for place, generations in sorted(_by_place(facts.about.get("generations", [])).items()):
        for number, generation in enumerate(generations):
            turn = _generation(generation, place, texts, cards.get(place, []) if not number else [])
            if not number:
                _inform(turn, infos.get(place, []), metrics.get(place, []))
            found.append(turn)
        found += answer_turns(answers.pop(place, []), answered.pop(place, []), texts)
    for place in sorted({*answers, *answered}):  # of missing generations
        found += answer_turns(answers.get(place, []), answered.get(place, []), texts)
    return found


def _place(row: Row) -> Place:
    return fields.integer(row.get("agent_id")) or 0, fields.integer(row.get("generation_idx")) or 0


def _answered_at(call: Row) -> Place:
    """The place of the message that answers a call."""
    agent, generation = _place(call)
    other = fields.integer(call.get("env_response_generation_idx"))
    return agent, generation if other is None or other < 0 else other


def _by_place(rows: Iterable[Row], place: Callable[[Row], Place] = _place) -> dict[Place, list[Row]]:
    found: dict[Place, list[Row]] = defaultdict(list)
    for row in rows:
        found[place(row)].append(row)
    return found


def _generation(row: Row, place: Place, texts: UnpackedTexts, calls: Sequence[Row]) -> Turn:
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
        parts=_with_calls(text.parts(texts.of(row.get("content"))), calls),
        tokens=fields.count(row.get("tokens")),
        stop_reason=fields.tag(row.get("stop_reason")) or "",
        metrics=metrics,
        logs=logs | ({"vllm_request_id": request} if isinstance(request, str) and request else {}),
    )


def _with_calls(parts: list[Part], calls: Sequence[Row]) -> list[Part]:
    """The parts of a model's text, with its calls from the table; verbatim all the same."""
    cards = [_card(row) for row in calls]
    written = [number for number, part in enumerate(parts) if part.kind == "tool_call"]
    if len(written) == len(cards):
        for number, card in zip(written, cards, strict=True):
            parts[number] = replace(parts[number], call=card)
        return parts
    shown = [str(row.get("raw_text") or text.call_text(card)) for row, card in zip(calls, cards, strict=True)]
    return parts + [
        Part(kind="tool_call", text=call_text, raw="", call=card) for call_text, card in zip(shown, cards, strict=True)
    ]


def _card(row: Row) -> ToolCall:
    return ToolCall(
        name=text.clean(str(row.get("tool_name") or "")),
        arguments=text.clean(str(row.get("arguments") or "")),
        id=call_id(row),
        error=text.clean(str(row.get("error") or "")),
    )


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
    """The golden answer: one text, or one line for each key if they differ."""
    pairs = {str(row.get("key") or ""): str(row.get("value")) for row in answers if row.get("value") is not None}
    if len(set(pairs.values())) <= 1:
        return text.clean(next(iter(pairs.values()), ""))
    return text.clean("\n".join(f"{key}: {value}" for key, value in pairs.items()))


def as_json(facts: Facts, texts: UnpackedTexts) -> bytes:
    """Every row about a sample as one JSON document, its texts unpacked."""

    def shown(row: Row) -> Row:
        return {key: texts.of(value) if isinstance(value, bytes) else value for key, value in row.items()}

    document: dict[str, Any] = {"samples_data": shown(facts.row), "prompts": shown(facts.prompt)}
    document |= {name: [shown(row) for row in rows] for name, rows in facts.about.items()}
    return json.dumps(document, ensure_ascii=False, indent=1, default=str).encode("utf-8", "replace")
