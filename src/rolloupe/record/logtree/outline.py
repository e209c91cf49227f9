"""The outline of a logtree: nodes of plain text, and the page of HTML, where each text is escaped."""

import html
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from msgspec import Struct

from rolloupe.record.plain import text_of
from rolloupe.text import clean

PLACES = ("group", "trajectory", "turn", "aside")
"""Attributes that name the rollout a node belongs to, written as `data-group`, ..."""

_PLAIN_ATTRS = ("class", "id", "title", "lang", "dir", "open")
_NOT_IN_NAMES = re.compile(r"[^a-z0-9_.-]+")
_KEPT = frozenset(
    "p div span strong em b i u s code pre blockquote ul ol li dl dt dd h1 h2 h3 h4 h5 h6 details summary table thead "
    "tbody tfoot tr th td sub sup small".split()
)
"""The tags of a formatter's HTML that are kept, without attributes; of other tags only the content is kept."""

_HTML_DEPTH = 20


class OutlineNode(Struct):
    """An element with elements and plain texts as children. `data` holds the same content for programs."""

    tag: str
    attrs: dict[str, str] = {}
    children: "list[OutlineNode | str]" = []
    data: dict[str, Any] | None = None

    def as_json(self) -> dict[str, Any]:
        """Return the node in the form of `_logtree.json`: texts escaped, and no children if it has data."""
        children = [] if self.data is not None else list(self.children)
        shown = [html.escape(child) if isinstance(child, str) else child.as_json() for child in children]
        node: dict[str, Any] = {"tag": self.tag, "attrs": dict(self.attrs), "children": shown}
        return node if self.data is None else node | {"data": self.data}


def attributes(values: Mapping[str, object]) -> dict[str, str]:
    """Return the attributes of an element that are safe in a page, without those that are None.

    `class_` becomes `class`, and `data__x` becomes `data-x`, as does any other name that could do more than mark its
    element.
    """
    attrs = {}
    for key, value in values.items():
        if value is None:
            continue
        name = "class" if key == "class_" else _NOT_IN_NAMES.sub("-", key.replace("__", "-", 1).lower())
        if name in PLACES or not (name in _PLAIN_ATTRS or name.startswith(("data-", "aria-"))):
            name = f"data-{name}"
        attrs[name] = text_of(value)
    return attrs


def marked(tag: str, word: str, *children: "OutlineNode | str") -> OutlineNode:
    """Return an element with a class."""
    return OutlineNode(tag, {"class": word}, list(children))


def table_of(rows: Sequence[Sequence[object]], *, header: bool) -> OutlineNode:
    """Return a table of rows of cells; with `header`, the first row names the columns."""
    head = [OutlineNode("thead", {}, [_row(rows[0], "th")])] if header else []
    body = OutlineNode("tbody", {}, [_row(row, "td") for row in rows[len(head) :]])
    return marked("table", "lt-table", *head, body)


def _row(values: Sequence[object], tag: str) -> OutlineNode:
    return OutlineNode("tr", {}, [OutlineNode(tag, {}, [text_of(value)]) for value in values])


def from_html(source: str) -> OutlineNode:
    """Parse a formatter's HTML into nodes: known tags without attributes, and text; nothing else."""
    from rolloupe.formats.reading.logtree import parse_page

    def rebuild(element: dict[str, Any], depth: int) -> "Iterator[OutlineNode | str]":
        for child in element["children"]:
            if isinstance(child, str):
                yield child
            elif child["tag"] in _KEPT and depth < _HTML_DEPTH:
                yield OutlineNode(child["tag"], {}, list(rebuild(child, depth + 1)))
            else:
                yield from rebuild(child, depth + 1)

    return OutlineNode("div", {}, list(rebuild(parse_page(source), 0)))


_POLICY = "default-src 'none'; style-src 'unsafe-inline'"
_STYLE = Path(__file__).with_name("page.css")

_ROLES = ("user", "assistant", "system", "tool", "developer")
_INLINE = ("span", "strong", "em", "b", "i", "u", "s", "code", "sub", "sup", "small")


def page(title: str, root: OutlineNode) -> bytes:
    """Return a whole page in UTF-8."""
    head = (
        f'<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n<title>{_escaped(title)}</title>\n'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<style>\n{_STYLE.read_text('utf-8')}</style>\n</head>\n"
    )
    return (head + "".join(_element(root)) + "</html>\n").encode("utf-8", "replace")


def _escaped(text: str) -> str:
    return html.escape(clean(text)).replace("\0", "\ufffd")


def _element(node: OutlineNode) -> Iterator[str]:
    attrs = "".join(f' {key}="{_escaped(value)}"' for key, value in node.attrs.items())
    yield f"<{node.tag}{attrs}>"
    if node.data is None:
        for child in list(node.children):
            yield from [_escaped(child)] if isinstance(child, str) else _element(child)
    elif node.data.get("type") == "conversation" and isinstance(node.data.get("messages"), list):
        yield from conversation(node.data["messages"])
    else:
        yield f"<pre>{_escaped(json.dumps(node.data, ensure_ascii=False, indent=1))}</pre>"
    yield f"</{node.tag}>" + ("" if node.tag in _INLINE else "\n")


def conversation(messages: list[dict[str, Any]]) -> Iterator[str]:
    """Yield the HTML of messages as `messages_of` returns them."""
    yield '<div class="lt-conversation">\n'
    for message in messages:
        role = str(message.get("role"))
        shown = role if role in _ROLES else "other"
        name = message.get("name")
        yield f'<div class="lt-message lt-message-{shown}"><span class="lt-message-role">{_escaped(role)}'
        yield f" {_escaped(str(name))}:</span>" if name else ":</span>"
        yield '<div class="lt-message-content">'
        yield from _content(message.get("content"))
        yield from map(_call, _objects(message.get("tool_calls")))
        for call in _objects(message.get("unparsed_tool_calls")):
            raw, error = (_escaped(str(call.get(key, ""))) for key in ("raw_text", "error"))
            label = '<span class="lt-tool-call-label">call that could not be parsed</span>'
            yield f'<div class="lt-unparsed-tool-call-part">{label} <code>{raw}</code>'
            yield f'<div class="lt-error">{error}</div></div>'
        yield "</div></div>\n"
    yield "</div>"


def _objects(value: object) -> Iterable[dict[str, Any]]:
    return (item for item in value if isinstance(item, dict)) if isinstance(value, list) else ()


def _content(content: Any) -> Iterator[str]:
    for part in content if isinstance(content, list) else [content]:
        if part is None:
            continue
        text = part.get("text") if isinstance(part, dict) else str(part)
        if isinstance(text, str):
            yield f'<span class="lt-text-part">{_escaped(text)}</span>'
        elif isinstance(part.get("thinking"), str):
            shown = _escaped(part["thinking"])
            yield f'<details class="lt-thinking-part"><summary>Thinking</summary><pre>{shown}</pre></details>'
        elif "image" in str(part.get("type")):
            yield '<br><span class="lt-image-part">[Image]</span>'
        else:
            yield f"<pre>{_escaped(json.dumps(part, ensure_ascii=False))}</pre>"


def _call(call: dict[str, Any]) -> str:
    inner = call.get("function")
    function = inner if isinstance(inner, dict) else call
    arguments = function.get("arguments", "")
    shown = arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)
    name = f'<span class="lt-tool-call-name">{_escaped(str(function.get("name", "")))}</span>'
    label = '<span class="lt-tool-call-label">calls</span>'
    return f'<div class="lt-tool-call-part">{label} {name} <code>{_escaped(shown)}</code></div>'
