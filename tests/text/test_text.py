"""Text to turns and parts: what is recognised, that nothing is lost, and that nothing takes long."""

import json
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rolloupe import text
from rolloupe.model import Part, Turn
from tests.thoroughness import amount

PIECES = [
    "<think>", "</think>", "<thinking>", "<tool_call>", "</tool_call>", '{"name": "f", "arguments": {"x": 1}}',
    "<|im_start|>user\n", "<|im_start|>", "<|im_end|>", "\n", "[INST]", "[/INST]", "<|image_pad|>", "word ", "<answer>",
    "</answer>", "<｜User｜>", "</s>", "<|start|>assistant", "<|channel|>analysis<|message|>", "<|end|>", "\ud800",
    "<|im_sep|>", "<|header_start|>user<|header_end|>\n\n", "<<SYS>>\n", "<</SYS>>\n\n", "[SYSTEM_PROMPT]",
    "[TOOL_RESULTS]", "[/TOOL_RESULTS]", "<|user|>\n", "<|assistant|>\n", "<｜tool▁output▁begin｜>", "[THINK]",
    "[/THINK]", "<｜tool▁output▁end｜>", "<|channel|>final<|message|>", "<|start|>functions.f to=assistant", "[IMG]",
    "data:image/png;base64," + "A" * 80,
    "<tool_response>", "</tool_response>", "<|start_header_id|>user<|end_header_id|>\n\n", "<start_of_turn>model\n",
]  # fmt: skip

LLAMA_USER = "<|start_header_id|>user<|end_header_id|>\n\nU<|eot_id|><|start_header_id|>assistant<|end_header_id|>\n\n"

LLAMA_4 = (
    "<|begin_of_text|><|header_start|>system<|header_end|>\n\nS<|eot|>"
    "<|header_start|>user<|header_end|>\n\nU<|eot|><|header_start|>assistant<|header_end|>\n\n"
)
LLAMA_2 = "<s>[INST] <<SYS>>\nS\n<</SYS>>\n\nU [/INST] A </s><s>[INST] V [/INST]"
MISTRAL_TOOLS = (
    '<s>[AVAILABLE_TOOLS] [][/AVAILABLE_TOOLS][INST] U[/INST][TOOL_CALLS] [{"name": "f"}]</s>'
    "[TOOL_RESULTS] 7[/TOOL_RESULTS] Seven</s>"
)
HARMONY_CALL = (
    "<|start|>user<|message|>U<|end|><|start|>assistant<|channel|>commentary to=functions.f <|constrain|>json"
    "<|message|>{}<|call|><|start|>functions.f to=assistant<|channel|>commentary<|message|>7<|end|>"
)
GLM = "[gMASK]<sop><|system|>\nS<|user|>\nU<|assistant|>\nA<|observation|>\n7"
GRANITE = "<|start_of_role|>system<|end_of_role|>S<|end_of_text|>\n<|start_of_role|>user<|end_of_role|>U"

texts = st.lists(st.sampled_from(PIECES) | st.text(max_size=5)).map("".join)


def verbatim(parts: list[Part]) -> str:
    return "".join(part.text if part.raw is None else part.raw for part in parts)


def whole(turns: list[Turn]) -> str:
    return "".join(text.verbatim(turn) for turn in turns)


def shape(turns: list[Turn]) -> list[tuple[str, str]]:
    return [(t.role, "".join(p.text for p in t.parts if p.kind != "marker").strip()) for t in turns]


@settings(max_examples=amount(25, 400))
@given(texts)
def test_nothing_of_a_text_is_lost(given_text: str) -> None:
    for role in ("assistant", "user", "system", "tool"):
        assert verbatim(text.parts(given_text, role)) == given_text
    assert whole(text.split_prompt(given_text)) == given_text
    assert whole(text.split_response(given_text)) == given_text


@given(texts, st.integers(1, 300))
def test_a_preview_is_one_short_line_that_can_be_encoded(given_text: str, limit: int) -> None:
    line = text.preview(given_text, limit)
    assert len(line) <= limit + 1
    assert len(line.splitlines()) <= 1
    line.encode()


@pytest.mark.parametrize("written", [dict, json.dumps])
def test_calls_in_a_joined_text_begin_with_their_name(written: Callable[[object], object]) -> None:
    call = {"id": "call-1", "type": "function", "function": {"name": "search", "arguments": '{"query": "ships"}'}}
    said = {"role": "assistant", "content": "Let me see.", "tool_calls": [written(call)]}
    assert text.joined([said]) == 'Let me see.\nsearch\n{\n  "query": "ships"\n}'
    content = {"role": "assistant", "content": [{"type": "tool_use", "name": "search", "input": {"query": "ships"}}]}
    assert text.joined([content]) == 'search\n{\n  "query": "ships"\n}'


@pytest.mark.parametrize(
    ("prompt", "expected"),
    [
        ("<|im_start|>system\nS<|im_end|>\n<|im_start|>user\nU<|im_end|>\n<|im_start|>assistant\n", ["system", "user"]),
        (
            "<|begin_of_text|><|start_header_id|>system<|end_header_id|>\n\nS<|eot_id|>" + LLAMA_USER,
            ["system", "user"],
        ),
        ("<s>[INST] U [/INST]", ["user"]),
        ("<s>[INST] U [/INST] A </s>[INST] V [/INST]", ["user", "assistant", "user"]),
        ("<bos><start_of_turn>user\nU<end_of_turn>\n<start_of_turn>model\n", ["user"]),
        ("<｜begin▁of▁sentence｜>S<｜User｜>U<｜Assistant｜><think>\n", ["system", "user"]),
        ("<｜begin▁of▁sentence｜><｜User｜>U<｜Assistant｜></think>A", ["user", "assistant"]),
        ("<|im_start|>system<|im_sep|>S<|im_end|><|im_start|>user<|im_sep|>U<|im_end|>", ["system", "user"]),
        ("<|system|>\nS<|end|>\n<|user|>\nU<|end|>\n<|assistant|>\n", ["system", "user"]),
        (LLAMA_4, ["system", "user"]),
        (
            "<s>[INST] <<SYS>>\nS\n<</SYS>>\n\nU [/INST] A </s><s>[INST] V [/INST]",
            ["system", "user", "assistant", "user"],
        ),
        ("<s>[SYSTEM_PROMPT]S[/SYSTEM_PROMPT][INST]U[/INST]", ["system", "user"]),
        (MISTRAL_TOOLS, ["system", "user", "assistant", "tool", "assistant"]),
        (HARMONY_CALL, ["user", "assistant", "tool"]),
        (
            "[gMASK]<sop><|system|>\nS<|user|>\nU<|assistant|>\nA<|observation|>\n7",
            ["system", "user", "assistant", "tool"],
        ),
        ("<|im_system|>system<|im_middle|>S<|im_end|><|im_user|>user<|im_middle|>U<|im_end|>", ["system", "user"]),
        (
            "<|start_of_role|>system<|end_of_role|>S<|end_of_text|>\n<|start_of_role|>user<|end_of_role|>U",
            ["system", "user"],
        ),
        ("<|start|>system<|message|>S<|end|><|start|>user<|message|>U<|end|><|start|>assistant", ["system", "user"]),
        ("system\nS\nuser\nU\nassistant\n", ["system", "user"]),
        ("user\nU\nassistant\n", ["user"]),
        ("user\nstands here as a word", ["user"]),
        ("no template at all", ["user"]),
    ],
)
def test_templates_are_cut_into_turns(prompt: str, expected: list[str]) -> None:
    roles = [turn.role for turn in text.split_prompt(prompt)]
    assert roles[: len(expected)] == expected
    assert whole(text.split_prompt(prompt)) == prompt


def test_the_header_that_asks_for_an_answer_is_no_turn_of_its_own() -> None:
    turns = text.split_prompt("<|im_start|>user\nWhat is 12 - 6?<|im_end|>\n<|im_start|>assistant\n")
    assert shape(turns) == [("user", "What is 12 - 6?")]


def test_thoughts_are_found_open_closed_and_begun_in_the_prompt() -> None:
    closed, rest = text.parts("<think>\n17 - 16\n</think>\n\nSix")
    assert (closed.kind, closed.text, closed.closed, rest.text) == ("think", "17 - 16", True, "\n\nSix")
    unclosed = text.parts("<think>\nstill going")
    assert [(p.kind, p.text, p.closed) for p in unclosed] == [("think", "still going", False)]
    begun = text.parts("so it is 6\n</think>\n\nSix")
    assert [(p.kind, p.text) for p in begun] == [("think", "so it is 6"), ("text", "\n\nSix")]


def test_tool_calls_are_read_and_malformed_ones_kept() -> None:
    good, bad = text.parts(
        '<tool_call>\n{"name": "add", "arguments": {"x": 1}}\n</tool_call><tool_call>{add</tool_call>'
    )
    assert good.call is not None
    assert (good.call.name, good.call.arguments, good.call.error) == ("add", '{"x": 1}', "")
    assert bad.call is not None
    assert (bad.call.name, bad.call.arguments) == ("", "{add")
    assert bad.call.error.startswith("not JSON")
    (coder,) = text.parts(
        "<tool_call>\n<function=run>\n<parameter=code>\nprint(1)\n</parameter>\n</function>\n</tool_call>"
    )
    assert coder.call is not None
    assert (coder.call.name, coder.call.arguments) == ("run", '{"code": "print(1)"}')


def test_a_turn_of_tool_results_is_the_tools() -> None:
    call = '<tool_call>{"name": "f"}</tool_call><|im_end|>\n'
    result = "<|im_start|>user\n<tool_response>\n7\n</tool_response><|im_end|>\n"
    turns = text.split_response(f"{call}{result}<|im_start|>assistant\nSeven")
    assert [turn.role for turn in turns] == ["assistant", "tool", "assistant"]
    assert {turn.origin for turn in turns} == {"response"}


ASKED = "Show your work in <think> </think> tags, and the answer in <answer> </answer>: <answer> (1 + 2) / 3 </answer>."


@pytest.mark.parametrize("role", ["user", "system", "developer", "tool"])
def test_tags_that_are_asked_for_or_quoted_are_text(role: str) -> None:
    call = '<tool_call>{"name": "f", "arguments": {}}</tool_call>'
    for asked in (ASKED, f"Call it so: {call} and read <tool_response> then.", "Never forget </think>, please."):
        assert [(part.kind, part.text) for part in text.parts(asked, role)] == [("text", asked)]
        (turn,) = text.from_messages([{"role": role, "content": asked}])
        assert [part.kind for part in turn.parts] == ["text"]
    written = f"<|im_start|>{role}\n{ASKED}<|im_end|>\n<|im_start|>assistant\n<think>So.</think>Yes.<|im_end|>\n"
    asking, answering = text.split_prompt(written)
    assert [part.kind for part in asking.parts] == ["marker", "text", "marker"]
    assert [part.kind for part in answering.parts] == ["marker", "think", "text", "marker"]


def test_a_run_of_placeholders_folds_to_one() -> None:
    found = text.parts("see <|vision_start|>" + "<|image_pad|>" * 3000 + "<|vision_end|> this")
    assert [p.text for p in found if p.kind == "placeholder"] == ["<|image_pad|> × 3,000"]


@pytest.mark.parametrize("times", [2, 3])
def test_two_placeholders_are_a_run_and_give_back_what_was_written(times: int) -> None:
    written = "<|image_pad|>" * times
    (part,) = text.parts(written)
    assert (part.kind, part.text, part.raw) == ("placeholder", f"<|image_pad|> × {times}", written)
    (alone,) = text.parts("<|image_pad|>")
    assert alone.text == "<|image_pad|>"


def test_messages_keep_thoughts_calls_and_say_what_an_image_is() -> None:
    messages = [
        {
            "role": "user",
            "content": [{"type": "image_url", "image_url": {"url": "data:image/png;base64," + "A" * 4000}}],
        },
        {
            "role": "assistant",
            "content": None,
            "reasoning_content": "hm",
            "tool_calls": ['{"id": "c1", "function": {"name": "f", "arguments": "{\\"q\\": 1}"}}'],
        },
        {"role": "tool", "tool_call_id": "c1", "content": "7"},
        "not a message",
    ]
    user, assistant, tool, other = text.from_messages(messages, origin="response")
    assert [(p.kind, p.text) for p in user.parts] == [("image", "image/png, 2 kB")]
    assert [p.kind for p in assistant.parts] == ["think", "tool_call"]
    assert assistant.parts[1].call is not None
    assert (assistant.parts[1].call.name, assistant.parts[1].call.arguments) == ("f", '{"q": 1}')
    assert (tool.role, tool.tool_call_id) == ("tool", "c1")
    assert [p.kind for p in other.parts] == ["json"]


def test_a_preview_shows_what_was_asked() -> None:
    system, user = "<|im_start|>system\nBe careful.<|im_end|>\n", "<|im_start|>user\nWhat is\n12 - 6?<|im_end|>\n"
    assert text.preview(f"{system}{user}<|im_start|>assistant\n") == "What is 12 - 6?"
    assert text.preview("system\nS\nuser\nWhat is\n12 - 6?\nassistant\n") == "What is 12 - 6?"
    assert text.preview("see data:image/png;base64," + "A" * 5000 + " there") == "see (image) there"
    padded = (
        f"<|im_start|>user\n<|vision_start|>{'<|image_pad|>' * 900}<|vision_end|>{'[IMG]' * 900}How many?<|im_end|>"
    )
    assert text.preview(padded) == "How many?"
    assert text.preview("plain\ttext\x1b[31m") == "plain text [31m"


@pytest.mark.parametrize(
    "piece",
    [
        "<think>",
        "</think>",
        "<tool_call>",
        "[INST]",
        "[INST]<<SYS>>",
        "<|im_start|>user\n",
        "<|image_pad|>",
        "<|",
        "data:image/",
    ],
)
def test_what_would_take_for_ever_in_quadratic_time_comes_back(piece: str) -> None:
    hostile = piece * amount(4_000, 300_000)
    assert whole(text.split_prompt(hostile)) == hostile
    assert len(text.preview(hostile)) <= 241


@settings(max_examples=amount(25, 200))
@given(texts, st.sampled_from(["word ", "\n", "<think>", "absent"]))
def test_a_cut_at_a_token_loses_nothing(given_text: str, token: str) -> None:
    turns = [Turn(role="user", parts=text.parts(given_text)), *text.split_response("done")]
    cut = text.after(turns, token)
    assert whole(cut) == whole(turns)
    assert [turn.role for turn in cut[-2:]] == ["user", "assistant"]


def test_a_system_prompt_that_no_template_marks_is_cut_at_a_token() -> None:
    turns = text.after(text.split_prompt("Be brief.\n### Question: why?"), "### Question:")
    assert shape(turns) == [("system", "Be brief."), ("user", "why?")]
    marked = text.split_prompt("<|im_start|>system\nS ### Question:<|im_end|>\n<|im_start|>user\nU<|im_end|>\n")
    assert text.after(marked, "### Question:") is marked


def test_a_thought_that_a_template_switched_off_is_a_marker() -> None:
    assert [(p.kind, p.text) for p in text.parts("</think>Six")] == [("marker", "</think>"), ("text", "Six")]


@pytest.mark.parametrize(
    ("roles", "first"),
    [([], 0), (["user"], 1), (["assistant", "user"], 0), (["system", "user", "assistant", "tool", "assistant"], 2)],
)
def test_the_first_answer_is_the_first_turn_of_the_assistant(roles: list[str], first: int) -> None:
    assert text.first_answer([Turn(role=role, parts=[]) for role in roles]) == first
