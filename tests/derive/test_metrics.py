"""Derived metrics: what each says, the same for one sample and for many, in time that grows with the text."""

import gc
import math
import re
import time
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import rolloupe
from rolloupe import text
from rolloupe.derive import METRICS, PREFIX, SampleBatch, SampleView, Value, values_of_batch, values_of_sample
from rolloupe.derive.blocks import blocks_of, places_of
from rolloupe.derive.metrics.other_language import FREQUENT
from rolloupe.derive.text_array import TextArray
from rolloupe.model import SampleRow
from rolloupe.text.blocks import BLOCKS, CLOSINGS, MAX_PARTS
from rolloupe.text.templates import STARTS
from tests.thoroughness import each, slow_unless

PIECES = (
    "<think>", "</think>", "<tool_call>", "</tool_call>", '{"name": "f", "arguments": {}}', "<tool_response>", "THINK]",
    "</tool_response>", "Error: no", "[THINK]", "[/THINK]", "◁think▷", "◁/think▷", "a b c d ", "你好", "<", "\n", "é",
    "<answer>", "</answer>", "<|im_end|>", "\ud800", "",
)  # fmt: skip
TURN_STARTS = (
    "<|im_start|>user\n", "<|im_start|>assistant\n", "<|im_start|>tool\n", "<|im_end|>\n", "[INST]", "[/INST]",
    "<|start_header_id|>user<|end_header_id|>\n\n", "<|start_header_id|>assistant<|end_header_id|>\n\n",
    "<|start_header_id|>ipython<|end_header_id|>\n\n", "[TOOL_RESULTS]", "[/TOOL_RESULTS]", "<start_of_turn>model\n",
    "<|start|>functions.f<|message|>", "<｜User｜>", "<｜Assistant｜>", "<|observation|>\n", "user\n", "\nassistant\n",
    "<think> </think>", "<tool_result>Error</tool_result>", "[gMASK]", "<s>", " ", "Traceback", "<|end|>", "<image>",
)  # fmt: skip
texts = st.lists(st.sampled_from(PIECES) | st.text(max_size=8), max_size=12).map("".join)
texts_in_turns = st.lists(st.sampled_from((*PIECES, *TURN_STARTS)), max_size=16).map("".join)


def row(response: str, prompt: str = "p", **fields: Any) -> SampleRow:
    return SampleRow(
        split="train", step=0, group="g", index="0", ordinal=0, start=0, length=1, prompt=prompt, response=response,
        **fields,
    )  # fmt: skip


def value(name: str, response: str, **fields: Any) -> Value:
    return values_of_sample(row(response, **fields)).get(name)


def call(name: str, arguments: str) -> dict[str, Any]:
    return {"id": "1", "type": "function", "function": {"name": name, "arguments": arguments}}


def test_each_metric_has_a_name_a_label_and_a_way_to_compute_it() -> None:
    assert {*METRICS} >= {
        "characters", "repeated_4grams", "unclosed_think", "think_chars", "tool_calls", "tool_errors", "non_latin",
        "ends_with_eos",
    }  # fmt: skip
    for name, metric in METRICS.items():
        assert name.replace("_", "").isalnum() and name == name.lower() and metric.label and metric.version >= 1
        assert metric.of_sample or metric.of_batch or metric.of_tokens
        assert not metric.reads_turns or metric.of_sample
    assert PREFIX == "derived."


@given(st.lists(texts, max_size=6))
def test_a_sample_has_the_same_values_alone_as_among_others(responses: list[str]) -> None:
    rows = [row(text.clean(one), prompt=text.clean(other)) for one, other in pairwise(responses)]
    failures: dict[str, str] = {}
    together = values_of_batch(SampleBatch(rows), METRICS.values(), failures)
    assert failures == {}
    for number, own in enumerate(rows):
        for name, (alone,) in values_of_batch(SampleBatch([own]), METRICS.values(), {}).items():
            among = together[name][number]
            assert among == alone or (math.isnan(float(among or 0)) and math.isnan(float(alone or 0)))


@given(texts)
def test_blocks_are_those_of_the_transcript(response: str) -> None:
    response = text.clean(response)
    kinds = ("think", "tool_call", "tool_result", "answer")
    parts = [(p.kind, p.text.strip("\n"), p.closed) for p in text.parts(response) if p.kind in kinds]
    assert [
        (one.kind, one.inner.strip("\n"), one.closed) for one in blocks_of(response, *places_of(TextArray([response])))
    ] == parts


@given(st.lists(texts | texts_in_turns))
def test_turns_and_blocks_begin_at_places(responses: list[str]) -> None:
    of_turns = [one.pattern.replace("?P<role>", "?:") for one in STARTS]
    begins = re.compile(f"(?={'|'.join([*map(re.escape, (*BLOCKS, *CLOSINGS)), *of_turns])})")
    for response, places in zip(responses, places_of(TextArray(responses)), strict=True):
        assert {match.start() for match in begins.finditer(response)} <= {*places}
        assert [*places] == sorted({*places})


def of_turns(sample: SampleRow) -> dict[str, Value]:
    view = SampleView(sample)
    return {m.name: m.of_sample(view) for m in METRICS.values() if m.reads_turns and m.of_sample is not None}


@given(texts)
def test_metrics_say_the_same_of_text_and_of_a_message(response: str) -> None:
    response = text.clean(response)
    of_message = of_turns(row(response, messages=[{"role": "assistant", "content": response}]))
    values = values_of_sample(row(response))
    roles = [turn.role for turn in text.split_response(response)]
    assert roles != ["assistant"] or {**values, **of_message} == values


@given(texts | texts_in_turns)
def test_metrics_say_the_same_of_text_and_of_its_turns(response: str) -> None:
    sample = row(text.clean(response))
    values = values_of_sample(sample)
    expected = of_turns(sample)
    assert {*expected} >= {"think_chars", "unclosed_think", "tool_calls", "tool_errors"}
    assert {name: values[name] for name in expected} == expected


@each("number", [MAX_PARTS // 2 - 1, MAX_PARTS // 2])
@each("piece", ["x<s>", "x[IMG]", "x<think>a</think>"])
def test_metrics_leave_out_what_is_beyond_the_most_parts(piece: str, number: int) -> None:
    sample = row(f"{piece * number}<tool_call>x</tool_call><think>a")
    values, expected = values_of_sample(sample), of_turns(sample)
    assert expected["unclosed_think"] == (number < MAX_PARTS // 2)
    assert {name: values[name] for name in expected} == expected


def test_blocks_of_several_turns_need_no_objects() -> None:
    said = "<think>ab</think>I look.<tool_call>f(</tool_call><|im_end|>\n"
    results = ("<|im_start|>tool\nError<|im_end|>\n", "<|im_start|>user\n<tool_response>Error</tool_response>")
    batch = SampleBatch([row(f"{said}{result}<|im_start|>assistant\n{said}") for result in results])
    assert batch.apart == []
    assert [[block.kind for block in batch.blocks[number]] for number in (0, 1)] == [
        ["think", "tool_call", kind, "think", "tool_call"] for kind in ("tool_text", "tool_result")
    ]


@given(st.lists(st.sampled_from(("{", "}", '"error"', ":", ",", "1", '"a"', '"x\n"', "NaN", "<｜tool▁sep｜>", "\xa0"))))
def test_a_call_is_broken_if_reading_it_finds_an_error(pieces: list[str]) -> None:
    for inner in ("".join(pieces), f'{{"error": {"".join(pieces)}}}'):
        assert text.is_broken(inner) == bool(text.call_of(inner).error)


@each(
    ("end", "user", "tool", "assistant"),
    [
        ("<|im_end|>\n", "<|im_start|>user\n", "<|im_start|>tool\n", "<|im_start|>assistant\n"),
        (
            "<|eot_id|>",
            "<|start_header_id|>user<|end_header_id|>\n\n",
            "<|start_header_id|>ipython<|end_header_id|>\n\n",
            "<|start_header_id|>assistant<|end_header_id|>\n\n",
        ),
        ("</s>", "[INST] ", "[TOOL_RESULTS] ", "[/INST] "),
    ],
)
def test_turns_of_a_text_count_by_role(end: str, user: str, tool: str, assistant: str) -> None:
    cut = f"<think>cut{end}{user}go on{end}{assistant}<think>ok</think>42"
    assert (value("unclosed_think", cut), value("think_chars", cut)) == (1, len(f"cut{end}".strip("\n")) + 2)
    quoted = f"4{end}{user}write <think> and <tool_call>{end}{assistant}5"
    assert [value(name, quoted) for name in ("think_chars", "unclosed_think", "tool_calls")] == [0, 0, 0]
    assert value("tool_errors", f"f(){end}{tool}Error: boom{end}{tool}4{end}{assistant}5") == 1


@each(
    ("response", "share"),
    [
        ("one two three", None),
        ("one two three four", 0.0),
        ("a b c d " * 3, 5 / 9),
        ("ha " * 2000, pytest.approx(1, abs=4e-3)),
        (" ".join(map(str, range(300))), 0.0),
        ("春眠不觉晓处处闻啼鸟", 0.0),
        ("哈" * 40, 36 / 37),
    ],
)
def test_repeated_4grams(response: str, share: float | None) -> None:
    assert value("repeated_4grams", response) == share


@given(st.lists(st.sampled_from(["a", "b", "é", "日", "1234567", "12345678", "123456789"]), max_size=40))
def test_repeated_4grams_are_counted_exactly(words: list[str]) -> None:
    grams = [tuple(word[:8] for word in words[n : n + 4]) for n in range(len(words) - 3)]
    expected = 1 - len({*grams}) / len(grams) if grams else None
    assert value("repeated_4grams", " ".join(words)) == (None if expected is None else pytest.approx(expected))


def test_thoughts() -> None:
    assert (value("think_chars", "<think>\nabc\n</think>x"), value("unclosed_think", "<think>abc</think>")) == (3, 0)
    assert (value("think_chars", "<think>日本"), value("unclosed_think", "a <think>abc")) == (2, 1)
    assert value("think_chars", "it goes on</think> so 4") == 10
    messages = [{"role": "assistant", "reasoning_content": "hmm!", "content": "4"}]
    assert value("think_chars", "hmm! 4", messages=messages) == 4


def test_tools() -> None:
    good, bad = '<tool_call>{"name": "f", "arguments": {}}</tool_call>', "<tool_call>f(</tool_call>"
    result = "<tool_response>\nTraceback (most recent call last)\n</tool_response>"
    assert (value("tool_calls", good + bad), value("tool_errors", good + bad)) == (2, 1)
    assert (value("tool_calls", good + result), value("tool_errors", good + result)) == (1, 1)
    messages = [
        {"role": "assistant", "content": "", "tool_calls": [call("f", "{}"), call("g", "{}")]},
        {"role": "tool", "content": "ZeroDivisionError: division by zero", "tool_call_id": "1"},
        {"role": "tool", "content": "4", "tool_call_id": "1"},
        {"role": "tool", "content": "?", "is_error": True, "tool_call_id": "1"},
    ]
    assert value("tool_calls", "f {}", messages=messages) == 2
    assert value("tool_errors", "f {}", messages=messages) == 2


@each(
    ("result", "errors"),
    [
        ("TimeoutError: no answer", 1), ("socket.timeout: timed out", 1), ("503 Service Unavailable", 1),
        ("HTTP/1.1 404 Not Found", 1), ("The process timed out after 9 s", 1), ("Connection refused by db", 1),
        ("1\nTraceback (most recent call last):\n  f()", 1), ("503", 0), ("404 houses", 0), ("How errors are made", 0),
    ],
)  # fmt: skip
def test_results_that_report_an_error(result: str, errors: int) -> None:
    in_text = f"<code>\nf()\n</code>\n<output>\n{result}\n</output>\nSo 4."
    fenced = f"```python\nf()\n```\n```output\n{result}\n```\nSo 4."
    turns = [{"role": "assistant", "content": "f"}, {"role": "tool", "content": result}]
    assert [value("tool_errors", one) for one in (in_text, fenced)] == [errors] * 2
    assert value("tool_errors", "f", messages=turns) == errors
    assert value("tool_errors", f"The answer is <output>{result}</output>") == 0, "no code stands before it"


def test_the_language_of_a_response_is_compared_with_that_of_the_question() -> None:
    english, german = (
        "You have to put the lid on it, and that was not for you.",
        "Sie und ich gehen nicht mit der Post.",
    )
    french = "Nous avons une lettre pour vous, et les clefs sont dans la boîte."
    assert value("other_language", english, prompt=english) == 0
    assert [value("other_language", one, prompt=german) for one in (english, german, french)] == [1, 0, 1]
    assert [value("other_language", one, prompt=french) for one in ("4", "", "x = the + 2", "日本")] == [None] * 4
    assert value("other_language", german, prompt="7 + 8?") is None
    assert value("other_language", english.replace(" ", "\u2003"), prompt=german) == 1
    batch = SampleBatch([row(german, prompt=prompt) for prompt in (german, english, german)])
    assert values_of_batch(batch, [METRICS["other_language"]], {})["other_language"].tolist() == [0, 1, 0]
    both = [row(german, prompt=german + english, question=question) for question in (0, len(german))]
    assert values_of_batch(SampleBatch(both), [METRICS["other_language"]], {})["other_language"][1] == 1
    assert all(len(word.encode()) < 8 for word in FREQUENT), "longer words share their first eight bytes with others"
    assert value("other_language", german, prompt=f"{english}\n{german}", question=len(english)) == 0


def test_letters_and_ends() -> None:
    assert [value("non_latin", one) for one in ("abc 1", "", "é ß", "日本ab", "да", "😀")] == [0, 0, 0, 0.5, 1, 0]
    assert value("characters", "日本\U0001f600") == 3
    assert [value("ends_with_eos", one) for one in ("x<|im_end|>\n", "x</s>", "x")] == [1, 1, None]
    assert value("ends_with_eos", "x", status="truncated") == 0


DEGENERATE = ["<", "<think>", "a ", "<tool_call>", "[THINK]", "</think>", "日", "◁think▷"]


@pytest.mark.parametrize("piece", [slow_unless(n < 4, piece) for n, piece in enumerate(DEGENERATE)])
def test_degenerate_texts_take_time_that_grows_with_them(piece: str) -> None:
    def seconds(size: int) -> float:
        own = row(piece * (size // len(piece)))
        gc.disable()  # its passes take longer the more there is in this process
        try:
            began = time.process_time()
            values_of_sample(own)
            return time.process_time() - began
        finally:
            gc.enable()

    seconds(1000)
    short, long = (min(seconds(size) for _ in range(2)) for size in (25_000, 200_000))
    assert long < 40 * max(short, 0.002)


def test_a_value_that_is_not_a_number_is_none() -> None:
    assert not any(math.isnan(one) for one in values_of_sample(row("")).values())


def test_the_share_of_tokens_taken_out_is_the_trainers_or_else_that_of_the_runs_rule(tmp_path: Path) -> None:
    series = {
        "logprobs": [-1.0] * 4, "trainer_logprobs": [-1.0, -0.5, -1.5, -0.5], "loss_mask": [1, 1, 1, 0],
        "advantages": [1.0, 1.0, 1.0, 1.0],
    }  # fmt: skip
    flags = {"is_masked": [0.0, 1.0, 1.0, 0.0]}

    def shares(name: str, config: dict[str, Any]) -> list[Any]:
        with rolloupe.Recorder(tmp_path / name, code=None, config=config) as recorder:
            for more in ({}, flags):
                recorder.sample(step=0, prompt="p", response="r", reward=1.0, series=series | more)
        with rolloupe.open(tmp_path / name, index_dir=tmp_path / f"{name}.index") as runs:
            (run,) = runs
            items = run.samples(where="derived.masked_share is null or derived.masked_share >= 0")
            return [item.derived.get("masked_share") for item in items]

    assert shares("ppo", {"clip_low": 0.2, "clip_high": 0.2}) == pytest.approx([1 / 3, 2 / 3])  # exp(0.5) > 1.2
    assert shares("wide", {"clip_low": 0.2, "clip_high": 0.8}) == pytest.approx([0, 2 / 3])
    assert shares("unknown", {}) == [None, pytest.approx(2 / 3)]
