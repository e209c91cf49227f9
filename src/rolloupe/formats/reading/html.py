"""A page of HTML read into elements, `{"tag", "attrs", "children"}`, with unescaped texts: plain data, never markup.

Depth and time are bounded for any page: `html.parser` takes quadratic time on some malformed ones.
"""

import time
from collections.abc import Callable, Iterator
from html.parser import HTMLParser
from typing import Any

Element = dict[str, Any]

MAX_OPEN = 400
"""Maximum number of open elements; deeper ones become part of the innermost of them."""

MAX_ELEMENTS = 300_000

MAX_PENDING_CHARS = 2**20
"""Maximum length of an unfinished tag or comment."""

MAX_S = 10.0
BLOCK_CHARS = 2**16

_VOID = set("area base br col embed hr img input link meta param source track wbr".split())
_DROPPED = {"head", "script", "style", "template", "title"}
_END = object()


def children(element: Element | None) -> list[Any]:
    """Return the content of an element: elements and texts."""
    found = element.get("children") if element else None
    return found if isinstance(found, list) else []


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
    """Return all text in an element, at any depth; `read` converts one piece of it to text."""
    found = []
    waiting: list[Iterator[Any]] = [iter(children(element))]
    parents = [element]
    while waiting:
        child = next(waiting[-1], _END)
        if child is _END:
            waiting.pop()
            parents.pop()
        elif isinstance(child, str):
            found.append(read(parents[-1], child))
        elif isinstance(child, dict):
            waiting.append(iter(children(child)))
            parents.append(child)
    return "".join(found)


def first_below(element: Element, word: str) -> Element | None:
    """Return the first child of a class."""
    return next((c for c in children(element) if isinstance(c, dict) and word in words(c)), None)


def parse_page(page: str, check: Callable[[], None] = lambda: None) -> Element:
    """Read a page; return its body, or all of it without one. Parts that take too long are left out.

    The parser calls `check` repeatedly; `check` raises to end it.
    """
    builder = _Builder()
    try:
        is_whole = _fed(builder, page, check)
    except AssertionError:  # some versions of `html.parser`, on a malformed declaration
        is_whole = False
    if not is_whole:
        builder.note("(The rest of the page could not be read.)")
    return builder.body or builder.top


def _fed(builder: "_Builder", page: str, check: Callable[[], None]) -> bool:
    """Feed a page; return False if it is too much, or takes too long."""
    stop_s = time.monotonic() + MAX_S
    for at in range(0, len(page), BLOCK_CHARS):
        check()
        builder.feed(page[at : at + BLOCK_CHARS])
        too_much = len(builder.rawdata) > MAX_PENDING_CHARS or builder.count > MAX_ELEMENTS
        if too_much or time.monotonic() > stop_s:
            return False
    if len(builder.rawdata) <= BLOCK_CHARS:
        builder.close()
    return True


class _Builder(HTMLParser):
    """Collects elements without interpreting them."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.top: Element = {"tag": "body", "attrs": {}, "children": []}
        self.body: Element | None = None
        self._open: list[Element] = [self.top]
        self._deeper = 0
        self.count = 0

    def note(self, content: str) -> None:
        """Add a text at the end."""
        (self.body or self.top)["children"].append(content)

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
