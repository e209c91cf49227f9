"""Tinker's logtree: the outline that a trainer logs for a step, as JSON or only as HTML, read into `LogNode`s.

Source: `utils/logtree.py` of tinker-cookbook. Text in the JSON is HTML-escaped, or raw HTML, and nothing says which: so
both are read alike, tags taken off and entities resolved. What comes out is text. Trees are bounded in depth and size.
"""

import re
from collections.abc import Iterable, Iterator
from html import unescape
from html.parser import HTMLParser
from typing import Any

from rolloupe import text
from rolloupe.formats import _fields as fields
from rolloupe.model import LogKind, LogNode, Turn

MAX_NODES = 200_000
MAX_DEPTH = 64
CUT = "[the rest of this outline is too large or too deep to be shown]"

_TAG = re.compile(r"<[^<>]{0,10000}>")
_HEADINGS = {"h1", "h2", "h3", "h4", "h5", "h6"}
_PARAGRAPHS = {"p", "pre", "summary", "th", "td", "code", "span", *_HEADINGS}
_VOID = {"br", "img", "hr", "meta", "link", "input", "col", "area", "base", "source", "track", "wbr", "embed"}
_SKIPPED = {"style", "script", "head", "title", "template"}


class Element:
    """A node of either source: tag, attributes, children (texts and nodes) and data."""

    __slots__ = ("attrs", "children", "data", "tag")

    def __init__(self, tag: str, attrs: dict[str, str], data: object = None) -> None:
        self.tag = tag
        self.attrs = attrs
        self.children: list[Element | str] = []
        self.data = data

    @property
    def css(self) -> str:
        """The classes of the element."""
        return self.attrs.get("class", "")


def from_json(document: object) -> LogNode | None:
    """Read a `*_logtree.json`; None where it is none."""
    if not isinstance(document, dict) or not isinstance(document.get("root"), dict):
        return None
    left = [MAX_NODES]
    root = _element(document["root"], 0, left)
    node = _outline(root)
    node.title = fields.as_text(document.get("title")) or node.title
    if left[0] <= 0:
        node.children.append(LogNode(kind="text", text=CUT))
    return node


def from_html(page: str) -> LogNode:
    """Read a page that logtree wrote, where there is no JSON beside it."""
    parser = _Parser()
    parser.feed(page)
    parser.close()
    return _outline(parser.root)


def _element(node: dict[str, Any], depth: int, left: list[int]) -> Element:
    attrs = node.get("attrs")
    named = {str(k): fields.as_text(v) for k, v in attrs.items()} if isinstance(attrs, dict) else {}
    element = Element(fields.as_text(node.get("tag")).lower(), named, node.get("data"))
    children = node.get("children")
    for child in children if isinstance(children, list) else []:
        left[0] -= 1
        if left[0] <= 0 or depth >= MAX_DEPTH:
            left[0] = 0
            break
        if isinstance(child, dict):
            element.children.append(_element(child, depth + 1, left))
        elif isinstance(child, str):
            element.children.append(unescape(_TAG.sub("", child)))
    return element


class _Parser(HTMLParser):
    """Builds elements out of a page; of what is malformed, what can be had."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.root = Element("body", {})
        self._open = [self.root]
        self._left = MAX_NODES
        self._skipped = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Open an element."""
        if tag in _SKIPPED:
            self._skipped += 1
        if self._skipped or tag in _VOID or self._left <= 0 or len(self._open) > MAX_DEPTH:
            return
        self._left -= 1
        element = Element(tag, {name: value or "" for name, value in attrs})
        self._open[-1].children.append(element)
        self._open.append(element)

    def handle_endtag(self, tag: str) -> None:
        """Close the innermost element of that tag."""
        if tag in _SKIPPED:
            self._skipped = max(0, self._skipped - 1)
        places = [n for n, element in enumerate(self._open) if element.tag == tag]
        if not self._skipped and places and places[-1] > 0:
            del self._open[places[-1] :]

    def handle_data(self, data: str) -> None:
        """Add text."""
        if not self._skipped and data.strip() and self._left > 0:
            self._left -= 1
            self._open[-1].children.append(data)


def _outline(root: Element) -> LogNode:
    titles = [_text(child) for child in root.children if isinstance(child, Element) and child.tag == "h1"]
    node = LogNode(kind="root", title=titles[0] if titles else "", attrs=_kept(root.attrs))
    rest = [child for child in root.children if not (isinstance(child, Element) and child.tag == "h1")]
    node.children = list(_nodes(rest))
    return node


def _nodes(children: Iterable[Element | str]) -> Iterator[LogNode]:
    caption = ""
    for child in children:
        if isinstance(child, str):
            if child.strip():
                yield LogNode(kind="text", text=text.clean(child.strip()))
        elif "lt-table-caption" in child.css:
            caption = _text(child)
        elif child.tag == "table":
            yield _table(child, caption)
            caption = ""
        else:
            yield from _node(child)


def _node(element: Element) -> Iterator[LogNode]:
    if isinstance(element.data, dict) and element.data.get("type") == "conversation":
        turns = text.from_messages(element.data.get("messages"))
        yield LogNode(kind="conversation", turns=turns, attrs=_kept(element.attrs))
    elif "lt-conversation" in element.css:
        yield LogNode(kind="conversation", turns=[*_html_turns(element)], attrs=_kept(element.attrs))
    elif element.tag == "section":
        yield _section(element)
    elif element.tag == "details":
        yield _details(element)
    elif element.tag in _PARAGRAPHS or not any(isinstance(child, Element) for child in element.children):
        if said := _text(element):
            yield LogNode(kind="code" if element.tag == "pre" else "text", text=said, attrs=_kept(element.attrs))
    else:
        yield from _nodes(element.children)


def _section(element: Element) -> LogNode:
    title, rest = "", []
    for child in element.children:
        if isinstance(child, Element) and child.tag in _HEADINGS and not title:
            title = _text(child)
        else:
            rest.append(child)
    return LogNode(kind="section", title=title, children=list(_nodes(rest)), attrs=_kept(element.attrs))


def _details(element: Element) -> LogNode:
    title, rest = "", []
    for child in element.children:
        if isinstance(child, Element) and child.tag == "summary" and not title:
            title = _text(child)
        else:
            rest.append(child)
    kind: LogKind = "exception" if "lt-exc" in element.css else "details"
    return LogNode(kind=kind, title=title, children=list(_nodes(rest)), attrs=_kept(element.attrs))


def _table(element: Element, caption: str) -> LogNode:
    rows = [
        ([child.tag == "th" for child in cells], [_text(child) for child in cells])
        for row in _all(element, "tr")
        if (cells := [child for child in row.children if isinstance(child, Element) and child.tag in ("th", "td")])
    ]
    header = rows[0][1] if rows and all(rows[0][0]) else []
    body = [cells for _, cells in (rows[1:] if header else rows)]
    return LogNode(kind="table", title=caption, header=header, rows=body, attrs=_kept(element.attrs))


def _all(element: Element, tag: str) -> Iterator[Element]:
    for child in element.children:
        if isinstance(child, Element):
            if child.tag == tag:
                yield child
            else:
                yield from _all(child, tag)


def _html_turns(element: Element) -> Iterator[Turn]:
    for message in element.children:
        if isinstance(message, Element) and "lt-message" in message.css:
            role = next((c for c in message.css.split() if c.startswith("lt-message-")), "").removeprefix("lt-message-")
            bodies = [c for c in message.children if isinstance(c, Element) and "lt-message-content" in c.css]
            parts = [{"type": "text", "text": _text(child)} for body in bodies for child in (body,)]
            yield from text.from_messages([{"role": role or "text", "content": parts}])


def _text(element: Element) -> str:
    """All text in an element, one after the other."""
    pieces: list[str] = []
    waiting: list[Element | str] = [element]
    while waiting:
        one = waiting.pop()
        if isinstance(one, str):
            pieces.append(one)
        else:
            waiting += reversed(one.children)
    return text.clean("".join(pieces)).strip()


def _kept(attrs: dict[str, str]) -> dict[str, str]:
    """What a node says of itself, its looks aside."""
    return {k: v for k, v in attrs.items() if k not in ("class", "style", "id", "open") and not k.startswith("on")}
