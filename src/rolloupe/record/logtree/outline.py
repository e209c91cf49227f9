"""The outline of a logtree: nodes of plain text, and the page that they become, where each text is escaped."""

import html
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from msgspec import Struct

from rolloupe.record.plain import text_of
from rolloupe.text import clean

PLACES = ("group", "trajectory", "turn", "aside")
"""Attributes that name the rollout a node belongs to, written as `data-group`, ..."""

_PLAIN_ATTRS = ("class", "id", "title", "lang", "dir", "open")
_NOT_IN_NAMES = re.compile(r"[^a-z0-9_.-]+")
_KEPT = set(
    "p div span strong em b i u s code pre blockquote ul ol li dl dt dd h1 h2 h3 h4 h5 h6 details summary".split()
)
_KEPT |= set("table thead tbody tfoot tr th td sub sup small".split())
"""HTML tags of a formatter to keep, without attributes; other tags lose their markup and keep their content."""

_HTML_DEPTH = 20


class OutlineNode(Struct):
    """An element with elements and plain texts as children. `data` holds the same content for programs."""

    tag: str
    attrs: dict[str, str] = {}
    children: "list[OutlineNode | str]" = []
    data: dict[str, Any] | None = None

    def as_json(self) -> dict[str, Any]:
        """Return the node in the form of `_logtree.json`: texts escaped, and no children if it has data."""
        found: dict[str, Any] = {"tag": self.tag, "attrs": dict(self.attrs)}
        children = [] if self.data is not None else list(self.children)
        found["children"] = [html.escape(one) if isinstance(one, str) else one.as_json() for one in children]
        return found if self.data is None else found | {"data": self.data}


def attributes(values: Mapping[str, object]) -> dict[str, str]:
    """Return the attributes of an element that are safe in a page.

    `class_` becomes `class`, `data__x` becomes `data-x`, and so does every other name that could do more than mark its
    element. None is left out.
    """
    found = {}
    for key, value in values.items():
        if value is None:
            continue
        name = "class" if key == "class_" else _NOT_IN_NAMES.sub("-", key.replace("__", "-", 1).lower())
        if name in PLACES or not (name in _PLAIN_ATTRS or name.startswith(("data-", "aria-"))):
            name = f"data-{name}"
        found[name] = text_of(value)
    return found


def marked(tag: str, word: str, *children: "OutlineNode | str") -> OutlineNode:
    """Return an element with a class."""
    return OutlineNode(tag, {"class": word}, list(children))


def table_of(rows: Sequence[Sequence[object]], *, header: bool) -> OutlineNode:
    """Return a table of rows of cells; with `header`, the first row names the columns."""
    node = marked("table", "lt-table")
    if header and rows:
        node.children.append(OutlineNode("thead", {}, [_row(rows[0], "th")]))
        rows = rows[1:]
    node.children.append(OutlineNode("tbody", {}, [_row(row, "td") for row in rows]))
    return node


def _row(cells: Iterable[object], tag: str) -> OutlineNode:
    return OutlineNode("tr", {}, [OutlineNode(tag, {}, [text_of(cell)]) for cell in cells])


def from_html(source: str) -> OutlineNode:
    """Parse a formatter's HTML into nodes: known tags without attributes, and text; nothing else."""
    from rolloupe.formats.reading.logtree import parse_page

    return OutlineNode("div", {}, _rebuilt(parse_page(source), 0))


def _rebuilt(element: dict[str, Any], depth: int) -> "list[OutlineNode | str]":
    found: list[OutlineNode | str] = []
    for child in element["children"]:
        if isinstance(child, str):
            found.append(child)
        elif child["tag"] in _KEPT and depth < _HTML_DEPTH:
            found.append(OutlineNode(child["tag"], {}, _rebuilt(child, depth + 1)))
        else:
            found += _rebuilt(child, depth + 1)
    return found


_POLICY = "default-src 'none'; style-src 'unsafe-inline'"
_STYLE = """
:root { color-scheme: light dark; --fg: #1f2328; --bg: #fff; --soft: #f3f4f6; --line: #d5d9df; --dim: #59636e;
  --user: #1769aa; --assistant: #6f42a5; --system: #9a6700; --tool: #2a7a3b; --bad: #b42318; }
@media (prefers-color-scheme: dark) { :root { --fg: #e2e5e9; --bg: #14171b; --soft: #1e2329; --line: #39414a;
  --dim: #9aa4af; --user: #6cb4f0; --assistant: #c39af5; --system: #e0b341; --tool: #6fce84; --bad: #ff8a80; } }
body { max-width: 62rem; margin: 0 auto; padding: 1.5rem; color: var(--fg); background: var(--bg);
  font: 15px/1.5 system-ui, sans-serif; }
h1, h2, h3, h4, h5, h6 { margin: 1rem 0 .4rem; line-height: 1.25; font-size: 1rem; }
h1 { font-size: 1.5rem; } h2 { font-size: 1.25rem; } h3 { font-size: 1.1rem; }
.lt-subtitle, .lt-table-caption, .lt-message-role, .lt-tool-call-label { color: var(--dim); font-size: .87rem; }
p, pre, .lt-text-part, .lt-details-body, td { white-space: pre-wrap; overflow-wrap: anywhere; }
.lt-section-body { padding-left: .8rem; border-left: 2px solid var(--line); }
.lt-section-body > *, .lt-conversation > * { margin-block: .4rem; }
pre, code { font: .87rem/1.45 ui-monospace, monospace; }
pre, details, .lt-message, .lt-tool-call-part { margin: .4rem 0; padding: .4rem .7rem; border-radius: 4px; }
pre, .lt-message { background: var(--soft); }
details, .lt-tool-call-part { border: 1px solid var(--line); background: var(--bg); }
summary { cursor: pointer; color: var(--dim); }
table { border-collapse: collapse; margin: .3rem 0 .8rem; }
th, td { border: 1px solid var(--line); padding: .15rem .5rem; text-align: left; vertical-align: top; }
th { background: var(--soft); }
.lt-message { border-left: 3px solid var(--dim); }
.lt-message-user { border-left-color: var(--user); } .lt-message-assistant { border-left-color: var(--assistant); }
.lt-message-system { border-left-color: var(--system); } .lt-message-tool { border-left-color: var(--tool); }
.lt-tool-call-name { font-weight: 600; }
.lt-exc, .lt-error { border-color: var(--bad); color: var(--bad); }
""".strip()

_ROLES = ("user", "assistant", "system", "tool", "developer")
_INLINE = ("span", "strong", "em", "b", "i", "u", "s", "code", "sub", "sup", "small")


def page(title: str, root: OutlineNode) -> bytes:
    """Return a whole page in UTF-8."""
    head = (
        f'<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n<title>{_escaped(title)}</title>\n'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<style>\n{_STYLE}\n</style>\n</head>\n"
    )
    return (head + "".join(_element(root)) + "</html>\n").encode("utf-8", "replace")


def _escaped(text: str) -> str:
    return html.escape(clean(text)).replace("\0", "\ufffd")


def _element(node: OutlineNode) -> Iterator[str]:
    attrs = "".join(f' {key}="{_escaped(value)}"' for key, value in node.attrs.items())
    yield f"<{node.tag}{attrs}>"
    if node.data is not None:
        yield from _data(node.data)
    else:
        for child in list(node.children):
            if isinstance(child, str):
                yield _escaped(child)
            else:
                yield from _element(child)
    yield f"</{node.tag}>" + ("" if node.tag in _INLINE else "\n")


# The HTML of nodes with data


def _data(data: dict[str, Any]) -> Iterator[str]:
    messages = data.get("messages")
    if data.get("type") == "conversation" and isinstance(messages, list):
        yield from conversation(messages)
    else:
        yield f"<pre>{_escaped(json.dumps(data, ensure_ascii=False, indent=1))}</pre>"


def conversation(messages: list[dict[str, Any]]) -> Iterator[str]:
    """Yield the HTML of messages as `messages_of` returns them."""
    yield '<div class="lt-conversation">\n'
    for message in messages:
        yield from _message(message)
    yield "</div>"


def _message(message: dict[str, Any]) -> Iterator[str]:
    role = str(message.get("role"))
    shown = role if role in _ROLES else "other"
    name = message.get("name")
    yield f'<div class="lt-message lt-message-{shown}"><span class="lt-message-role">{_escaped(role)}'
    yield f" {_escaped(str(name))}:</span>" if name else ":</span>"
    yield '<div class="lt-message-content">'
    yield from _content(message.get("content"))
    yield from (_call(call) for call in _objects(message.get("tool_calls")))
    yield from (_unparsed(call) for call in _objects(message.get("unparsed_tool_calls")))
    yield "</div></div>\n"


def _objects(value: object) -> Iterable[dict[str, Any]]:
    return (one for one in value if isinstance(one, dict)) if isinstance(value, list) else ()


def _content(content: Any) -> Iterator[str]:
    for part in content if isinstance(content, list) else [content]:
        if part is None:
            continue
        if not isinstance(part, dict):
            yield _text(str(part))
        elif isinstance(part.get("text"), str):
            yield _text(part["text"])
        elif isinstance(part.get("thinking"), str):
            shown = _escaped(part["thinking"])
            yield f'<details class="lt-thinking-part"><summary>Thinking</summary><pre>{shown}</pre></details>'
        elif "image" in str(part.get("type")):
            yield '<br><span class="lt-image-part">[Image]</span>'
        else:
            yield f"<pre>{_escaped(json.dumps(part, ensure_ascii=False))}</pre>"


def _text(text: str) -> str:
    return f'<span class="lt-text-part">{_escaped(text)}</span>'


def _call(call: dict[str, Any]) -> str:
    inner = call.get("function")
    function = inner if isinstance(inner, dict) else call
    arguments = function.get("arguments", "")
    shown = arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)
    name = f'<span class="lt-tool-call-name">{_escaped(str(function.get("name", "")))}</span>'
    label = '<span class="lt-tool-call-label">calls</span>'
    return f'<div class="lt-tool-call-part">{label} {name} <code>{_escaped(shown)}</code></div>'


def _unparsed(call: dict[str, Any]) -> str:
    raw, error = (_escaped(str(call.get(key, ""))) for key in ("raw_text", "error"))
    label = '<span class="lt-tool-call-label">call that could not be parsed</span>'
    return (
        f'<div class="lt-unparsed-tool-call-part">{label} <code>{raw}</code><div class="lt-error">{error}</div></div>'
    )
