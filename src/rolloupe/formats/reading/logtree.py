"""Reads logtrees of the Tinker cookbook, in JSON or HTML, into an outline of plain text.

Nothing in them is trusted: markup is dropped, and depth and size are bounded. Source: the cookbook's
`utils/logtree.py` and `utils/logtree_formatters.py`, up to release 0.6.1.
"""

import html
import json
import re
import time
from collections.abc import Callable, Iterator, Sequence
from html.parser import HTMLParser
from typing import Any, NamedTuple

from rolloupe import text
from rolloupe.formats.reading import value_parsers as parsers
from rolloupe.formats.reading.line_reader import MAX_LINE_BYTES, parse, strip_bom
from rolloupe.formats.reading.records import Unusable
from rolloupe.formats.reading.stream import open_binary
from rolloupe.model import Location, LogKind, LogNode, Part, ToolCall, Turn

MAX_BYTES = MAX_LINE_BYTES
MAX_PAGE_BYTES = 16 * 2**20
MAX_NODES = 200_000
"""The most nodes of an outline, including table cells and messages of conversations."""
MAX_DEPTH = 60
"""Deeper elements are shown as their text."""
MAX_ATTRS = 20
MAX_ATTR_CHARS = 200
MAX_PATH_CHARS = 4096
MAX_TAG_CHARS = 40
_HEADINGS = ("h1", "h2", "h3", "h4", "h5", "h6")
_BLOCKS = {*_HEADINGS, "section", "div", "details", "table", "p", "pre"}
_ESCAPED = {*_HEADINGS, "p", "pre", "summary", "th", "td"}
"""Tags with escaped text, never markup."""
ESCAPED = "lt-escaped"
"""The class of an exception whose summary is escaped, as all other texts are."""
_TAG = re.compile(r"<[a-zA-Z/!?][^<>]*>")
_BREAK = re.compile(r"<br\s*/?>", re.IGNORECASE)
MESSAGES = 256
"""Messages between two calls of `check`."""
_ESCAPED_LETTER = re.compile(rb"\\u00[2-7]")
_MARKUP = b"lt-conversation"
"""The class of a conversation stored as markup: a tag may cut a word in it."""
Element = dict[str, Any]
Check = Callable[[], None]
"""Called repeatedly while a file is read; it raises to end the reading."""


def unchecked() -> None:
    """Never end the reading."""


class TooLong(Unusable):
    """Raised for a file that exceeds the limit of bytes."""


class Logged(NamedTuple):
    """A node of an outline, with its sections from the outermost inwards.

    `at` are the numbers of the children on the way from the root.
    """

    path: tuple[LogNode, ...]
    node: LogNode
    at: tuple[int, ...] = ()


def read_tree(location: Location) -> LogNode:
    """Read a `_logtree.json`. Raises `Unusable` for any other document, and OSError."""
    return tree_in(content(location), unchecked)


def tree_in(data: bytes, check: Check) -> LogNode:
    """Read the bytes of a `_logtree.json`. Raises `Unusable`, and whatever `check` raises."""
    document = parse(strip_bom(data, 0))
    check()
    root = document.get("root")
    if not isinstance(root, dict):
        raise Unusable("not a logtree: it has no root")
    node = _Outline(check, escaped=True).root(root)
    node.title = _string(document.get("title")) or node.title
    if isinstance(started := document.get("started_at"), str):
        node.attrs["started_at"] = _string(started)[:MAX_ATTR_CHARS]
    if isinstance(path := document.get("path"), str):
        node.attrs["path"] = _string(path)[:MAX_PATH_CHARS]
    return node


def page_in(data: bytes, check: Check) -> LogNode:
    """Read the bytes of a page. Raises whatever `check` raises."""
    return _Outline(check, escaped=False).root(parse_page(data.decode("utf-8", "replace"), check))


def lacks(tree: bytes, word: bytes) -> bool:
    """Return whether the conversations of a `_logtree.json` certainly lack a word.

    The word is lower case, of ASCII letters and blanks. Looks at the bytes alone; returns False if that is
    inconclusive, or if the document is cut off.
    """
    is_plain = tree.rstrip().endswith(b"}") and _MARKUP not in tree and not _ESCAPED_LETTER.search(tree)
    return is_plain and word not in tree.lower()


def _nodes_of(root: LogNode) -> Iterator[Logged]:
    """Yield every node of an outline, in document order."""
    waiting: list[Logged] = [Logged((), root)]
    while waiting:
        path, node, at = waiting.pop()
        yield Logged(path, node, at)
        waiting += reversed([Logged((*path, node), child, (*at, n)) for n, child in enumerate(node.children)])


def conversations(root: LogNode) -> Iterator[Logged]:
    """Yield every conversation below a node, in document order."""
    return (logged for logged in _nodes_of(root) if logged.node.kind == "conversation")


def texts(root: LogNode) -> Iterator[tuple[Logged, str]]:
    """Yield every text below a node outside conversations, in document order, including the cells of tables."""
    for logged in _nodes_of(root):
        node = logged.node
        if node.kind != "conversation" and all(parent.kind != "conversation" for parent in logged.path):
            cells = map(" | ".join, [node.header, *node.rows])
            if text := "\n".join([node.text, *cells]).strip():
                yield logged, text


def table_of(node: LogNode) -> dict[str, str]:
    """Return the rows of a table of keys and values."""
    return {row[0]: row[1] for row in node.rows if len(row) == 2}


def content(location: Location, limit: int = MAX_BYTES) -> bytes:
    """Return the bytes of a file. Raises `TooLong` for a file with more, and OSError."""
    with open_binary(location) as file:
        data = file.read(limit + 1)
    if len(data) > limit:
        raise TooLong(f"longer than {limit // 2**20} MiB: not parsed")
    return data


def _string(value: object) -> str:
    return text.clean(value) if isinstance(value, str) else ""


class _Outline:
    """Builds an outline. `escaped` is True if texts are HTML, as in the JSON; those of a parsed page are plain."""

    def __init__(self, check: Check, *, escaped: bool) -> None:
        self._check = check
        self._escaped = escaped
        self._left = MAX_NODES

    def root(self, body: Element) -> LogNode:
        node = LogNode(kind="root", attrs=_attrs(body), tag=_tag(body))
        contents: list[Any] = []
        for child in children(body):
            if _is(child, "h1", "lt-title") and not node.title:
                node.title = self._all(child)
            elif _is(child, "div", "lt-subtitle") and "subtitle" not in node.attrs:
                node.attrs["subtitle"] = self._all(child)[:MAX_ATTR_CHARS]
            else:
                contents.append(child)
        node.children = self._nodes(contents, body, 1)
        if self._left <= 0:
            node.children.append(LogNode(kind="text", text=f"The rest is left out: more than {MAX_NODES:,} parts."))
        return node

    def _nodes(self, elements: Sequence[Any], parent: Element, depth: int) -> list[LogNode]:
        """Build the nodes of some siblings; a caption belongs to the table after it."""
        siblings: list[LogNode] = []
        caption: LogNode | None = None
        for element in elements:
            if self._left <= 0:
                break
            if _is(element, "div", "lt-table-caption"):
                self._left -= 1
                caption = LogNode(kind="table", title=self._all(element))
                siblings.append(caption)
                continue
            nodes = self._node(element, parent, depth)
            if caption is not None and nodes and nodes[0].kind == "table" and not nodes[0].title:
                nodes[0].title = caption.title
                siblings[-1:] = nodes
            else:
                siblings += nodes
            caption = caption if not nodes else None
        return siblings

    def _node(self, element: Any, parent: Element, depth: int) -> list[LogNode]:
        self._check()
        self._left -= 1
        if isinstance(element, str):
            shown = self._text(parent, element)
            return [LogNode(kind="text", text=shown)] if shown.strip() else []
        if not isinstance(element, dict):
            return []
        tag = tag_of(element)
        if element.get("data") is not None:
            return [self._data(element)]
        if depth >= MAX_DEPTH:
            return self._leaf(element)
        if tag == "section":
            section = LogNode(kind="section", attrs=_attrs(element), tag="section")
            return [self._filled(section, element, depth, _HEADINGS, "lt-section-body")]
        if tag == "details":
            kind: LogKind = "exception" if "lt-exc" in words(element) else "details"
            details = LogNode(kind=kind, attrs=_attrs(element), tag="details")
            return [self._filled(details, element, depth, ("summary",), "lt-details-body")]
        if tag == "table":
            return [self._table(element)]
        if tag in _HEADINGS:
            return [LogNode(kind="text", title=self._all(element), attrs=_attrs(element), tag=tag)]
        if "lt-conversation" in words(element):
            turns = [_shown_turn(child) for child in children(element) if _is(child, "div", "lt-message")]
            return [LogNode(kind="conversation", turns=turns, attrs=_attrs(element), tag=_tag(element))]
        if not any(tag_of(child) in _BLOCKS for child in children(element)):
            return self._leaf(element)
        attrs = _attrs(element)
        nodes = self._nodes(children(element), element, depth + 1)
        return [LogNode(kind="section", attrs=attrs, children=nodes, tag=_tag(element))] if attrs else nodes

    def _leaf(self, element: Element) -> list[LogNode]:
        shown = self._all(element)
        kind: LogKind = "code" if tag_of(element) == "pre" else "text"
        return [LogNode(kind=kind, text=shown, attrs=_attrs(element), tag=_tag(element))] if shown.strip() else []

    def _filled(self, node: LogNode, element: Element, depth: int, titles: tuple[str, ...], body: str) -> LogNode:
        """Give a node its title and its content; `body` is the class of the element around the content."""
        contents: list[Any] = []
        for child in children(element):
            if not node.title and tag_of(child) in titles:
                # the cookbook does not escape the summary of an exception
                raw = node.kind == "exception" and ESCAPED not in words(element)
                node.title = text.clean(plain(child)) if raw else self._all(child)
            elif _is(child, "div", body):
                contents += children(child)
            else:
                contents.append(child)
        node.children = self._nodes(contents, element, depth + 1)
        return node

    def _table(self, element: Element) -> LogNode:
        node = LogNode(kind="table", attrs=_attrs(element), tag="table")
        rows: list[Element] = []
        for child in children(element):
            is_group = tag_of(child) in ("thead", "tbody", "tfoot")
            rows += [row for row in (children(child) if is_group else [child]) if tag_of(row) == "tr"]
        for row in rows:
            cells = [child for child in children(row) if tag_of(child) in ("th", "td")]
            self._left -= len(cells) + 1
            if self._left <= 0:
                break
            shown = [self._all(cell) for cell in cells]
            if cells and not node.header and not node.rows and all(tag_of(cell) == "th" for cell in cells):
                node.header = shown
            else:
                node.rows.append(shown)
        return node

    def _data(self, element: Element) -> LogNode:
        """Return the node of a formatter's data, which is not escaped. Messages count as nodes."""
        data = element["data"]
        if isinstance(data, dict) and data.get("type") == "conversation" and isinstance(data.get("messages"), list):
            some = data["messages"][: max(0, self._left)]
            self._left -= len(some)
            turns: list[Turn] = []
            for first in range(0, len(some), MESSAGES):
                self._check()
                turns += turns_of(some[first : first + MESSAGES])
            return LogNode(kind="conversation", attrs=_attrs(element), turns=turns, tag=_tag(element))
        shown = json.dumps(parsers.showable(data), ensure_ascii=False, indent=1)
        return LogNode(kind="text", attrs=_attrs(element), text=text.clean(shown), tag=_tag(element))

    def _all(self, element: Element) -> str:
        """Return all text in an element."""
        return plain(element, self._text)

    def _text(self, parent: Element, content: str) -> str:
        if not self._escaped:
            return text.clean(content)
        if "<" in content and tag_of(parent) not in _ESCAPED:
            content = _TAG.sub("", _BREAK.sub("\n", content))
        return text.clean(html.unescape(content) if "&" in content else content)


def _is(element: Any, tag: str, word: str) -> bool:
    return tag_of(element) == tag and word in words(element)


def _tag(element: Element) -> str:
    return _string(tag_of(element))[:MAX_TAG_CHARS]


def _attrs(element: Element) -> dict[str, str]:
    """Return the attributes that carry meaning, not looks."""
    all_attrs = element.get("attrs")
    attrs = {}
    for key, value in all_attrs.items() if isinstance(all_attrs, dict) else ():
        if key in ("style", "open") or not isinstance(value, str) or (key == "class" and value.startswith("lt-")):
            continue
        attrs[_string(key)[:MAX_ATTR_CHARS]] = _string(value)[:MAX_ATTR_CHARS]
        if len(attrs) == MAX_ATTRS:
            break
    return attrs


def turns_of(messages: list[Any]) -> list[Turn]:
    """Read messages in the cookbook's form; calls that it could not parse become calls with an error."""
    turns: list[Turn] = []
    for message in messages:
        turns += text.from_messages([message])
        unparsed = message.get("unparsed_tool_calls") if isinstance(message, dict) else None
        for call in unparsed if isinstance(unparsed, list) else ():
            raw = parsers.as_text(call.get("raw_text") if isinstance(call, dict) else call)
            error = _string(call.get("error")) if isinstance(call, dict) else ""
            tool_call = ToolCall(name="", arguments=text.clean(raw), error=error or "could not be parsed")
            turns[-1].parts.append(Part(kind="tool_call", text=text.clean(raw), call=tool_call))
    return turns


def _shown_turn(message: Element) -> Turn:
    """Read a message back from a page; the cookbook's pages do not show tool calls."""
    role = next((w.removeprefix("lt-message-") for w in words(message) if w.startswith("lt-message-")), "unknown")
    role = text.clean(role)
    content = first_below(message, "lt-message-content")
    parts: list[Part] = []
    for child in children(content):
        if isinstance(child, str):
            parts += text.parts(text.clean(child), role) if child.strip() else []
        elif isinstance(child, dict):
            parts += _shown_parts(child, role)
    return Turn(role=role, parts=parts)


def _shown_parts(element: Element, role: str) -> list[Part]:
    shown = text.clean(plain(element))
    kinds = words(element)
    if "lt-thinking-part" in kinds:
        body = next((child for child in children(element) if tag_of(child) == "pre"), element)
        return [Part(kind="think", text=text.clean(plain(body)))]
    if "lt-tool-call-part" in kinds:  # a page that Rolloupe wrote has elements for name and arguments
        name = first_below(element, "lt-tool-call-name")
        arguments = next((child for child in children(element) if tag_of(child) == "code"), None)
        if name is None or arguments is None:
            return [Part(kind="text", text=shown)]
        call = ToolCall(name=text.clean(plain(name)), arguments=text.clean(plain(arguments)))
        return [Part(kind="tool_call", text=text.call_text(call), call=call)]
    return [Part(kind="image", text="image")] if "lt-image-part" in kinds else text.parts(shown, role)


# Pages of HTML as elements, `{"tag", "attrs", "children"}`, with unescaped texts. Depth and time are bounded:
# `html.parser` takes quadratic time on some malformed pages.

MAX_OPEN = 400
"""The most open elements; deeper ones become part of the innermost."""
MAX_ELEMENTS = 300_000
MAX_PENDING_CHARS = 2**20
"""The longest unfinished tag or comment."""
MAX_S = 10.0
BLOCK_CHARS = 2**16
_VOID = set("area base br col embed hr img input link meta param source track wbr".split())
_DROPPED = {"head", "script", "style", "template", "title"}
_END = object()


def children(element: Element | None) -> list[Any]:
    """Return the content of an element: elements and texts."""
    content = element.get("children") if element else None
    return content if isinstance(content, list) else []


def tag_of(element: Any) -> str:
    """Return the tag of an element, an empty text for anything else."""
    tag = element.get("tag") if isinstance(element, dict) else None
    return tag if isinstance(tag, str) else ""


def words(element: Element) -> list[str]:
    """Return the classes of an element."""
    attrs = element.get("attrs")
    value = attrs.get("class") if isinstance(attrs, dict) else None
    return value.split() if isinstance(value, str) else []


def plain(element: Element, read: Callable[[Element, str], str] = lambda _, content: content) -> str:
    """Return all text in an element, at any depth; `read` converts a piece of it to text."""
    pieces = []
    waiting: list[Iterator[Any]] = [iter(children(element))]
    parents = [element]
    while waiting:
        child = next(waiting[-1], _END)
        if child is _END:
            waiting.pop()
            parents.pop()
        elif isinstance(child, str):
            pieces.append(read(parents[-1], child))
        elif isinstance(child, dict):
            waiting.append(iter(children(child)))
            parents.append(child)
    return "".join(pieces)


def first_below(element: Element, word: str) -> Element | None:
    """Return the first child of a class."""
    return next((child for child in children(element) if isinstance(child, dict) and word in words(child)), None)


def parse_page(page: str, check: Callable[[], None] = lambda: None) -> Element:
    """Return the body of a page, or the whole page without one. A part that takes too long is left out."""
    builder = _PageBuilder()
    try:
        is_whole = builder.feed_all(page, check)
    except AssertionError:  # some versions of `html.parser`, on a malformed declaration
        is_whole = False
    body = builder.body or builder.top
    if not is_whole:
        body["children"].append("(The rest of the page could not be read.)")
    return body


class _PageBuilder(HTMLParser):
    """Collects elements as they are."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.top: Element = {"tag": "body", "attrs": {}, "children": []}
        self.body: Element | None = None
        self._open: list[Element] = [self.top]
        self._deeper = 0
        self.count = 0

    def feed_all(self, page: str, check: Check) -> bool:
        """Feed a page; return False if it is too much, or takes too long."""
        stop_s = time.monotonic() + MAX_S
        for at in range(0, len(page), BLOCK_CHARS):
            check()
            self.feed(page[at : at + BLOCK_CHARS])
            too_much = len(self.rawdata) > MAX_PENDING_CHARS or self.count > MAX_ELEMENTS
            if too_much or time.monotonic() > stop_s:
                return False
        if len(self.rawdata) <= BLOCK_CHARS:
            self.close()
        return True

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in _VOID:
            if tag == "br":
                self.handle_data("\n")
            return
        if self._deeper or len(self._open) == MAX_OPEN:
            self._deeper += 1
            return
        self.count += 1
        element: Element = {"tag": tag, "attrs": {key: value or "" for key, value in attrs}, "children": []}
        self._open[-1]["children"].append(element)
        self._open.append(element)
        if tag == "body" and self.body is None:
            self.body = element

    def handle_endtag(self, tag: str) -> None:
        if self._deeper:
            self._deeper -= 1
            return
        for at in range(len(self._open) - 1, 0, -1):
            if self._open[at]["tag"] == tag:
                del self._open[at:]
                return

    def handle_data(self, data: str) -> None:
        element = self._open[-1]
        if element["tag"] in _DROPPED:
            return
        siblings = element["children"]
        if siblings and isinstance(siblings[-1], str) and len(siblings[-1]) < BLOCK_CHARS:
            siblings[-1] += data
        else:
            siblings.append(data)
