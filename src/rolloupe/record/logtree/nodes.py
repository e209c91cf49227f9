"""The nodes of a logtree: elements with plain text in them. Nothing in a node is markup until a writer escapes it."""

import html
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from msgspec import Struct

from rolloupe.record.values.plain import text_of

PLACES = ("group", "trajectory", "turn", "aside")
"""Attributes that tell where a node belongs, so that a reader can tie it to a rollout: written `data-group`, ..."""

_PLAIN_ATTRS = ("class", "id", "title", "lang", "dir", "open")
_NOT_IN_NAMES = re.compile(r"[^a-z0-9_.-]+")
_KEPT = set(
    "p div span strong em b i u s code pre blockquote ul ol li dl dt dd h1 h2 h3 h4 h5 h6 details summary".split()
)
_KEPT |= set("table thead tbody tfoot tr th td sub sup small".split())
"""Tags of a formatter's own HTML that are kept, without their attributes; of others only what they hold."""

_HTML_DEPTH = 20


class OutlineNode(Struct):
    """An element: children are elements and plain texts. `data` says the same as the children, for programs."""

    tag: str
    attrs: dict[str, str] = {}
    children: "list[OutlineNode | str]" = []
    data: dict[str, Any] | None = None

    def as_json(self) -> dict[str, Any]:
        """Return the node as `_logtree.json` has it: texts escaped; where there is data, no children."""
        found: dict[str, Any] = {"tag": self.tag, "attrs": dict(self.attrs)}
        children = [] if self.data is not None else list(self.children)
        found["children"] = [html.escape(one) if isinstance(one, str) else one.as_json() for one in children]
        return found if self.data is None else found | {"data": self.data}


def attributes(given: Mapping[str, object]) -> dict[str, str]:
    """Return attributes of an element as they may stand in a page.

    `class_` is `class`, `data__x` is `data-x`, and so is every other name that could do more than mark its element.
    What is None is left out.
    """
    found = {}
    for key, value in given.items():
        if value is None:
            continue
        name = "class" if key == "class_" else _NOT_IN_NAMES.sub("-", key.replace("__", "-", 1).lower())
        if name in PLACES or not (name in _PLAIN_ATTRS or name.startswith(("data-", "aria-"))):
            name = f"data-{name}"
        found[name] = text_of(value)
    return found


def marked(tag: str, word: str, *children: "OutlineNode | str") -> OutlineNode:
    """Return an element of a class."""
    return OutlineNode(tag, {"class": word}, list(children))


def table_of(rows: Sequence[Sequence[object]], *, header: bool) -> OutlineNode:
    """Return a table of rows of cells; with `header` the first row names the columns."""
    made = marked("table", "lt-table")
    if header and rows:
        made.children.append(OutlineNode("thead", {}, [_row(rows[0], "th")]))
        rows = rows[1:]
    made.children.append(OutlineNode("tbody", {}, [_row(row, "td") for row in rows]))
    return made


def _row(cells: Iterable[object], tag: str) -> OutlineNode:
    return OutlineNode("tr", {}, [OutlineNode(tag, {}, [text_of(cell)]) for cell in cells])


def from_html(source: str) -> OutlineNode:
    """Read HTML that a formatter made into nodes: known tags without attributes, and text; no more comes through."""
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
