"""A call of a tool as a person reads it: a command as in a shell, an edit as a difference, the rest in few words."""

import difflib
import json
from typing import Any, Literal

import msgspec
from msgspec import Struct

from rolloupe.model import ToolCall
from rolloupe.text.tool_calls import readable
from rolloupe.text.tool_results import CallResult
from rolloupe.text.visible import clean

CallForm = Literal["command", "code", "edit", "arguments"]


class CallSummary(Struct, frozen=True, kw_only=True):
    """A call in one line, and what that line leaves out."""

    form: CallForm
    line: str
    """On one line: a command, the beginning of code, a path, or the arguments with their names."""
    body: str = ""
    """If there is more: a whole command, a difference (its lines begin with `+`, `-` or a space), or the arguments."""
    added: int | None = None
    """Lines that an edit adds."""
    removed: int | None = None


LINE_CHARS = 200
MAX_EDIT_PAIRS = 250_000
"""Of texts with more pairs of lines, all of both is shown: finding what differs takes more than linear time."""
_COMMANDS = ("command", "cmd", "commands", "script", "bash", "shell", "keystrokes", "code", "python")
_CODE = frozenset(("code", "python"))
_PATHS = ("path", "file_path", "filepath", "filename", "file", "notebook_path", "target_file", "abs_path")
_OLD = ("old_str", "old_string", "old_text", "old", "search", "find", "old_content")
_NEW = (
    "new_str",
    "new_string",
    "new_text",
    "new",
    "replace",
    "replacement",
    "new_content",
    "insert_text",
    "new_source",
)
_WHOLE = ("file_text", "content", "contents", "text", "code_edit")
_PATCHES = ("patch", "diff", "patch_text", "input")
_SHELLS = frozenset(("bash", "sh", "zsh", "/bin/bash", "/bin/sh"))


def summarize_call(call: ToolCall) -> CallSummary:
    """Return a call in the form that suits its arguments."""
    arguments = _object(call.arguments)
    if call.error or not arguments:
        text = call.arguments if call.error else readable(call.arguments)
        if not call.error and call.name and _looks_like_patch(text):
            return _patch(text)
        line, body = _split("" if text in ("{}", "null") else text)
        return CallSummary(form="arguments", line=line, body=body)
    if edit := _edit(arguments):
        return edit
    if command := _command(arguments):
        return command
    return _plain(call, arguments)


def call_block(call: ToolCall, result: CallResult | None = None) -> str:
    """Return a call and what came of it as lines of text: `bash $ pytest -x   exit 1, 2,318 lines, 41 s`."""
    summary = summarize_call(call)
    prompt = "$ " if summary.form == "command" else ""
    changed = [f"{sign}{count:,}" for sign, count in (("+", summary.added), ("−", summary.removed)) if count]
    line = "" if summary.body and summary.form != "edit" else summary.line
    head = f"{call.name or call.id} {prompt}{line}".rstrip()
    facts = ", ".join([*changed, *(result_words(result) if result else [])])
    return "\n".join(filter(None, [f"{head}   {facts}" if facts else head, summary.body]))


def result_words(result: CallResult) -> list[str]:
    """Return what a result says of itself, in words."""
    outcome = {"ok": "ok", "failed": "failed", "timeout": "timed out", "unknown": ""}[result.outcome]
    is_exit = result.outcome == "failed" and result.exit_code is not None
    return [
        *filter(None, [f"exit {result.exit_code}" if is_exit else outcome, result.error]),
        *([f"{result.lines:,} lines"] if result.lines > 1 else []),
        *([f"{result.duration_s:.3g} s"] if result.duration_s is not None else []),
    ]


def _object(arguments: str) -> dict[str, Any]:
    try:
        value = msgspec.json.decode(arguments)
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def _command(arguments: dict[str, Any]) -> CallSummary | None:
    key = next((key for key in _COMMANDS if key in arguments), None)
    value = arguments.get(key) if key else None
    if isinstance(value, list) and value and all(isinstance(word, str) for word in value):
        value = value[-1] if len(value) == 3 and value[0] in _SHELLS else " ".join(value)
    if not isinstance(value, str) or not value.strip():
        return None
    rest = {name: member for name, member in arguments.items() if name != key}
    if any(isinstance(rest.get(name), str) for name in _PATHS):  # of `str_replace_editor`, a command is a verb
        return None
    line, body = _split(clean(value).strip("\n"))
    beside = _words({name: member for name, member in rest.items() if not _is_default(member)})
    form: CallForm = "code" if key in _CODE else "command"
    return CallSummary(form=form, line=f"{line}  {beside}".rstrip() if beside and not body else line, body=body)


def _is_default(value: object) -> bool:
    return value in ("", None, False, "false", [], {})


def _edit(arguments: dict[str, Any]) -> CallSummary | None:
    path = next((clean(value) for key in _PATHS if isinstance(value := arguments.get(key), str) and value), "")
    patch = next((value for key in _PATCHES if isinstance(value := arguments.get(key), str)), "")
    if patch and _looks_like_patch(patch):
        return _patch(clean(patch), path)
    if not path:
        return None
    edits = arguments.get("edits")
    pairs = [edit for edit in edits if isinstance(edit, dict)] if isinstance(edits, list) and edits else [arguments]
    changed = [(_text(pair, _OLD), _text(pair, _NEW)) for pair in pairs]
    if any(old is not None or new is not None for old, new in changed):
        lines = [line for old, new in changed for line in _difference(old or "", new or "")]
    elif (whole := _text(arguments, _WHOLE)) is not None:
        lines = [f"+{line}" for line in whole.split("\n")]
    else:
        return None
    return _of_lines(path, lines)


def _text(arguments: dict[str, Any], keys: tuple[str, ...]) -> str | None:
    return next((clean(value) for key in keys if isinstance(value := arguments.get(key), str)), None)


def _difference(old: str, new: str) -> list[str]:
    before, after = old.split("\n") if old else [], new.split("\n") if new else []
    if len(before) * len(after) > MAX_EDIT_PAIRS:
        return [*(f"-{line}" for line in before), *(f"+{line}" for line in after)]
    lines: list[str] = []
    for tag, i, j, k, m in difflib.SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
        if tag == "equal":
            lines += [f" {line}" for line in before[i:j]]
        else:
            lines += [f"-{line}" for line in before[i:j]] + [f"+{line}" for line in after[k:m]]
    return lines


def _looks_like_patch(text: str) -> bool:
    head = text[:2000].lstrip()
    return head.startswith(("*** Begin Patch", "diff --git ", "--- ", "@@ "))


def _patch(text: str, path: str = "") -> CallSummary:
    lines = text.split("\n")
    marks = ("*** Update File: ", "*** Add File: ", "*** Delete File: ", "+++ b/", "+++ ")
    files = [line.removeprefix(mark) for line in lines for mark in marks if line.startswith(mark)]
    named = (
        path or ", ".join(dict.fromkeys(name.removeprefix("b/") for name in files if name != "/dev/null")) or "patch"
    )
    heads = ("***", "+++", "---", "diff --git", "index ")
    return _of_lines(named, [line for line in lines if not line.startswith(heads)])


def _of_lines(path: str, lines: list[str]) -> CallSummary:
    added, removed = (sum(line[:1] == mark for line in lines) for mark in "+-")
    line, _ = _split(path)
    return CallSummary(form="edit", line=line, body="\n".join(lines), added=added, removed=removed)


def _plain(call: ToolCall, arguments: dict[str, Any]) -> CallSummary:
    """Show arguments on the line if they are few and short, and below it if they are not."""
    if len(arguments) == 1 and isinstance(only := next(iter(arguments.values())), str):
        line, body = _split(clean(only))
        return CallSummary(form="arguments", line=line, body=body)
    path = next((key for key in _PATHS if isinstance(arguments.get(key), str)), None)
    rest = {name: member for name, member in arguments.items() if name != path}
    words = _words(rest)
    line = "  ".join(filter(None, [arguments[path] if path else "", words]))
    is_whole = (bool(words) or not rest) and len(line) <= LINE_CHARS and "\n" not in line
    return CallSummary(
        form="arguments", line=clean(line) if is_whole else "", body="" if is_whole else readable(call.arguments)
    )


def _words(arguments: dict[str, Any]) -> str:
    """Return names and values on one line; empty if some value is long, or has several lines."""
    pairs = [
        f"{name} {value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)}"
        for name, value in arguments.items()
    ]
    line = clean(", ".join(pairs))
    return line if len(line) <= LINE_CHARS and "\n" not in line else ""


def _split(text: str) -> tuple[str, str]:
    """Return the first line, and the whole if there is more."""
    line, _, rest = text.partition("\n")
    is_whole = not rest and len(line) <= LINE_CHARS
    return line if is_whole else f"{line[:LINE_CHARS].rstrip()} …", "" if is_whole else text
