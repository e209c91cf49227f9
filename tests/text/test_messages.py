"""Chat messages in the shapes of many APIs: everything in them is shown, once, and search finds what is shown."""

import json
import time
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rolloupe import text
from rolloupe.model import Turn
from tests.thoroughness import amount

PICTURE = "data:image/png;base64," + "A" * 400
CODE = 'import os\nfor i in range(3):\n    print("row", i, "\\t")\n'

Shape = list[tuple[str, str, str]]


def shape(messages: object) -> Shape:
    """Role, kind and text of each part, and an empty part for a turn without any."""
    turns = text.from_messages(messages)
    return [(turn.role, part.kind, part.text) for turn in turns for part in turn.parts]


def answers(turns: list[Turn]) -> list[tuple[str, str, bool]]:
    """The calls that the turns of tools answer, the answers, and whether they are errors."""
    return [
        (
            turn.tool_call_id,
            "".join(part.text for part in turn.parts),
            bool(turn.logs.get("is_error", turn.logs.get("error"))),
        )
        for turn in turns
        if turn.role == "tool"
    ]


def test_blocks_of_anthropic_are_thoughts_texts_calls_and_results() -> None:
    thinking = {"type": "thinking", "thinking": "T", "signature": "s"}
    use = {"type": "tool_use", "id": "a", "name": "f", "input": {"q": "東京"}}
    result = {"type": "tool_result", "tool_use_id": "a", "is_error": True, "content": "R"}
    other = {
        "type": "tool_result",
        "tool_use_id": "b",
        "content": [{"type": "text", "text": "S"}, _image("https://e/x")],
    }
    messages = [
        {"role": "user", "content": [{"type": "text", "text": "q"}, _image(None)]},
        {"role": "assistant", "content": [thinking, {"type": "text", "text": "X"}, use, use | {"id": "b"}]},
        {"role": "user", "content": [result, other]},
        {
            "role": "assistant",
            "content": [{"type": "redacted_thinking", "data": "zzz"}, {"type": "text", "text": "END"}],
        },
    ]
    called = 'f\n{\n  "q": "東京"\n}'
    assert shape(messages) == [
        ("user", "text", "q"), ("user", "image", "image/png, 1 kB"),
        ("assistant", "think", "T"), ("assistant", "text", "X"),
        ("assistant", "tool_call", called),
        ("assistant", "tool_call", called),
        ("tool", "text", "R"), ("tool", "text", "S"), ("tool", "image", "https://e/x"),
        ("assistant", "placeholder", "encrypted thought, 3 characters"), ("assistant", "text", "END"),
    ]  # fmt: skip
    assert answers(text.from_messages(messages)) == [("a", "R", True), ("b", "Shttps://e/x", False)]


def _image(url: str | None) -> dict[str, Any]:
    data = {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo" + "A" * 400}
    return {"type": "image", "source": {"type": "url", "url": url} if url else data}


def test_results_beside_other_content_are_turns_of_their_own() -> None:
    result = {"type": "tool_result", "tool_use_id": "a", "content": "R"}
    asked = {"role": "user", "content": [result, {"type": "text", "text": "and now?"}], "name": "N"}
    assert [(turn.role, turn.name, turn.tool_call_id) for turn in text.from_messages([asked])] == [
        ("tool", "", "a"), ("user", "N", ""),
    ]  # fmt: skip
    use = {"type": "server_tool_use", "id": "s", "name": "web_search", "input": {"query": "z"}}
    found = {"type": "web_search_result", "title": "T", "encrypted_content": "E" * 500}
    failed = {"type": "web_search_tool_result_error", "error_code": "max_uses_exceeded"}
    for content, is_error in (([found], False), (failed, True)):
        block = {"type": "web_search_tool_result", "tool_use_id": "s", "content": content}
        said = {"role": "assistant", "content": [use, block, {"type": "text", "text": "So."}]}
        turns = text.from_messages([said])
        assert [turn.role for turn in turns] == ["assistant", "tool", "assistant"]
        assert answers(turns)[0][::2] == ("s", is_error)
    assert "E" * 500 not in text.joined([said | {"content": [block | {"content": [found]}]}])


ITEMS: list[tuple[dict[str, Any], Shape]] = [
    ({"role": "user", "content": [{"type": "input_text", "text": "U"}]}, [("user", "text", "U")]),
    ({"type": "message", "role": "developer", "content": "D"}, [("developer", "text", "D")]),
    (
        {"type": "message", "role": "assistant", "content": [{"type": "refusal", "refusal": "NO"}]},
        [("assistant", "text", "NO")],
    ),
    (
        {
            "type": "reasoning", "summary": [{"type": "summary_text", "text": "S"}],
            "content": [{"type": "reasoning_text", "text": "R"}], "encrypted_content": "e",
        },
        [("assistant", "think", "R"), ("assistant", "think", "S")],
    ),
    (
        {"type": "reasoning", "summary": [], "encrypted_content": "gAAA"},
        [("assistant", "placeholder", "encrypted thought, 4 characters")],
    ),
    (
        {"type": "function_call", "id": "fc", "call_id": "c", "name": "f", "arguments": '{"a":1}'},
        [("assistant", "tool_call", 'f\n{\n  "a": 1\n}')],
    ),
    ({"type": "function_call_output", "call_id": "c", "output": "O"}, [("tool", "text", "O")]),
    (
        {"type": "custom_tool_call", "call_id": "c", "name": "run", "input": "print(1)\nprint(2)"},
        [("assistant", "tool_call", "run\nprint(1)\nprint(2)")],
    ),
    (
        {"type": "custom_tool_call_output", "call_id": "c", "output": [{"type": "input_text", "text": "O"}]},
        [("tool", "text", "O")],
    ),
    (
        {"type": "computer_call", "call_id": "c", "action": {"type": "wait"}, "pending_safety_checks": []},
        [("assistant", "tool_call", 'computer\n{\n  "type": "wait"\n}')],
    ),
    (
        {"type": "computer_call_output", "output": {"type": "computer_screenshot", "image_url": PICTURE}},
        [("tool", "image", "image/png, 1 kB")],
    ),
    (
        {"type": "web_search_call", "id": "w", "status": "completed", "action": {"query": "cats"}},
        [("assistant", "tool_call", 'web_search\n{\n  "query": "cats"\n}')],
    ),
    (
        {"type": "code_interpreter_call", "id": "i", "code": "x=1\nx", "outputs": [{"type": "logs", "logs": "1\n"}]},
        [("assistant", "tool_call", "code_interpreter\ncode:\nx=1\nx"), ("tool", "text", "1\n")],
    ),
    (
        {"type": "mcp_call", "id": "m", "name": "roll", "arguments": '{"d": 6}', "output": "4", "error": None},
        [("assistant", "tool_call", 'roll\n{\n  "d": 6\n}'), ("tool", "text", "4")],
    ),
    (
        {"type": "local_shell_call", "call_id": "l", "action": {"command": ["ls"]}},
        [("assistant", "tool_call", 'local_shell\n{\n  "command": [\n    "ls"\n  ]\n}')],
    ),
    ({"type": "file_search_call", "id": "s", "queries": ["q"], "results": None}, [
        ("assistant", "tool_call", 'file_search\n{\n  "queries": [\n    "q"\n  ]\n}'),
    ]),
    ({"type": "item_reference", "id": "i"}, [("unknown", "json", '{"type": "item_reference", "id": "i"}')]),
]  # fmt: skip


def test_items_of_the_responses_api_are_shown() -> None:
    for item, expected in ITEMS:
        assert shape([item]) == expected, item
        assert text.joined([item]) == "\n".join(words for _, _, words in expected), item


def test_a_call_that_the_api_ran_itself_and_that_failed_has_its_error_as_result() -> None:
    turns = text.from_messages([{"type": "mcp_call", "id": "m", "name": "f", "arguments": "{}", "error": "boom"}])
    assert answers(turns) == [("m", "boom", True)]
    assert [turn.logs for turn in turns] == [{}, {"error": "boom"}]


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"reasoning_content": "R"}, ["R"]),
        ({"reasoning": "R", "reasoning_content": "R\n", "thinking": " R"}, ["R\n"]),
        ({"reasoning_details": [{"type": "reasoning.text", "text": "R"}]}, ["R"]),
        ({"reasoning_details": [{"type": "reasoning.summary", "summary": "R"}], "reasoning": "R"}, ["R"]),
        ({"reasoning": "A B", "reasoning_details": [{"text": "A"}, {"text": "B"}]}, ["A B"]),
        ({"thinking_blocks": [{"type": "thinking", "thinking": "R"}], "reasoning_content": "R"}, ["R"]),
        ({"reasoning_content": "R", "content": "<think>R</think>A"}, ["R"]),
        ({"reasoning_content": "R", "content": "R\n</think>A"}, ["R"]),
        ({"reasoning_content": "R", "content": [{"type": "thinking", "thinking": "R"}]}, ["R"]),
        ({"reasoning_content": "A", "content": "A"}, ["A"]),
        ({"reasoning": "one", "reasoning_content": "two"}, ["two", "one"]),
        ({"thinking": [{"type": "text", "text": "R"}]}, ["R"]),
        ({"content": [{"type": "reasoning", "reasoning": "zz", "redacted": True, "summary": "R"}]}, ["R"]),
        ({"content": [{"type": "reasoning", "reasoning": "zz", "redacted": True}]}, []),
        ({"reasoning_details": [{"type": "reasoning.encrypted", "data": "abc"}]}, []),
        ({"reasoning": {"effort": "high"}, "content": "A"}, []),
    ],
)  # fmt: skip
def test_each_thought_is_shown_once_and_apart_from_the_answer(fields: dict[str, Any], expected: list[str]) -> None:
    message = {"role": "assistant", "content": "A", **fields}
    (turn,) = text.from_messages([message])
    assert [part.text for part in turn.parts if part.kind == "think"] == expected
    said = "".join(part.text for part in turn.parts if part.kind == "text")
    assert said == ("" if isinstance(message["content"], list) else "A")
    whole = text.joined([message], thoughts=True)
    assert all(whole.count(thought) == (2 if thought == said else 1) for thought in map(str.strip, expected))


ARGUMENTS: list[tuple[object, str]] = [
    ('{"deg": 90}', '{\n  "deg": 90\n}'),
    ({"deg": 90}, '{\n  "deg": 90\n}'),
    ('{"n":1.00,"big":123456789012345678901234567890}', '{\n  "n": 1.00,\n  "big": 123456789012345678901234567890\n}'),
    ('{"city": "\\u6771\\u4eac", "e": "\\ud83d\\ude00"}', '{\n  "city": "東京",\n  "e": "😀"\n}'),
    (json.dumps({"code": CODE}), f"code:\n{CODE}"),
    ({"code": CODE}, f"code:\n{CODE}"),
    (json.dumps({"path": "a.py", "code": "a\nb", "n": 1.5}), 'path: "a.py"\ncode:\na\nb\nn: 1.5'),
    ('{"edits": [{"old": "a\\nb", "new": "c"}]}', 'edits:\n  -\n    old:\n      a\n      b\n    new: "c"'),
    ('{"say": "\\"hi\\"", "x": [1, {}], "y": {}}', 'say: "hi"\nx:\n  - 1\n  - {}\ny: {}'),
    (json.dumps(json.dumps({"code": "a\nb"})), "code:\na\nb"),
    ('{"lone": "\\ud83d"}', '{\n  "lone": "\ufffd"\n}'),
    ('{"cut": "a\\nb', '{"cut": "a\\nb'),
    ("print('\\n')", "print('\\n')"),
    ("", ""),
    (None, "null"),
    ('{"a": 1, "a": "x\\ny"}', "a: 1\na:\nx\ny"),
    ("[" * 50_000, "[" * 50_000),
]  # fmt: skip


@pytest.mark.parametrize("form", ["list", "entries", "whole", "block", "legacy"])
def test_arguments_are_decoded_text_in_any_form(form: str) -> None:
    for arguments, shown in ARGUMENTS:
        check_call(arguments, shown, form)


def check_call(arguments: object, shown: str, form: str) -> None:
    """Check how a call in a message of some form is read."""
    function = {"name": "f", "arguments": arguments}
    call = {"id": "1", "type": "function", "function": function}
    forms: dict[str, dict[str, Any]] = {
        "list": {"tool_calls": [call]},
        "entries": {"tool_calls": [json.dumps(call)]},
        "whole": {"tool_calls": json.dumps([call])},
        "block": {"content": [{"type": "tool_use", "id": "1", "name": "f", "input": arguments}]},
        "legacy": {"function_call": function},
    }
    message = {"role": "assistant", "content": ""} | forms[form]
    (turn,) = text.from_messages([message])
    (part,) = turn.parts
    assert part.call is not None
    assert (part.call.name, text.readable(part.call.arguments)) == ("f", shown), arguments
    assert text.joined([message]) == part.text == "f\n" + shown or not shown


def test_what_a_tool_gave_back_stands_without_escapes_of_json() -> None:
    written = '{"temp": "\\u4e8c\\u5341", "slash": "\\\\u4e8c"}'
    shown = '{"temp": "二十", "slash": "\\\\u4e8c"}'
    result = {"type": "tool_result", "tool_use_id": "a", "content": written}
    for message in ({"role": "tool", "content": written}, {"role": "user", "content": [result]}):
        (turn,) = text.from_messages([message])
        assert [(part.text, text.verbatim(turn)) for part in turn.parts] == [(shown, written)]
        assert text.joined([message]) == shown
    (part,) = text.parts(f"<tool_response>\n{written}\n</tool_response>")
    assert (part.text, text.legible(part)) == (shown, f"<tool_response>\n{shown}\n</tool_response>")
    source = 'print("\\u4e8c")'
    assert shape([{"role": "tool", "content": source}]) == [("tool", "text", source)]


OTHERS: list[tuple[object, Shape]] = [
    ({"from": "human", "value": "H"}, [("user", "text", "H")]),
    ({"from": "gpt", "value": "G"}, [("assistant", "text", "G")]),
    (
        {"from": "function_call", "value": '{"name": "f", "arguments": {}}'},
        [("assistant", "tool_call", "f\n{}")],
    ),
    ({"from": "observation", "value": "O"}, [("tool", "text", "O")]),
    (
        {"role": "model", "parts": [{"text": "T", "thought": True}, {"text": "A"}, {"functionCall": {"name": "f"}}]},
        [("assistant", "think", "T"), ("assistant", "text", "A"), ("assistant", "tool_call", "f\n{}")],
    ),
    (
        {"role": "user", "parts": [{"functionResponse": {"name": "f", "response": {"a": 1}}}]},
        [("tool", "json", '{"a": 1}')],
    ),
    ({"role": "assistant", "content": None, "refusal": "NO"}, [("assistant", "text", "NO")]),
    ({"role": "assistant", "content": ""}, []),
    ({"role": "assistant", "content": "", "usage": {"x": 1}, "id": "m"}, []),
    ({"role": "assistant", "content": "", "sound": {"x": 1}}, [("assistant", "json", '{"sound": {"x": 1}}')]),
    ({"role": "assistant", "content": [{"type": "new", "text": "x", "y": 1}]}, [
        ("assistant", "json", '{"type": "new", "text": "x", "y": 1}'),
    ]),
    ({"x": 1}, [("unknown", "json", '{"x": 1}')]),
    (7, [("unknown", "json", "7")]),
    ({"type": "ai", "content": "", "tool_calls": [{"name": "f", "args": {}, "id": "l"}]}, [
        ("assistant", "tool_call", "f\n{}"),
    ]),
    ({"role": "assistant", "content": [{"toolUse": {"toolUseId": "t", "name": "f", "input": {}}}]}, [
        ("assistant", "tool_call", "f\n{}"),
    ]),
    ({"role": "tool", "content": [{"type": "tool-result", "output": {"type": "text", "value": "O"}}]}, [
        ("tool", "text", "O"),
    ]),
    ({"role": "assistant", "channel": "analysis", "content": "T"}, [("assistant", "think", "T")]),
    ({"role": "assistant", "channel": "commentary", "recipient": "functions.f", "content": "{}"}, [
        ("assistant", "tool_call", "f\n{}"),
    ]),
]  # fmt: skip


def test_messages_of_other_apis_are_shown() -> None:
    for message, expected in OTHERS:
        assert shape([message]) == expected, message
        assert text.joined([message]) == "\n".join(words for _, _, words in expected), message


Q, A = {"role": "user", "content": "q"}, {"role": "assistant", "content": "a"}


@pytest.mark.parametrize(
    ("stored", "messages"),
    [
        ([Q, A], [Q, A]),
        (A, [A]),
        ([["user", "q"], ["assistant", "a"]], [Q, A]),
        (json.dumps([Q, A]), [Q, A]),
        (f"\n {json.dumps(A)}", [A]),
        ([json.dumps(Q), json.dumps(A)], [Q, A]),
        ({"choices": [{"message": A, "finish_reason": "stop"}]}, [A]),
        ({"choices": [{"text": "a"}]}, [A]),
        ({"candidates": [{"content": {"parts": [{"text": "a"}]}}]}, [{"role": "assistant", "parts": [{"text": "a"}]}]),
        ({"object": "response", "output": [{"type": "reasoning"}]}, [{"type": "reasoning"}]),
        ({"conversations": [{"from": "human", "value": "q"}]}, [{"from": "human", "value": "q"}]),
        ({"trajectory": json.dumps([Q])}, [Q]),
        (json.dumps({"messages": json.dumps([Q])}), [Q]),
        ({"history": [["q", "a"]]}, [Q, A]),
        ({"actions": ["a", "a"], "observations": ["o"]}, [A, {"role": "tool", "content": "o"}, A]),
        ({"actions": ["a"], "observations": ["o", "o"]}, None),
        ({"actions": [1], "observations": ["o"]}, None),
        ({"actions": ["a"]}, None),
        ("q", None),
        ('{"role": "an essay about roles", "text": "x"}', None),
        ('[{"type": "circle", "text": "r"}]', None),
        ("[1, 2]", None),
        ([1, 2], None),
        ([["x", "y"]], None),
        ([{"a": 1}], None),
        ({"a": 1}, None),
        ("[" * 100_000, None),
        ('{"role": "user", ', None),
        ([], None),
        (None, None),
    ],
)
def test_a_conversation_is_known_however_it_is_stored(stored: object, messages: list[Any] | None) -> None:
    assert text.conversation(stored) == messages


def test_the_response_begins_at_the_first_message_or_item_of_the_assistant() -> None:
    for first in (A, {"from": "gpt", "value": "a"}, {"type": "reasoning"}, {"role": "model", "parts": []}):
        messages = [{"role": "system", "content": "s"}, {"from": "human", "value": "q"}, first, Q]
        assert text.answer_at(messages) == 2
        assert text.answers_in(messages) == 1
    assert text.answer_at([Q]) == 1


KEYS = (
    "role from content value parts tool_calls function_call type text function name arguments input id "
    "call_id output error summary thinking reasoning reasoning_details thinking_blocks image_url source "
    "data channel recipient refusal audio images functionCall functionResponse toolUse toolResult thought "
    "kwargs choices message messages history author logs status is_error"
).split()
TYPES = [*(item["type"] for item, _ in ITEMS if "type" in item), "tool_use", "tool_result"]
anything = st.recursive(
    st.none()
    | st.booleans()
    | st.floats()
    | st.integers()
    | st.text(max_size=8)
    | st.sampled_from(["assistant", "\ud800"]),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS), inner | st.sampled_from(TYPES), max_size=5)
    ),
    max_leaves=24,
)


@settings(max_examples=amount(40, 1000))
@given(st.lists(anything, max_size=4) | anything)
def test_no_value_of_the_wrong_type_breaks_anything(messages: object) -> None:
    turns = text.from_messages(messages)
    assert len(turns) >= (len(messages) if isinstance(messages, list) else 1)
    text.joined([messages], thoughts=True).encode()
    text.conversation(messages)
    for turn in turns:
        f"{turn.role}{turn.name}{turn.tool_call_id}".encode()
        for part in turn.parts:
            part.text.encode()
            text.legible(part).encode()


def _nested(depth: int) -> Any:
    value: Any = "deep"
    for _ in range(depth):
        value = [{"type": "tool_result", "tool_use_id": "a", "content": value}]
    return value


MANY = amount(2_000, 10_000)
"""Number of the parts of a huge message."""


def _calls(arguments: str, times: int) -> list[Any]:
    return [{"id": "a", "function": {"name": "f", "arguments": arguments}}] * times


@pytest.mark.parametrize(
    "message",
    [
        {"role": "user", "content": _nested(300)},
        {"role": "assistant", "content": [{"type": "text", "text": "x" * 100}] * MANY},
        {"role": "assistant", "content": [{"type": "tool_use", "id": "a", "name": "f", "input": {"a": 1}}] * MANY},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "a", "content": "x"}] * MANY},
        {"role": "assistant", "content": "", "tool_calls": _calls('{"a": "\\n"}', MANY)},
        {"role": "assistant", "tool_calls": _calls(json.dumps({"a": "\n" * 10 * MANY}), 1)},
        {"role": "assistant", "tool_calls": _calls('{"a": "' + "\\u4e8c" * 10 * MANY, 1)},
        {
            "role": "assistant",
            "reasoning": " ".join(map(str, range(2 * MANY))),
            "reasoning_details": [{"text": str(n)} for n in range(2 * MANY)],
        },
        {"role": "assistant", "content": "</think>" * MANY, "reasoning": "x"},
        {"role": "assistant", "content": [{"role": "assistant"}] * MANY},
    ],
)
def test_huge_messages_take_time_in_proportion(message: dict[str, Any]) -> None:
    began = time.process_time()
    turns = text.from_messages([message])
    found = text.joined([message], thoughts=True)
    assert turns and found
    for turn in turns:
        for part, _ in text.legible_parts(turn.parts):
            assert part.text is not None
    assert time.process_time() - began < amount(1, 5)


def test_the_question_of_a_prompt_is_the_last_message_of_the_user() -> None:
    said = [("system", "Rules."), ("user", "Hi"), ("assistant", "Yes?"), ("user", "Book it"), ("tool", "done")]
    messages = [{"role": role, "content": content} for role, content in said]
    for stop, question in ((1, "Rules."), (2, "Hi"), (3, "Hi\n\nYes?"), (5, "Book it\n\ndone")):
        asked = messages[:stop]
        assert text.joined(asked)[text.question_at(asked) :] == question
    assert text.question_at([]) == text.question_at(messages[1:2]) == 0
