"""Documents as `yaml.dump` of PyYAML writes them: nested blocks, scalars in all their quotes, anchors and aliases.

A reader of its own: it makes no object of a class, and bounds depth and what aliases multiply. Collections in flow
style, which PyYAML writes only if they are empty, are read as texts otherwise.
"""

import json
import math
import re
from typing import Any, NamedTuple

from rolloupe.formats.reading.records import Unusable

MAX_DEPTH = 60
BLANK = " \t"
MAX_NODES = 20_000_000
"""Values of a document, each as often as aliases repeat it."""

_WORDS: dict[str, Any] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL")),
    **dict.fromkeys(("true", "True", "TRUE", "yes", "Yes", "YES", "on", "On", "ON"), True),
    **dict.fromkeys(("false", "False", "FALSE", "no", "No", "NO", "off", "Off", "OFF"), False),
    **dict.fromkeys((".inf", ".Inf", ".INF", "+.inf", "+.Inf", "+.INF"), math.inf),
    **dict.fromkeys(("-.inf", "-.Inf", "-.INF"), -math.inf),
    **dict.fromkeys((".nan", ".NaN", ".NAN"), math.nan),
}
_INTEGER = re.compile(r"[-+]?(?:0|[1-9][0-9_]*)")
_FLOAT = re.compile(r"[-+]?(?:[0-9][0-9_]*\.[0-9_]*|\.[0-9][0-9_]*)(?:[eE][-+][0-9]+)?")
_KEY = re.compile(
    r"(?P<key>'(?:[^']|'')*'|\"(?:[^\"\\]|\\.)*\"|(?:[^ \t#'\"&*!|>%@`{}\[\],\-?:]|[\-?:](?=[^ ])).*?)"
    r":(?=[ \t]|$)(?P<rest>.*)"
)
_MARK = re.compile(r"(?:&(?P<anchor>\S+)|!\S*)(?:\s+|$)")
_ESCAPE = re.compile(
    r"\\(?:x(?P<x>[0-9a-fA-F]{2})|u(?P<u>[0-9a-fA-F]{4})|U(?P<U>[0-9a-fA-F]{8})|(?P<one>.))", re.DOTALL
)
_ESCAPES = {
    "0": "\0", "a": "\a", "b": "\b", "t": "\t", "n": "\n", "v": "\v", "f": "\f", "r": "\r", "e": "\x1b", "N": "\x85",
    "_": "\xa0", "L": "\u2028", "P": "\u2029", "\t": "\t",
}  # fmt: skip
_ENDS = {"'": re.compile(r"''|(?P<end>')"), '"': re.compile(r"\\(?:.|$)|(?P<end>\")")}
_BLOCK = re.compile(r"[|>][-+0-9]*(?:\s+#.*)?")


class _Anchored(NamedTuple):
    value: Any
    nodes: int


def yaml_document(text: str) -> Any:
    """Return the value of a document. Raises `Unusable`."""
    return _Reader(text).document()


class _Reader:
    """A pass over the lines; an entry of a list is read where its dash was, as if it stood on a line of its own."""

    def __init__(self, text: str) -> None:
        self._lines = re.split(r"\r\n|\n|\r", text)
        self._at = 0
        self._nodes = 0
        self._anchors: dict[str, _Anchored] = {}

    def document(self) -> Any:
        """The value of the first document."""
        self._skip()
        if self._indent() == 0 and self._line().startswith(("%", "---")):
            self._lines[self._at] = self._line()[3:].strip(BLANK) if self._line().startswith("---") else ""
        self._skip()
        found = self._node(-1, 0)
        self._skip()
        if self._at < len(self._lines) and not self._line().startswith(("...", "---")):
            raise self._unusable("a line that belongs to nothing before it")
        return found

    def _unusable(self, what: str) -> Unusable:
        return Unusable(f"not YAML as yaml.dump writes it: {what} (line {self._at + 1})")

    def _skip(self) -> None:
        while self._at < len(self._lines) and (
            not self._line().strip(BLANK) or self._line().lstrip(BLANK).startswith("#")
        ):
            self._at += 1

    def _line(self) -> str:
        return self._lines[self._at] if self._at < len(self._lines) else ""

    def _indent(self) -> int:
        line = self._line()
        return len(line) - len(line.lstrip(" ")) if self._at < len(self._lines) else -1

    def _node(self, parent: int, depth: int) -> Any:
        """The value that begins at this line, indented deeper than its parent; null where nothing does."""
        self._skip()
        indent = self._indent()
        if indent <= parent:
            return None
        if depth > MAX_DEPTH:
            raise self._unusable("nested too deeply")
        self._count(1)
        content = self._line()[indent:]
        if content.startswith("- ") or content.rstrip(BLANK) == "-":
            return self._list(indent, depth)
        if content.startswith("? ") or (not _MARK.match(content) and _KEY.match(content)):
            return self._mapping(indent, depth)
        return self._value(content, parent, depth)

    def _count(self, nodes: int) -> None:
        self._nodes += nodes
        if self._nodes > MAX_NODES:
            raise self._unusable(f"more than {MAX_NODES:,} values")

    def _list(self, indent: int, depth: int) -> list[Any]:
        found = []
        while self._is_entry(indent):
            rest = self._line()[indent + 1 :]
            self._lines[self._at] = " " * (indent + 1) + rest
            found.append(self._node(indent, depth + 1))
            self._skip()
        return found

    def _is_entry(self, indent: int) -> bool:
        content = self._line()[indent:]
        return self._indent() == indent and (content.startswith("- ") or content.rstrip(BLANK) == "-")

    def _mapping(self, indent: int, depth: int) -> dict[str, Any]:
        found: dict[str, Any] = {}
        while self._indent() == indent:
            content = self._line()[indent:]
            if content.startswith("? "):
                name = str(self._value(content[2:].strip(BLANK), indent, depth))
                found[name] = self._behind_colon(indent, depth)
            elif entry := _KEY.match(content):
                key = entry["key"]
                name = self._quoted(key) if key[0] in "'\"" else key.rstrip(BLANK)
                found[name] = self._value(entry["rest"].strip(BLANK), indent, depth)
            else:
                break
            self._skip()
        return found

    def _behind_colon(self, indent: int, depth: int) -> Any:
        """The value of a key of many lines, on a line of its own."""
        self._skip()
        if self._indent() != indent or not self._line()[indent:].startswith(":"):
            raise self._unusable("a key without a value")
        self._lines[self._at] = " " * (indent + 1) + self._line()[indent + 1 :]
        return self._node(indent, depth + 1)

    def _value(self, rest: str, parent: int, depth: int) -> Any:
        """The value that follows a key or stands alone, behind its anchor and tag."""
        names = []
        for _ in range(2):
            if mark := _MARK.match(rest):
                names += [mark["anchor"]] if mark["anchor"] else []
                rest = rest[mark.end() :]
        before = self._nodes
        found = self._unmarked(rest, parent, depth)
        for name in names:
            self._anchors[name] = _Anchored(found, self._nodes - before + 1)
        return found

    def _unmarked(self, rest: str, parent: int, depth: int) -> Any:
        if rest.startswith("*"):
            self._at += 1
            return self._alias(rest[1:].strip(BLANK))
        if rest[:1] in ("'", '"'):
            return self._quoted(self._to_quote(rest))
        if _BLOCK.fullmatch(rest):
            return self._block(rest, parent)
        if rest.strip(BLANK):
            return _scalar(self._plain(rest, parent))
        self._at += 1
        self._skip()
        is_list = parent >= 0 and self._is_entry(parent)  # a list in a mapping may be indented as its key is
        return self._list(parent, depth + 1) if is_list else self._node(parent, depth + 1)

    def _alias(self, name: str) -> Any:
        if name not in self._anchors:
            raise self._unusable(f"an alias {name[:40]!r} of nothing before it")
        self._count(self._anchors[name].nodes)
        return self._anchors[name].value

    def _to_quote(self, first: str) -> str:
        """A quoted scalar up to its end, with its line breaks."""
        end, pieces, start = _ENDS[first[0]], [first], 1
        while True:
            closing = next((one for one in end.finditer(pieces[-1], start) if one["end"]), None)
            self._at += 1
            if closing:
                pieces[-1] = pieces[-1][: closing.end()]
                return "\n".join(pieces)
            if self._at >= len(self._lines):
                raise self._unusable("a quote without an end")
            pieces.append(self._line())
            start = 0

    def _quoted(self, raw: str) -> str:
        body = raw[1:-1]
        if raw[0] == "'":
            return _folded(body).replace("''", "'")
        return _ESCAPE.sub(_escaped, _folded(body, escapes=True))

    def _plain(self, first: str, parent: int) -> str:
        pieces = [_uncommented(first)]
        self._at += 1
        while self._at < len(self._lines) and (not self._line().strip(BLANK) or self._indent() > max(parent, 0)):
            pieces.append(_uncommented(self._line()))
            self._at += 1
        return _folded("\n".join(pieces)).strip(BLANK)

    def _block(self, header: str, parent: int) -> str:
        """A scalar that keeps its lines, `|`, or folds them, `>`."""
        self._at += 1
        start = self._at
        while self._at < len(self._lines) and (not self._line().strip(BLANK) or self._indent() > parent):
            self._at += 1
        lines = self._lines[start : self._at]
        given = next((int(one) for one in header if one.isdigit()), 0)
        first = next((one for one in lines if one.strip(BLANK)), "")
        indent = max(parent, 0) + given if given else len(first) - len(first.lstrip(" "))
        text = "\n".join(one[indent:] for one in lines)
        text = text if header[0] == "|" else _folded(text)
        body = text.rstrip("\n")
        return text + "\n" if "+" in header else body if "-" in header or not body else body + "\n"


def _folded(raw: str, *, escapes: bool = False) -> str:
    """A scalar of several lines: a line break is a blank, each empty line a line break."""
    if "\n" not in raw:
        return raw
    first, *others = raw.split("\n")
    found, breaks = [first.rstrip(BLANK) if others else first], 0
    for number, line in enumerate(others):
        is_last = number == len(others) - 1
        piece = line.lstrip(BLANK) if is_last else line.strip(BLANK)
        if escapes and not breaks and _is_continued(found[-1]):
            found[-1] = found[-1][:-1] + piece
            continue
        if not piece and not is_last:
            breaks += 1
            continue
        found.append(("\n" * breaks or " ") + piece)
        breaks = 0
    return "".join(found)


def _is_continued(line: str) -> bool:
    return (len(line) - len(line.rstrip("\\"))) % 2 == 1


def _escaped(match: re.Match[str]) -> str:
    code = match["x"] or match["u"] or match["U"]
    if code:
        return chr(int(code, 16)) if int(code, 16) <= 0x10FFFF else "\ufffd"
    return _ESCAPES.get(match["one"], match["one"])


def _uncommented(line: str) -> str:
    return line.partition(" #")[0].strip(BLANK)


def _scalar(text: str) -> Any:
    if text in _WORDS:
        return _WORDS[text]
    if _INTEGER.fullmatch(text):
        return int(text.replace("_", "")) if len(text) < 4000 else text
    if _FLOAT.fullmatch(text):
        return float(text.replace("_", ""))
    return json.loads(text) if text in ("{}", "[]") else text
