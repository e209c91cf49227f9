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
        pytest.param([calls("a", "b", before=1), result("b"), result("a")], {(0, 2): 1, (0, 1): 2}, id="by id"),
        pytest.param(
            [calls("a", "b", "c"), result("a, b"), result("c")],
            {(0, 0): 1, (0, 1): 1, (0, 2): 2},
            id="one for several",
        ),
        pytest.param([calls("", ""), result(), result(), result()], {(0, 0): 1, (0, 1): 2}, id="in order without ids"),
        pytest.param([calls("a"), calls("b"), result("a"), result("b")], {(0, 0): 2, (1, 0): 3}, id="calls first"),
        pytest.param([calls("a", "a"), USER, calls("a"), result("a")], {(2, 0): 3}, id="an id again"),
        pytest.param(
            [calls("a", "a"), result("a"), result("b"), result("a")], {(0, 0): 1, (0, 1): 3}, id="an id twice"
        ),
        pytest.param([calls("a"), result("z")], {}, id="an unknown id"),
        pytest.param([calls("a"), USER, result()], {}, id="another turn between"),
    ],
)
def test_results_belong_to_their_calls(turns: list[Turn], pairs: dict[text.Place, int]) -> None:
    assert {place: found.turn for place, found in text.results_of(turns).items()} == pairs


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
        (f'{{"duration_s": {"9" * 400}, "exit_code": {"9" * 30}}}', {"runtime": 10**400}, ("unknown", None, None)),
        ("#!/bin/sh\nrun\nexit 1", {}, ("unknown", None, None)),
        ("timeout: 30\nretries: 2", {}, ("unknown", None, None)),
        ('{"exit_code": 0}', {"info": {"exit_code": "1"}}, ("failed", 1, None)),
        ("exit code: 3\nhandled\nand more\nand more\nExit code: 0", {}, ("ok", 0, None)),
        ('{"status_code": 200}', {"is_error": "false"}, ("unknown", None, None)),
    ],
)
def test_what_a_result_says(written: str, logs: dict[str, Any], expected: tuple[str, int | None, float | None]) -> None:
    found = text.result_of(result("", written, **logs), 3)
    assert (found.outcome, found.exit_code, found.duration_s) == expected


def test_deep_json_stays_as_it_was_written() -> None:
    deep = '["\\n",' * 900 + "1" + "]" * 900
    assert text.output_part(deep).text == deep


def test_words_for_errors_count_and_decide_nothing() -> None:
    found = text.result_of(result("", "1 error\nfine\nTypeError: x\nthe terror\n"), 0)
    assert (found.lines, found.error_lines, found.outcome) == (4, 2, "unknown")


@pytest.mark.parametrize(
    ("name", "arguments", "form", "line", "body"),
    [
        ("bash", {"command": "pytest -x"}, "command", "pytest -x", ""),
        ("bash", {"command": "cat <<E\na\nE"}, "command", "cat <<E …", "cat <<E\na\nE"),
        ("sh", {"command": "cat <<E\na\nE", "cwd": "/x"}, "command", "cat <<E …", 'cat <<E\na\nE\n{\n  "cwd": "/x"\n}'),
        ("run", {"command": "python", "stdin": "a\nb"}, "command", "python", "python\nstdin:\na\nb"),
        ("run", {"commands": ["cd x", "make"]}, "command", "cd x …", "cd x\nmake"),
        ("run", {"command": "ls", "retries": 0, "safe": False}, "command", "ls  retries 0", ""),
        ("shell", {"command": ["bash", "-x", "y"]}, "command", "bash -x y", ""),
        ("exec", {"cmd": ["grep", "a b", "c"]}, "command", "grep 'a b' c", ""),
        ("grep", {"path": "src", "search": "TODO"}, "arguments", "src  search TODO", ""),
        ("insert", {"path": "a", "insert_line": 5, "new_str": "x"}, "edit", "a  insert_line 5", "+x"),
        (
            "apply",
            {"patch": "--- a/x.sql\n+++ b/x.sql\n@@ -1 +1 @@\n--- old comment\n+-- new\n--- a/y\n+++ /dev/null\n-z"},
            "edit",
            "x.sql, y",
            " b/x.sql\n@@ -1 +1 @@\n--- old comment\n+-- new\n a/y\n-z",
        ),
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
            "*** Update File: a.py\n@@\n-x\n+y",
        ),
        (
            "str_replace_editor",
            {"command": "view", "path": "/x", "view_range": [1, 9]},
            "arguments",
            "/x  command view, view_range [1,9]",
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
        ("abcdef\rxy", "xycdef", ()),
        ("abcdef\rxy\x1b[K", "xy", ()),
        ("\x1b[31mabcd\x1b[0m\rx\x1b[32my\x1b[0m", "xycd", ((1, 2, "green"), (2, 4, "red"))),
        ("ab\x08", "ab", ()),
        ("\x1b[1;38:2::255:0:0;4:0mx\x1b[58;5;1my", "xy", ((0, 1, "bold red"), (1, 2, "bold red"))),
        (f"{'x' * 3000}\ry", f"{'x' * 3000}\ny", ()),
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


def test_a_result_follows_its_call_and_has_no_turn_of_its_own() -> None:
    call = ToolCall(name="bash", arguments='{"command": "make"}', id="a")
    turns = [
        Turn(role="user", parts=[Part(kind="tool_call", text="", call=call)]),
        result("a", "no rule\nexit code: 2"),
        result("z", "of no call"),
    ]
    turns[1].reward, turns[1].tokens, turns[1].metrics = 0.5, 7, {"steps": 3.0}
    called, alone = text.with_results(turns)
    assert [part.text for part in called.parts] == [
        "bash $ make   exit 2, 2 lines, 7 tokens, reward 0.5, steps 3",
        "no rule\nexit code: 2",
    ]
    assert alone.parts[0].text == "of no call"


def test_the_middle_of_a_long_result_is_left_out() -> None:
    lines = [f"line {number}" for number in range(100)]
    assert text.shortened("\n".join(lines[:60])).count("\n") == 59
    assert text.shortened("\n".join(lines)).split("\n")[18:22] == [
        "line 18",
        "line 19",
        "… 60 lines between",
        "line 80",
    ]


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
