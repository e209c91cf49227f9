"""Harmony, the template of gpt-oss: channels become thoughts, calls and answers; forms as in its `docs/format.md`."""

import time
from collections.abc import Mapping

import pytest

from rolloupe import text
from rolloupe.derive import Value, values_of_sample
from rolloupe.model import Part, SampleRow
from tests.thoroughness import amount

THOUGHT = "<|channel|>analysis<|message|>I look it up.<|end|>"
BODY = '{"city":"\\u6771\\u4eac"}'
RESULT = '<|start|>functions.weather to=assistant<|channel|>commentary<|message|>{"temp":20}<|end|>'
FINAL = "<|start|>assistant<|channel|>final<|message|>It is 20.<|return|>"
CALLS = [
    f"<|start|>assistant<|channel|>commentary to=functions.weather <|constrain|>json<|message|>{BODY}<|call|>",
    f"<|start|>assistant to=functions.weather<|channel|>commentary <|constrain|>json<|message|>{BODY}<|call|>",
    f"<|start|>assistant to=functions.weather<|channel|>commentary json<|message|>{BODY}<|call|>",
    f"<|start|>assistant<|channel|>commentary to=functions.weather<|message|>{BODY}",
]


def values_of(response: str) -> Mapping[str, Value | None]:
    return values_of_sample(
        SampleRow(
            split="train", step=0, group="g", index="0", ordinal=0, start=0, length=1, prompt="p", response=response
        )
    )  # fmt: skip


def seen(parts: list[Part]) -> list[tuple[str, str]]:
    return [
        (part.kind, part.text if part.call is None else text.call_text(part.call))
        for part in parts
        if part.kind != "marker"
    ]


@pytest.mark.parametrize("call", CALLS)
def test_channels_are_thoughts_calls_and_answers(call: str) -> None:
    response = f"{THOUGHT}{call}{RESULT}{FINAL}"
    turns = text.split_response(response)
    assert "".join(map(text.verbatim, turns)) == response
    called = ("tool_call", 'weather\n{\n  "city": "東京"\n}')
    assert [(turn.role, turn.name, seen(turn.parts)) for turn in turns] == [
        ("assistant", "", [("think", "I look it up.")]),
        ("assistant", "", [called]),
        ("tool", "weather", [("text", '{"temp":20}')]),
        ("assistant", "", [("text", "It is 20.")]),
    ]
    assert all(part.closed for turn in turns for part in turn.parts)
    (turn,) = text.from_messages([{"role": "assistant", "content": response}])
    assert seen(turn.parts) == [("think", "I look it up."), called, ("text", '{"temp":20}'), ("text", "It is 20.")]
    assert text.verbatim(turn) == response
    values = values_of(response)
    assert {name: values[name] for name in ("tool_calls", "tool_errors", "think_chars", "unclosed_think")} == {
        "tool_calls": 1, "tool_errors": 0, "think_chars": 13, "unclosed_think": 0,
    }  # fmt: skip


def test_a_response_may_begin_within_a_header_and_end_within_a_message() -> None:
    begun = f" to=functions.f<|channel|>commentary <|constrain|>json<|message|>{BODY}"
    (call,) = text.parts(begun)
    assert (call.raw, call.closed, call.call and call.call.name) == (begun, True, "f")
    (cut,) = text.parts('<|channel|>commentary to=functions.f <|constrain|>json<|message|>{"a": ')
    assert (cut.closed, cut.call and cut.call.error) == (False, "arguments are not JSON")
    (thought,) = text.parts("<|channel|>analysis<|message|>still going")
    assert (thought.kind, thought.text, thought.closed) == ("think", "still going", False)


def test_channels_are_known_where_decoding_left_out_the_special_tokens() -> None:
    response = f"analysisI look it up.assistantcommentary to=functions.weather json{BODY}assistantfinalIt is 20."
    parts = text.parts(response)
    assert seen(parts) == [
        ("think", "I look it up."), ("tool_call", 'weather\n{\n  "city": "東京"\n}'), ("text", "It is 20."),
    ]  # fmt: skip
    assert "".join(part.text if part.raw is None else part.raw for part in parts) == response
    assert values_of(response)["think_chars"] == 13
    for other in ("analysis of a poem", f"The {response}"):
        assert [(part.kind, part.text) for part in text.parts(other)] == [("text", other)]
    assert [part.kind for part in text.parts(response, "user")] == ["text"]


def test_the_header_that_asks_for_an_answer_is_a_marker() -> None:
    (asked,) = text.split_prompt("<|start|>user<|message|>U<|end|><|start|>assistant")
    assert seen(asked.parts) == [("text", "U")]


def test_tools_of_the_model_itself_take_text_and_answer_on_the_channel_of_thoughts() -> None:
    call = "<|channel|>analysis to=python code<|message|>print(1)\nprint(2)<|call|>"
    result = "<|start|>python to=assistant<|channel|>analysis<|message|>1\n2<|end|>"
    preamble = "<|start|>assistant<|channel|>commentary<|message|>First I count.<|end|>"
    turns = text.split_response(call + result + preamble)
    assert [(turn.role, seen(turn.parts)) for turn in turns] == [
        ("assistant", [("tool_call", "python\nprint(1)\nprint(2)")]),
        ("tool", [("text", "1\n2")]),
        ("assistant", [("text", "First I count.")]),
    ]
    assert [turn.parts[0].call.error for turn in turns if turn.parts[0].call] == [""]


@pytest.mark.parametrize(
    "piece", ["<|channel|>analysis<|message|>", "<|start|>a", " to=f<|channel|>c<|message|>", "<|channel|>"]
)
def test_endless_headers_take_time_in_proportion(piece: str) -> None:
    hostile = piece * amount(10_000, 40_000)
    began = time.process_time()
    assert "".join(map(text.verbatim, text.split_response(hostile))) == hostile
    assert time.process_time() - began < amount(1.5, 5)
