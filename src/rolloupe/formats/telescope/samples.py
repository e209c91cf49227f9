"""One sample of Telescope: its row for lists, its turns, and the whole sample.

Turns follow `generation_idx`; the environment's answers follow the generation that they answer. Tool calls occur both
in a table of their own and in the model's text: if the two match, the card shows the table's call.

`env_responses` holds the messages that the environment sent back, `tool_calls.result` the result of each tool. One
message may answer several parallel calls, so results only identify the calls that a message answers: they become turns
themselves only if the archive holds no message at all.
"""

import json
import sys
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

from msgspec.structs import replace

from rolloupe import text
from rolloupe.formats.reading import fields
from rolloupe.formats.reading.codecs import MAX_WINDOW_LOG
from rolloupe.formats.reading.records import TOO_LARGE, Unusable
from rolloupe.formats.telescope.archives import UNDISPATCHED, Facts, Kind, KindTables, Row, name_of, stamp_of
from rolloupe.model import Locator, Part, RunInfo, Sample, SampleRow, Source, Status, ToolCall, Turn

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

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
_FINISHED = ("final_answer",)
_AFTERWARDS = "_after_training"
"""The suffix of the split of an evaluation after training, absent from the evaluation's name during training."""
_LAST = 2**40
"""Samples without a number of their own come after all others."""

MAX_TEXT_BYTES = 64 * 2**20
"""Maximum amount of text for one sample."""

_FRAME = b"\x28\xb5\x2f\xfd"
_WINDOW: dict[int, int] = {zstd.DecompressionParameter.window_log_max: MAX_WINDOW_LOG}

Place = tuple[int, int]
"""Agent and generation."""


class UnpackedTexts:
    """The texts of one sample, unpacked as long as the budget lasts."""

    def __init__(self) -> None:
        self.left = MAX_TEXT_BYTES
        self.notes: list[str] = []

    def of(self, value: object) -> str:
        """A text, packed or not."""
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


class Sampled(NamedTuple):
    """A sample read from its rows."""

    row: SampleRow
    facts: Facts
    turns: list[Turn]
    texts: UnpackedTexts

    def sample(self, locator: Locator) -> Sample:
        """The sample whole."""
        notes = list(self.texts.notes)
        notes += [f"more rows of {name} than are read: the rest is left out" for name in self.facts.cut]
        if self.row.status == "aborted" and not any(turn.origin == "response" for turn in self.turns):
            notes.append("cancelled before it ended: there is no answer, and no reward")
        return Sample(
            key=self.row.key,
            row=self.row,
            locator=locator,
            turns=self.turns,
            prompt_text=_joined(self.turns, "prompt"),
            response_text=self.row.response,
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
    row.metrics, row.tags = _metrics(facts), _tags(facts, kind_tables.kind)
    row.prompt, row.response = _prompt_text(turns), _joined(turns, "response")
    row.messages = [turn for turn in turns if turn.origin == "response"]
    if key := run.reading.group_by:
        row.group = fields.name(row.tags.get(key, row.metrics.get(key, row.env if key == "env" else None))) or row.group
    if key := run.reading.reward_key:
        row.reward = row.metrics.get(f"reward.{key}", row.metrics.get(key))
    return Sampled(row, facts, turns, texts)


def _identified(source: Source, kind_tables: KindTables, number: int, record: Row) -> SampleRow:
    kind = kind_tables.kind
    sample = fields.integer(record.get("sample_id"))
    step = fields.integer(record.get("step" if kind.is_eval or kind.is_trained else "trainer_step"))
    if sample is None or step is None:
        raise Unusable(f"no {'step' if sample is not None else 'sample_id'}")
    if fields.is_too_large(step):
        raise Unusable(f"step {step} {TOO_LARGE}")
    if kind.is_eval:
        stamp = stamp_of(source)
        split = f"eval/{fields.name(record.get('eval_name')) or 'unnamed'}{_AFTERWARDS if stamp else ''}"
        group, index = fields.name(record.get("sample_idx")), fields.name(record.get("completion_idx"))
        index = f"{index or '0'}-{stamp}" if stamp else index
    else:
        split, group, index = "train", fields.name(record.get("group_id")), str(sample)
    return SampleRow(
        split=split,
        step=step,
        group=group or "0",
        index=f"none-{kind_tables.nth_without_id(number)}" if sample == UNDISPATCHED else index or str(sample),
        ordinal=sample if sample >= 0 else _LAST + number,
        start=number,
        length=0,
        part=name_of("samples_data", kind),
        uid=str(sample) if sample >= 0 else "",
    )


def _fill(row: SampleRow, kind: Kind, facts: Facts) -> None:
    record, prompt = facts.row, facts.prompt
    generations = facts.about.get("generations", [])
    row.status, row.status_raw = _status(record, kind)
    row.discarded = "" if kind.is_trained or kind.is_eval else str(record.get("discard_reason") or "unknown")[:200]
    row.env = fields.name(record.get("env")) or fields.name(prompt.get("env")) or ""
    row.turns = len(generations)
    row.response_tokens = _sum([generation.get("tokens") for generation in generations])
    row.prompt_tokens = next(
        iter(filter(None, (fields.count(generation.get("prompt_tokens")) for generation in generations))), None
    )
    row.prompt_tokens = row.prompt_tokens or _sum(
        [prompt.get(f"tokens_{name}") for name in ("prompt", "system_prompt")]
    )
    if not kind.is_cancelled:  # their reward of 0 comes from no grader
        row.total_tokens = fields.count(record.get("total_tokens"))
        row.reward, row.advantage = (fields.number(record.get(name)) for name in ("reward", "advantage"))


def _status(record: Row, kind: Kind) -> tuple[Status, str]:
    if kind.is_cancelled:
        return "aborted", "cancelled"
    found, word = fields.status(record.get("stop_reason"))
    return ("completed", word) if word in _FINISHED else (found, word)


def _sum(values: list[Any]) -> int | None:
    found = [count for value in values if (count := fields.count(value)) is not None]
    return fields.count(sum(found)) if found else None


def _metrics(facts: Facts) -> dict[str, float]:
    named = {
        str(row.get("metric_name") or "metric"): row.get("value") for row in facts.about.get("rollouts_metrics", [])
    }
    named |= {name: facts.row[name] for name in NUMBERS if name in facts.row}
    return {text.clean(name): value for name, number in named.items() if (value := fields.number(number)) is not None}


def _tags(facts: Facts, kind: Kind) -> dict[str, str]:
    found = {
        text.clean(str(tag.get("tag_name") or "tag")): short
        for tag in facts.about.get("sample_tags", [])
        if (short := fields.tag(tag.get("tag_value")))
    }
    return found | ({"cancelled": "yes"} if kind.is_cancelled else {})


def _prompt_text(turns: list[Turn]) -> str:
    """The prompt for lists and searches alone: the user's part first, as many prompts share one system part."""
    return _joined(sorted(turns, key=lambda turn: turn.role == "system"), "prompt")


def _joined(turns: list[Turn], origin: str) -> str:
    return "\n\n".join(filter(None, (text.verbatim(turn) for turn in turns if turn.origin == origin)))


def _extra(facts: Facts, row: SampleRow, texts: UnpackedTexts) -> dict[str, Any]:
    """Every column without a place of its own, and rows with values that do not fit theirs."""
    found = {
        key: texts.of(value) if isinstance(value, bytes) else value
        for key, value in facts.row.items()
        if key not in _PLACED and value not in (None, "", b"")
    }
    found |= {f"prompts.{key}": value for key, value in facts.prompt.items() if key not in _OF_PROMPT and value}
    tags = {
        str(tag.get("tag_name")): tag.get("tag_value")
        for tag in facts.about.get("sample_tags", [])
        if tag.get("tag_value") and str(tag.get("tag_name")) not in row.tags
    }
    answers = {str(row.get("key")): row.get("value") for row in facts.about.get("golden_answers", [])}
    found |= {"sample_tags": tags} if tags else {}
    return found | ({"golden_answers": answers} if len(answers) > 1 else {})


TIMINGS = ("queue_time", "ttft", "prefill_time", "decode_time", "inference_time", "e2e_latency")


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
    return ".".join(str(number) for number in (*(fields.integer(call.get(name)) or 0 for name in names), _number(call)))


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
            near = [at for at in same + tools[_near(number)] if result.text and result.text in _text_of(turns[at])]
            near = [at for at in near if not found[at]] or near or same
        for at in near[:1]:
            found[at].append(result)
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
