"""Calls of tools and their results: which belong together, what they say, and what a terminal would have shown."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rolloupe import text
from rolloupe.model import Part, ToolCall, Turn


def calls(*ids: str, before: int = 0) -> Turn:
    parts = [Part(kind="tool_call", text="", call=ToolCall(name="f", arguments="{}", id=id_)) for id_ in ids]
    return Turn(role="assistant", parts=[*[Part(kind="text", text="x")] * before, *parts])


def result(id_: str = "", written: str = "", **logs: Any) -> Turn:
    return Turn(role="tool", parts=[text.output_part(written)], tool_call_id=id_, logs=logs)


USER = Turn(role="user", parts=[])


@pytest.mark.parametrize(
    ("turns", "pairs"),
    [
        pytest.param([calls("a", "b", before=1), result("b"), result("a")], {(10, 2): 11, (10, 1): 12}, id="by id"),
        pytest.param(
            [calls("a", "b", "c"), result("a, b"), result("c")],
            {(10, 0): 11, (10, 1): 11, (10, 2): 12},
            id="one for several",
        ),
        pytest.param(
            [calls("", ""), result(), result(), result()], {(10, 0): 11, (10, 1): 12}, id="in order without ids"
        ),
        pytest.param([calls("a"), calls("b"), result("a"), result("b")], {(10, 0): 12, (11, 0): 13}, id="calls first"),
        pytest.param([calls("a", "a"), USER, calls("a"), result("a")], {(12, 0): 13}, id="an id again"),
        pytest.param(
            [calls("a", "a"), result("a"), result("b"), result("a")], {(10, 0): 11, (10, 1): 13}, id="an id twice"
        ),
        pytest.param([calls("a"), result("z")], {}, id="an unknown id"),
        pytest.param([calls("a"), USER, result()], {}, id="another turn between"),
    ],
)
def test_results_belong_to_their_calls(turns: list[Turn], pairs: dict[text.Place, int]) -> None:
    assert {place: found.turn for place, found in text.results_of(turns, 10).items()} == pairs


@pytest.mark.parametrize(
    ("written", "logs", "expected"),
    [
        ("12 files\n[The command completed with exit code 1.]", {}, ("failed", 1, None)),
        ("<returncode>0</returncode>\n<output>\nx</output>", {}, ("ok", 0, None)),
        ("Exit code: 0\nWall time: 0.52 seconds\nOutput:\nx", {}, ("ok", 0, 0.52)),
        ('{"output": "x", "metadata": {"exit_code": 137, "duration_seconds": 3.5}}', {}, ("failed", 137, 3.5)),
        ("Command timed out after 30 seconds", {}, ("timeout", None, None)),
        ("no such order", {"error": "unknown_tool"}, ("failed", None, None)),
        ("nothing", {"error": "sandbox: the call timed out"}, ("timeout", None, None)),
        ("fine", {"is_error": False}, ("ok", None, None)),
        ("It says\nexit code 1 is what\nthe manual\ncalls an\nerror\nand more\nand more", {}, ("unknown", None, None)),
        ("Timeouts are configured elsewhere", {}, ("unknown", None, None)),
        ('{"exit_code": true, "duration_ms": -5}', {}, ("unknown", None, None)),
        ("", {}, ("unknown", None, None)),
    ],
)
def test_what_a_result_says(written: str, logs: dict[str, Any], expected: tuple[str, int | None, float | None]) -> None:
    found = text.result_of(result("", written, **logs), 3)
    assert (found.outcome, found.exit_code, found.duration_s) == expected


def test_words_for_errors_count_and_decide_nothing() -> None:
    found = text.result_of(result("", "1 error\nfine\nTypeError: x\nthe terror\n"), 0)
    assert (found.lines, found.error_lines, found.outcome) == (4, 2, "unknown")


@pytest.mark.parametrize(
    ("name", "arguments", "form", "line", "body"),
    [
        ("bash", {"command": "pytest -x"}, "command", "pytest -x", ""),
        ("bash", {"command": "cat <<E\na\nE", "timeout": 9}, "command", "cat <<E …", "cat <<E\na\nE"),
        ("shell", {"command": ["bash", "-lc", "ls -la"], "workdir": "/repo"}, "command", "ls -la  workdir /repo", ""),
        (
            "str_replace_editor",
            {"command": "str_replace", "path": "a.py", "old_str": "x\ny", "new_str": "x\nz\nw"},
            "edit",
            "a.py",
            " x\n-y\n+z\n+w",
        ),
        ("edit", {"file_path": "a", "edits": [{"old_string": "x", "new_string": "y"}]}, "edit", "a", "-x\n+y"),
        ("write", {"path": "a", "content": "x\ny"}, "edit", "a", "+x\n+y"),
        (
            "apply_patch",
            {"input": "*** Begin Patch\n*** Update File: a.py\n@@\n-x\n+y\n*** End Patch"},
            "edit",
            "a.py",
            "@@\n-x\n+y",
        ),
        (
            "str_replace_editor",
            {"command": "view", "path": "/x", "view_range": [1, 9]},
            "arguments",
            "/x  command view, view_range [1, 9]",
            "",
        ),
        ("search", {"query": "who"}, "arguments", "who", ""),
        ("search", {"query": "who", "limit": 5}, "arguments", "query who, limit 5", ""),
        ("note", {"title": "a", "words": "b\nc"}, "arguments", "", 'title: "a"\nwords:\nb\nc'),
        ("stop", {}, "arguments", "", ""),
    ],
)
def test_a_call_as_a_person_reads_it(name: str, arguments: dict[str, Any], form: str, line: str, body: str) -> None:
    found = text.summarize_call(ToolCall(name=name, arguments=json.dumps(arguments)))
    assert (found.form, found.line, found.body) == (form, line, body)


@pytest.mark.parametrize(
    ("written", "shown", "styles"),
    [
        ("10%\r20%\r100%\nE: \x1b[31mbad\x1b[0m", "100%\nE: bad", ((8, 11, "red"),)),
        ("a\r\nb\r", "a\nb", ()),
        ("\x1b]0;title\x07x\x1b[2J\x1b[1;1Hy", "xy", ()),
        ("\x1b]without an end\nnext", "without an end\nnext", ()),
        ("ab\x08\x08cd\x1b[1;4mxy\x08z", "cdxz", ((2, 3, "bold underline"), (3, 4, "bold underline"))),
        (
            "\x1b[38;5;196mr\x1b[38;2;9;200;9mg\x1b[48;5;3mb\x1b[39mn",
            "rgbn",
            ((0, 1, "red"), (1, 2, "green"), (2, 3, "green")),
        ),
        ("plain", "plain", ()),
    ],
)
def test_a_terminal_shows(written: str, shown: str, styles: tuple[tuple[int, int, str], ...]) -> None:
    part = text.output_part(written)
    assert (part.text, part.styles) == (shown, styles)
    assert (part.raw or part.text) == written


@given(st.text(st.sampled_from("ab\n\r\x08\x1b[]0;31mK\x07\\é😀"), max_size=60))
def test_no_output_harms(written: str) -> None:
    shown, styles = text.terminal_text(written)
    assert not {"\x1b", "\r", "\x08"} & {*shown}
    assert [*styles] == sorted(styles) and all(0 <= start < stop <= len(shown) for start, stop, _ in styles)


@given(
    st.text(max_size=60), st.dictionaries(st.sampled_from(["command", "path", "old_str", "new_str", "x"]), st.text())
)
def test_no_call_harms(arguments: str, members: dict[str, str]) -> None:
    for written in (arguments, json.dumps(members)):
        found = text.summarize_call(ToolCall(name="f", arguments=written))
        assert "\n" not in found.line
