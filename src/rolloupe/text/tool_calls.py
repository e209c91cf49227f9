"""Name and arguments of a tool call: JSON as most models write it, XML as Qwen3-Coder does, harmony; objects of APIs.

`readable` is the form of arguments that every face shows and that search finds.
"""

import contextlib
import json
import re
from collections.abc import Iterator
from typing import Any

import msgspec

from rolloupe.model import ToolCall
from rolloupe.text.visible import clean

ARGUMENTS = ("arguments", "parameters", "args", "input")
IDS = ("call_id", "id", "tool_use_id", "tool_call_id", "toolCallId", "toolUseId")
"""The names of an id: in the Responses API `call_id` ties a call to its output, and `id` names the item."""
NAMES = ("name", "tool_name", "toolName", "function_name")

_ABSENT: Any = object()
_FUNCTION = re.compile(r"<function=([^>\n]{1,200})>")
_PARAMETER = re.compile(r"<parameter=([^>\n]{1,200})>")
_DECODER = msgspec.json.Decoder(dict[str, Any])
_FENCE = re.compile(r"```(?:json)?\n?|```")
_ESCAPE = re.compile(r"\\(?:u(?P<code>[0-9a-fA-F]{4})|.)", re.DOTALL)
_TO_DECODE = re.compile(r'[\x00-\x1f"\\]')


def call_of(inner: str) -> ToolCall:
    """Read the text between the delimiters of a call; malformed text stays as the model wrote it, with the error."""
    body = inner.strip()
    if function := _FUNCTION.match(body):
        parts = _PARAMETER.split(body)[1:]
        pairs = zip(parts[::2], parts[1::2], strict=True)
        given = {name: value.partition("</parameter>")[0].strip("\n") for name, value in pairs}
        return ToolCall(name=function[1], arguments=_dumped(given))
    if "<｜tool▁sep｜>" in body:
        name, _, rest = body.partition("<｜tool▁sep｜>")[2].partition("\n")
        return from_arguments(name.strip(), _FENCE.sub("", rest).strip())
    try:
        value = json.loads(body)
    except (ValueError, RecursionError) as error:
        reason = error.msg if isinstance(error, json.JSONDecodeError) else "cannot be read"
        return ToolCall(name="", arguments=body, error=f"not JSON: {reason}")
    if not isinstance(value, dict):
        return ToolCall(name="", arguments=body, error="not a JSON object")
    return from_object(value)


def call_to(recipient: str, header: str, inner: str) -> ToolCall:
    """Read a call of harmony: its recipient, the header that says what its body is, and the body."""
    name, body = clean(recipient.removeprefix("functions.")), inner.strip()
    is_json = "json" in header or name != recipient
    return from_arguments(name, body) if is_json else ToolCall(name=name, arguments=decoded(body))


def is_broken(inner: str) -> bool:
    """Return whether `call_of` finds an error, in less time."""
    if "<｜tool▁sep｜>" not in inner:
        with contextlib.suppress(ValueError, RecursionError, msgspec.MsgspecError):  # then `call_of` decides
            error = _DECODER.decode(inner).get("error")
            return isinstance(error, str) and bool(error)
    return bool(call_of(inner).error)


def from_object(value: dict[str, Any]) -> ToolCall:
    """Read a call as an object: `{name, arguments}`, OpenAI's `{id, function: {name, arguments}}` and kin."""
    function = value.get("function")
    inner = function if isinstance(function, dict) else value
    name, arguments = inner.get("name"), inner.get("arguments", _ABSENT)
    if not isinstance(name, str):
        name = next((inner[key] for key in NAMES if isinstance(inner.get(key), str)), function)
    if arguments is _ABSENT:
        arguments = next((inner[key] for key in ARGUMENTS if key in inner), {})
    error = value.get("error") or value.get("parse_error")
    return ToolCall(
        name=clean(name) if isinstance(name, str) else "",
        arguments=decoded(clean(arguments)) if isinstance(arguments, str) else _dumped(arguments),
        id=id_of(value),
        error=clean(error) if isinstance(error, str) else "",
    )


def id_of(value: dict[str, Any]) -> str:
    """Return the id that ties a call and its result together; empty without one."""
    return next((clean(own) for key in IDS if isinstance(own := value.get(key), str) and own), "")


def json_object(written: str) -> dict[str, Any]:
    """Return the members of a text that is an object of JSON; none of any other text."""
    try:
        value = msgspec.json.decode(written)
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def from_arguments(name: str, arguments: str) -> ToolCall:
    """Return a call with bare arguments."""
    try:
        json.loads(arguments)
    except (ValueError, RecursionError):
        return ToolCall(name=name, arguments=arguments, error="arguments are not JSON")
    return ToolCall(name=name, arguments=decoded(arguments))


def call_text(call: ToolCall) -> str:
    """Return a call as a person reads it: its name, then the arguments. Ids mean nothing to people."""
    return "\n".join(filter(None, (call.name or call.id, readable(call.arguments))))


def decoded(written: str) -> str:
    r"""Return JSON with characters in place of their escapes `\uXXXX`, unless they need one; all else as written."""
    if "\\u" not in written:
        return written

    def character(escape: re.Match[str]) -> str:
        code = int(escape["code"] or "0", 16)
        return chr(code) if code >= 0xA0 else escape[0]

    return clean(_ESCAPE.sub(character, written).encode("utf-16", "surrogatepass").decode("utf-16", "replace"))


def decoded_result(text: str) -> str:
    """Return what a tool gave back, `decoded` if it looks like JSON."""
    return decoded(text) if "\\u" in text and text.lstrip()[:1] in ("{", "[", '"') else text


def readable(arguments: str) -> str:
    """Return arguments as a person reads them: JSON on several lines, numbers as written.

    If texts in it have escapes, such as code with line breaks, each member becomes its name and its value, and these
    texts are shown unescaped. Arguments that are not JSON stay as the model wrote them.
    """
    try:
        if "\\" not in arguments:
            return msgspec.json.format(arguments, indent=2)
        value = _PARSER.decode(arguments)
        if isinstance(value, str) and not isinstance(value, _Literal):
            return readable(value) if value[:1] in ("{", "[") else clean(value)
        if not _has_escapes(value):
            return msgspec.json.format(decoded(arguments), indent=2)
        return clean("\n".join(_lines(value, "")))
    except (ValueError, RecursionError, msgspec.MsgspecError):
        return arguments


class _Members(list[tuple[str, Any]]):
    """The members of an object, including repeated names."""


class _Literal(str):
    """A number, or NaN, as written."""

    __slots__ = ()


_PARSER = json.JSONDecoder(
    object_pairs_hook=_Members, parse_float=_Literal, parse_int=_Literal, parse_constant=_Literal
)


def _has_escapes(value: Any) -> bool:
    if isinstance(value, _Members):
        return any(_has_escapes(member) for _, member in value)
    if isinstance(value, list):
        return any(map(_has_escapes, value))
    return isinstance(value, str) and not isinstance(value, _Literal) and _TO_DECODE.search(value) is not None


def _lines(value: Any, margin: str) -> Iterator[str]:
    """Yield the lines of a value; lines of a text are indented only within another value."""
    if isinstance(value, (_Members, list)) and value:
        named = value if isinstance(value, _Members) else (("-", entry) for entry in value)
        for name, member in named:
            head = f"{margin}{name}" if name == "-" else f"{margin}{name}:"
            if isinstance(member, (_Members, list)) and member:
                yield head
                yield from _lines(member, f"{margin}  ")
            elif isinstance(member, str) and "\n" in member:
                yield head
                inner = f"{margin}  " if margin or name == "-" else ""
                yield from (f"{inner}{line}" for line in member.split("\n"))
            else:
                yield f"{head} {_scalar(member)}"
    else:
        yield f"{margin}{_scalar(value)}"


def _scalar(value: Any) -> str:
    if isinstance(value, _Literal) or (isinstance(value, str) and _TO_DECODE.search(value)):
        return value
    return "{}" if isinstance(value, _Members) else json.dumps(value, ensure_ascii=False)


def _dumped(value: Any) -> str:
    try:
        return clean(json.dumps(value, ensure_ascii=False))
    except (TypeError, ValueError, RecursionError):
        return str(type(value).__name__)
