"""One sample of Telescope: its row for lists, its turns, and the whole sample.

Turns follow `generation_idx`; each answer of the environment follows its generation. Tool calls occur both in a table
of their own and in the model's text: if the two match, the card shows the table's call.

`env_responses` holds the messages that the environment sent back, `tool_calls.result` the result of each tool. One
message may answer several parallel calls, so results only show which calls a message answers: they become turns
only if the archive holds no message at all.
"""

import json
from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from msgspec.structs import replace

from rolloupe import text
from rolloupe.formats.reading import value_parsers as parsers
from rolloupe.formats.reading.codecs import ZstdError, zstd_decompressor
from rolloupe.formats.reading.records import TOO_LARGE, Unusable
from rolloupe.formats.telescope.archives import UNDISPATCHED, Facts, Kind, KindTables, Row, stamp_of
from rolloupe.model import Locator, Part, RunInfo, Sample, SampleRow, Source, ToolCall, Turn

NUMBERS = (
    "off_policy_steps", "num_generations", "compute_reward_time", "compute_eval_metrics_time", "inference_step",
    "model_step",
)  # fmt: skip
_PLACED = {
    *NUMBERS, "step", "trainer_step", "group_id", "sample_id", "reward", "advantage", "total_tokens", "stop_reason",
    "discard_reason", "eval_name", "sample_idx", "completion_idx", "env", "tail_idx",
}  # fmt: skip
_OF_PROMPT = {
    "timestamp", "discard_reason", "trainer_step", "inference_step", "step", "group_id", "env", "prompt",
    "tokens_prompt", "system_prompt", "tokens_system_prompt", "tail_idx", "eval_name", "model_step", "sample_idx",
    "sample_id",
}  # fmt: skip
_AFTERWARDS = "_after_training"
"""The suffix for the splits of evaluations after training; evaluations during training lack it."""
_LAST = 2**40
"""Samples without a number come after all others."""

MAX_TEXT_BYTES = 64 * 2**20

_FRAME = b"\x28\xb5\x2f\xfd"

Place = tuple[int, int]
"""Agent and generation."""


class UnpackedTexts:
    """The texts of one sample, unpacked as long as the budget lasts."""

    def __init__(self) -> None:
        self.left = MAX_TEXT_BYTES
        self.notes: list[str] = []

    def of(self, value: object) -> str:
        """Return a text, packed or not."""
        if isinstance(value, str):
            return text.clean(value)
        if not isinstance(value, bytes) or not value:
            return ""
        note, data = "", value[: self.left]
        if value.startswith(_FRAME):
            try:
                decoder = zstd_decompressor()
                data = decoder.decompress(value, max_length=max(1, self.left))
                if not decoder.eof:
                    most = f"more than {MAX_TEXT_BYTES >> 20} MiB of text"
                    note = f"{most}, or text that is cut off: the rest is not shown"
            except (ZstdError, EOFError, ValueError) as error:
                note, data = f"a text could not be unpacked: {str(error)[:200]}", b""
        if note and note not in self.notes:
            self.notes.append(note)
        self.left -= len(data)
        return text.clean(data.decode("utf-8", errors="replace"))


class Sampled(NamedTuple):
    """A sample read from its rows."""

    row: SampleRow
    facts: Facts
    turns: list[Turn]
    texts: UnpackedTexts

    def sample(self, locator: Locator) -> Sample:
        notes = list(self.texts.notes)
        notes += [f"more rows of {name} than are read: the rest is left out" for name in self.facts.cut]
        if self.row.status == "aborted" and not any(turn.origin == "response" for turn in self.turns):
            notes.append("cancelled before it ended: there is no answer, and no reward")
        return parsers.sample_with(
            self.row,
            locator,
            self.turns,
            prompt_text=_joined(self.turns, "prompt"),
            label=label_of(self.facts.about.get("golden_answers", [])),
            extra=_extra(self.facts, self.row, self.texts),
            notes=notes,
        )


def sampled(run: RunInfo, source: Source, kind_tables: KindTables, number: int, facts: Facts) -> Sampled:
    """Read a sample from its rows. Raises `Unusable` if they do not identify it."""
    texts = UnpackedTexts()
    turns = [*prompt_turns(facts.prompt), *response_turns(facts, texts)]
    row = _identified(source, kind_tables, number, facts.row)
    _fill(row, kind_tables.kind, facts)
    # In lists and searches, the user's part comes first, because many prompts share a system part.
    row.prompt = _joined(sorted(turns, key=lambda turn: turn.role == "system"), "prompt")
    row.response = _joined(turns, "response")
    row.messages = [turn for turn in turns if turn.origin == "response"]
    if key := run.reading.group_by:
        row.group = (
            parsers.name(row.tags.get(key, row.metrics.get(key, row.env if key == "env" else None))) or row.group
        )
    if key := run.reading.reward_key:
        row.reward = row.metrics.get(f"reward.{key}", row.metrics.get(key))
    return Sampled(row, facts, turns, texts)


def _identified(source: Source, kind_tables: KindTables, number: int, record: Row) -> SampleRow:
    kind = kind_tables.kind
    sample = parsers.integer(record.get("sample_id"))
    step = parsers.integer(record.get("step" if kind.is_eval or kind.is_trained else "trainer_step"))
    if sample is None or step is None:
        raise Unusable(f"no {'step' if sample is not None else 'sample_id'}")
    if parsers.is_too_large(step):
        raise Unusable(f"step {step} {TOO_LARGE}")
    if kind.is_eval:
        stamp = stamp_of(source.path)
        split = f"eval/{parsers.name(record.get('eval_name')) or 'unnamed'}{_AFTERWARDS if stamp else ''}"
        group, index = parsers.name(record.get("sample_idx")), parsers.name(record.get("completion_idx"))
        index = f"{index or '0'}-{stamp}" if stamp else index
    else:
        split, group, index = "train", parsers.name(record.get("group_id")), str(sample)
    return SampleRow(
        split=split,
        step=step,
        group=group or "0",
        index=f"none-{kind_tables.nth_without_id(number)}" if sample == UNDISPATCHED else index or str(sample),
        ordinal=sample if sample >= 0 else _LAST + number,
        start=number,
        length=0,
        part=kind.samples,
        uid=str(sample) if sample >= 0 else "",
    )


def _fill(row: SampleRow, kind: Kind, facts: Facts) -> None:
    record, prompt = facts.row, facts.prompt
    generations = facts.about.get("generations", [])
    row.status, row.status_raw = parsers.status(record.get("stop_reason"))
    if row.status_raw == "final_answer":
        row.status = "completed"
    row.discarded = "" if kind.is_trained or kind.is_eval else str(record.get("discard_reason") or "unknown")[:200]
    row.env = parsers.name(record.get("env")) or parsers.name(prompt.get("env")) or ""
    row.turns = len(generations)
    row.response_tokens = _sum([generation.get("tokens") for generation in generations])
    counts = (parsers.count(generation.get("prompt_tokens")) for generation in generations)
    of_prompt = [prompt.get(key) for key in ("tokens_prompt", "tokens_system_prompt")]
    row.prompt_tokens = next(filter(None, counts), None) or _sum(of_prompt)
    rewards = facts.about.get("rollouts_metrics", [])
    measured = {str(reward.get("metric_name") or "metric"): reward.get("value") for reward in rewards}
    measured |= {name: record[name] for name in NUMBERS if name in record}
    row.metrics = {text.clean(name): value for name, value in parsers.numbers(measured).items()}
    row.tags = {
        text.clean(str(tag.get("tag_name") or "tag")): short
        for tag in facts.about.get("sample_tags", [])
        if (short := parsers.tag(tag.get("tag_value")))
    }
    if kind.is_cancelled:
        row.status, row.status_raw = "aborted", "cancelled"
        row.tags["cancelled"] = "yes"
    else:  # the reward of 0 of a cancelled sample comes from no grader
        row.total_tokens = parsers.count(record.get("total_tokens"))
        row.reward, row.advantage = (parsers.number(record.get(name)) for name in ("reward", "advantage"))


def _sum(values: list[Any]) -> int | None:
    counts = [count for value in values if (count := parsers.count(value)) is not None]
    return parsers.count(sum(counts)) if counts else None


def _joined(turns: list[Turn], origin: str) -> str:
    return "\n\n".join(filter(None, (text.verbatim(turn) for turn in turns if turn.origin == origin)))


def _extra(facts: Facts, row: SampleRow, texts: UnpackedTexts) -> dict[str, Any]:
    extra = {
        key: texts.of(value) if isinstance(value, bytes) else value
        for key, value in facts.row.items()
        if key not in _PLACED and value not in (None, "", b"")
    }
    extra |= {f"prompts.{key}": value for key, value in facts.prompt.items() if key not in _OF_PROMPT and value}
    tags = {
        str(tag.get("tag_name")): tag.get("tag_value")
        for tag in facts.about.get("sample_tags", [])
        if tag.get("tag_value") and str(tag.get("tag_name")) not in row.tags
    }
    answers = {str(row.get("key")): row.get("value") for row in facts.about.get("golden_answers", [])}
    extra |= {"sample_tags": tags} if tags else {}
    return extra | ({"golden_answers": answers} if len(answers) > 1 else {})


TIMINGS = ("queue_time", "ttft", "prefill_time", "decode_time", "inference_time", "e2e_latency")


def prompt_turns(prompt: Row) -> list[Turn]:
    """Return the turns of a prompt."""
    turns = []
    for role, column in (("system", "system_prompt"), ("user", "prompt")):
        content = prompt.get(column)
        if isinstance(content, str) and content:
            parts = [Part(kind="text", text=text.clean(content))]
            turns.append(Turn(role=role, parts=parts, tokens=parsers.count(prompt.get(f"tokens_{column}")) or None))
    return turns


def response_turns(facts: Facts, texts: UnpackedTexts) -> list[Turn]:
    """Return the turns of a response: the main agent's first, then those of each agent below it."""
    calls = sorted(facts.about.get("tool_calls", []), key=_number)
    cards, answered = _by_place(calls), _by_place(calls, answered=True)
    answers = _by_place(facts.about.get("env_responses", []))
    infos, metrics = (_by_place(facts.about.get(name, [])) for name in ("info_turns", "turn_metrics"))
    turns: list[Turn] = []
    for place, generations in sorted(_by_place(facts.about.get("generations", [])).items()):
        first = _generation(generations[0], place, texts, cards.get(place, []))
        for row in infos.get(place, []):
            key, call = str(row.get("info_key") or "info"), parsers.integer(row.get("tool_call_idx"))
            key = f"{key} (call {call})" if call is not None and call >= 0 else key
            value: Any = row.get("info_value")
            first.logs[key] = f"{first.logs[key]}\n{value}" if key in first.logs else value
        numbers = [(row.get("metric_name"), parsers.number(row.get("value"))) for row in metrics.get(place, [])]
        first.metrics |= {str(name or "metric"): number for name, number in numbers if number is not None}
        turns += [first, *(_generation(generation, place, texts, []) for generation in generations[1:])]
        turns += answer_turns(answers.pop(place, []), answered.pop(place, []), texts)
    for place in sorted({*answers, *answered}):  # answers to missing generations
        turns += answer_turns(answers.get(place, []), answered.get(place, []), texts)
    return turns


def _by_place(rows: Iterable[Row], *, answered: bool = False) -> dict[Place, list[Row]]:
    """Return rows by agent and generation; with `answered`, calls by the place of the message that answers them."""
    by_place: dict[Place, list[Row]] = defaultdict(list)
    for row in rows:
        agent, generation = (parsers.integer(row.get(key)) or 0 for key in ("agent_id", "generation_idx"))
        other = parsers.integer(row.get("env_response_generation_idx")) if answered else None
        by_place[agent, generation if other is None or other < 0 else other].append(row)
    return by_place


def _generation(row: Row, place: Place, texts: UnpackedTexts, calls: Sequence[Row]) -> Turn:
    timed = any(parsers.number(row.get(name)) for name in TIMINGS)
    names = (*(TIMINGS if timed else ()), "prompt_tokens")
    metrics = parsers.numbers({name: row.get(name) for name in names})
    server = parsers.integer(row.get("server_id"))
    logs = {"server_id": server} if server is not None and server >= 0 else {}
    request = row.get("vllm_request_id")
    return Turn(
        role="assistant",
        origin="response",
        name=f"agent {place[0]}" if place[0] else "",
        parts=_with_calls(text.parts(texts.of(row.get("content"))), calls),
        tokens=parsers.count(row.get("tokens")),
        stop_reason=parsers.tag(row.get("stop_reason")) or "",
        metrics=metrics,
        logs=logs | ({"vllm_request_id": request} if isinstance(request, str) and request else {}),
    )


def _with_calls(parts: list[Part], calls: Sequence[Row]) -> list[Part]:
    """Return the parts of a model's text, still verbatim, with the calls of the table."""
    cards = [
        ToolCall(
            name=text.clean(str(row.get("tool_name") or "")),
            arguments=text.clean(str(row.get("arguments") or "")),
            id=call_id(row),
            error=text.clean(str(row.get("error") or "")),
        )
        for row in calls
    ]
    written = [number for number, part in enumerate(parts) if part.kind == "tool_call"]
    if len(written) == len(cards):
        for number, card in zip(written, cards, strict=True):
            parts[number] = replace(parts[number], call=card)
        return parts
    for row, card in zip(calls, cards, strict=True):
        shown = str(row.get("raw_text") or text.call_text(card))
        parts.append(Part(kind="tool_call", text=shown, raw="", call=card))
    return parts


def label_of(answers: Sequence[Row]) -> str:
    """Return the golden answer: one text, or one line for each key if they differ."""
    pairs = {str(row.get("key") or ""): str(row.get("value")) for row in answers if row.get("value") is not None}
    if len(set(pairs.values())) <= 1:
        return text.clean(next(iter(pairs.values()), ""))
    return text.clean("\n".join(f"{key}: {value}" for key, value in pairs.items()))


def as_json(facts: Facts, texts: UnpackedTexts) -> bytes:
    """Return every row about a sample as one JSON document, its texts unpacked."""

    def shown(row: Row) -> Row:
        return {key: texts.of(value) if isinstance(value, bytes) else value for key, value in row.items()}

    document: dict[str, Any] = {"samples_data": shown(facts.row), "prompts": shown(facts.prompt)}
    document |= {name: [shown(row) for row in rows] for name, rows in facts.about.items()}
    return json.dumps(document, ensure_ascii=False, indent=1, default=str).encode("utf-8", "replace")


CALL_FACTS = ("success", "exit_code", "truncated", "result_tokens", "sandbox_id")
TOOL_RESULT = "tool_result"
"""The `turn_type` of a message that answers tool calls."""

NEAR = 32
"""Number of messages to search for a result, before and after its own place."""


Result = tuple[Row, str]


def answer_turns(messages: Sequence[Row], calls: Sequence[Row], texts: UnpackedTexts) -> list[Turn]:
    """Return the turns after a generation: rows of `env_responses`, and the `tool_calls` that they answer."""
    results = [(row, texts.of(row.get("result"))) for row in calls]
    if not messages:
        turns = []
        for call, result in results:
            if result:
                turn = Turn(role="tool", origin="response", parts=[text.output_part(result, "tool_result")])
                turn.logs["logged"] = "as the result of the call alone"
                _tie(turn, [(call, result)])
                turns.append(turn)
        return turns
    turns = [_message(row, texts) for row in messages]
    for turn, turn_results in zip(turns, _answered(turns, results), strict=True):
        _tie(turn, turn_results)
    for number, (call, result) in enumerate(results):
        if not any(result in text.verbatim(turn) for turn in (*turns[_near(number)], turns[-1])):
            turns[-1].logs[f"result (call {_number(call)})"] = result
    return turns


def call_id(call: Row) -> str:
    """Return the id of a call: Telescope numbers the calls of each generation of each agent."""
    keys = ("agent_id", "generation_idx", "tool_call_idx")
    return ".".join(str(parsers.integer(call.get(key)) or 0) for key in keys)


def _number(call: Row) -> int:
    return parsers.integer(call.get("tool_call_idx")) or 0


def _message(row: Row, texts: UnpackedTexts) -> Turn:
    kind = parsers.tag(row.get("turn_type")) or ""
    is_result = kind == TOOL_RESULT
    turn = Turn(
        role="tool" if is_result else "user",
        origin="response",
        parts=[text.output_part(texts.of(row.get("content")), "tool_result" if is_result else "text")],
        tokens=parsers.count(row.get("tokens")),
        logs={} if kind in ("", TOOL_RESULT) else {"turn_type": kind},
    )
    if (response_s := parsers.number(row.get("response_time"))) is not None:
        turn.metrics["response_time"] = response_s
    return turn


def _answered(turns: Sequence[Turn], results: Sequence[Result]) -> list[list[Result]]:
    """Return the results in each message: a single message holds all; among several, texts and order decide."""
    answered: list[list[Result]] = [[] for _ in turns]
    tools = [number for number, turn in enumerate(turns) if turn.role == "tool"]
    shown = [text.verbatim(turn) for turn in turns]
    for number, (call, result) in enumerate(results):
        near = tools
        if len(tools) > 1:
            same = tools[number : number + 1] if len(tools) == len(results) else []
            near = [at for at in same + tools[_near(number)] if result and result in shown[at]]
            near = [at for at in near if not answered[at]] or near or same
        for at in near[:1]:
            answered[at].append((call, result))
    return answered


def _near(number: int) -> slice:
    """Return the messages near a place: messages follow the order of the calls, and may be thousands."""
    return slice(max(0, number - NEAR), number + NEAR)


def _tie(turn: Turn, results: Sequence[Result]) -> None:
    """Record in a turn the calls that it answers, and more facts about each."""
    names = [text.clean(str(call.get("tool_name") or "")) for call, _ in results]
    turn.name = ", ".join(dict.fromkeys(filter(None, names)))
    turn.tool_call_id = ", ".join(call_id(call) for call, _ in results)
    for call, _ in results:
        behind = f" (call {_number(call)})" if len(results) > 1 else ""
        turn.logs |= {f"{name}{behind}": call[name] for name in CALL_FACTS if call.get(name) not in (None, "", -1)}
        if call.get("error"):
            turn.logs[f"error{behind}"] = call["error"]
