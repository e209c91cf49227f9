"""A call of a tool as a person reads it: a command as in a shell, an edit as a difference, the rest in few words."""

import shlex
from collections.abc import Iterable
from itertools import takewhile
from typing import Any, Literal

import msgspec
from msgspec import Struct

from rolloupe.model import ToolCall
from rolloupe.text.tool_calls import json_object, readable
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
_COMMANDS = ("command", "cmd", "commands", "script", "bash", "shell", "keystrokes", "code", "python")
_CODE = frozenset(("code", "python"))
_PATHS = ("path", "file_path", "filepath", "filename", "file", "notebook_path", "target_file", "abs_path")
_OLD = ("old_str", "old_string", "old_text", "old_content", "old", "search", "find")
_NEW = ("new_str", "new_string", "new_text", "new_content", "new", "replace", "replacement", "insert_text")
_WHOLE = ("file_text", "content", "contents", "code_edit")
_PATCHES = ("patch", "diff", "patch_text", "input")
_SHELLS = frozenset(("bash", "sh", "zsh", "/bin/bash", "/bin/sh"))


def summarize_call(call: ToolCall) -> CallSummary:
    """Return a call in the form that suits its arguments."""
    arguments = json_object(call.arguments)
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


def call_block(call: ToolCall, result: CallResult | None = None, more: Iterable[str] = ()) -> str:
    """Return a call and what came of it as lines of text: `bash $ pytest -x   exit 1, 2,318 lines, 41 s`.

    `more` are further facts for the end of the first line.
    """
    summary = summarize_call(call)
    prompt = "$ " if summary.form == "command" else ""
    changed = [f"{sign}{count:,}" for sign, count in (("+", summary.added), ("−", summary.removed)) if count]
    line = "" if summary.body and summary.form != "edit" else summary.line
    head = f"{call.name or call.id} {prompt}{line}".rstrip()
    facts = ", ".join([*changed, *(result_words(result) if result else []), *more])
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


def _command(arguments: dict[str, Any]) -> CallSummary | None:
    key = next((key for key in _COMMANDS if key in arguments), None)
    value = arguments.get(key) if key else None
    if isinstance(value, list) and value and all(isinstance(word, str) for word in value):
        is_shell = len(value) == 3 and value[0] in _SHELLS and value[1] in ("-c", "-lc", "-ic")
        value = value[-1] if is_shell else "\n".join(value) if key == "commands" else shlex.join(value)
    if not isinstance(value, str) or not value.strip():
        return None
    rest = {name: member for name, member in arguments.items() if name != key}
    if any(isinstance(rest.get(name), str) for name in _PATHS):  # of `str_replace_editor`, a command is a verb
        return None
    line, body = _split(clean(value).strip("\n"))
    more, words = _beside(rest)
    form: CallForm = "code" if key in _CODE else "command"
    if more and not body and words:
        return CallSummary(form=form, line=f"{line}  {words}")
    whole = "\n".join(filter(None, [body or line, more])) if more else body
    return CallSummary(form=form, line=line, body=whole)


def _beside(arguments: dict[str, Any]) -> tuple[str, str]:
    """Return further arguments as lines, and on one line if they are short; both are empty if all have no value."""
    given = {
        name: member
        for name, member in arguments.items()
        if (member or type(member) in (int, float)) and member != "false"
    }
    return (readable(_encoded(given)), _words(given)) if given else ("", "")


def _edit(arguments: dict[str, Any]) -> CallSummary | None:
    path = next((clean(value) for key in _PATHS if isinstance(value := arguments.get(key), str) and value), "")
    patch = next((value for key in _PATCHES if isinstance(value := arguments.get(key), str)), "")
    if patch and _looks_like_patch(patch):
        return _patch(clean(patch), path)
    if not path:
        return None
    edits = arguments.get("edits")
    pairs = [edit for edit in edits if isinstance(edit, dict)] if isinstance(edits, list) and edits else [arguments]
    changed = [(_text(pair, _OLD) or "", new) for pair in pairs if (new := _text(pair, _NEW)) is not None]
    whole = _text(arguments, _WHOLE)
    if not changed and whole is None:
        return None
    lines = [line for old, new in changed for line in _difference(old, new)] or _difference("", whole or "")
    named = {*_PATHS, *_OLD, *_NEW, *_WHOLE, "edits", "command"}  # of `str_replace_editor`, a command is a verb
    more, words = _beside({name: member for name, member in arguments.items() if name not in named})
    if more and not words:
        lines = [*(f" {line}" for line in more.split("\n")), *lines]
    return _of_lines(f"{path}  {words}".rstrip(), lines)


def _text(arguments: dict[str, Any], keys: tuple[str, ...]) -> str | None:
    return next((clean(value) for key in keys if isinstance(value := arguments.get(key), str)), None)


def _difference(old: str, new: str) -> list[str]:
    """Return the lines of two texts between those that both begin and end with, which stay as they are."""
    before, after = ([] if text == "" else text.split("\n") for text in (old, new))
    head = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(before, after, strict=False)))
    ends = zip(reversed(before[head:]), reversed(after[head:]), strict=False)
    tail = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], ends))
    removed, added = before[head : len(before) - tail], after[head : len(after) - tail]
    kept = [[f" {line}" for line in lines] for lines in (before[:head], before[len(before) - tail :])]
    return [*kept[0], *(f"-{line}" for line in removed), *(f"+{line}" for line in added), *(kept[1] if tail else ())]


def _looks_like_patch(text: str) -> bool:
    head = text[:2000].lstrip()
    return head.startswith(("*** Begin Patch", "diff --git ", "--- ", "@@ "))


def _patch(text: str, path: str = "") -> CallSummary:
    """Return a patch with a line for each file; its headers are neither removed nor added lines."""
    lines: list[str] = []
    files: dict[str, None] = {}
    for line in text.split("\n"):
        if line.startswith("+++ ") and lines and lines[-1].startswith("---"):
            old = lines.pop()[4:]
            name = line[4:] if line[4:] != "/dev/null" else old
            files[name.removeprefix("b/").removeprefix("a/")] = None
            lines.append(f" {name}")
        elif line.startswith("*** ") and ": " in line:
            files[line.partition(": ")[2]] = None
            lines.append(line)
        elif not line.startswith(("*** ", "diff --git ")):
            lines.append(line)
    return _of_lines(path or ", ".join(files) or "patch", lines)


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
    pairs = (f"{name} {value if isinstance(value, str) else _encoded(value)}" for name, value in arguments.items())
    line = clean(", ".join(pairs))
    return line if len(line) <= LINE_CHARS and "\n" not in line else ""


def _encoded(value: Any) -> str:
    try:
        return msgspec.json.encode(value).decode()
    except (msgspec.MsgspecError, ValueError, OverflowError, RecursionError):
        return "…"


def _split(text: str) -> tuple[str, str]:
    """Return the first line, and the whole if there is more."""
    line, _, rest = text.partition("\n")
    is_whole = not rest and len(line) <= LINE_CHARS
    return line if is_whole else f"{line[:LINE_CHARS].rstrip()} …", "" if is_whole else text
