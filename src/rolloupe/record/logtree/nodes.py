"""The nodes of a logtree: elements that contain plain text. A writer escapes each text on output."""

import html
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from msgspec import Struct

from rolloupe.record.values.plain import text_of

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
    from rolloupe.formats.reading.html import parse_page

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
