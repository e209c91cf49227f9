"""The output of a terminal as plain text with styles: escape sequences become data, and nothing ever follows them.

Of the sequences of ECMA-48, SGR (8.3.117: bold, underline, colours) and EL (8.3.41: erase in line) count; all others
are dropped. A carriage return and a backspace move back in the line, and what follows overwrites it.
"""

import re

from rolloupe.model import Part, PartKind, StyledRun
from rolloupe.text.tool_calls import decoded_result, readable

MAX_RUNS = 20_000
"""After so many styled runs, the rest of a text is plain."""
MAX_LINE_CHARS = 2_000
"""In a longer line nothing is overwritten: a carriage return ends it."""

_COLOURS = ("black", "red", "green", "yellow", "blue", "magenta", "cyan", "white")
_TOKEN = re.compile(
    r"\x1b\[(?P<sgr>[0-9;:]{0,200})m|\x1b\[(?P<erase>[012]?)K"
    r"|\x1b\[[0-?]{0,200}[ -/]{0,20}[@-~]"  # CSI
    r"|\x1b[\]PX^_][^\x07\x1b\n]{0,2000}(?:\x07|\x1b\\)"  # OSC, DCS, SOS, PM, APC, if they end on their line
    r"|\x1b[ -/]{0,20}[0-~]?"
    r"|(?P<end>\r*\n)|(?P<back>\r+|\x08+)"
)
_CONTROLS = re.compile(r"\x1b|\r(?!\n)|\x08")


def is_terminal_output(text: str) -> bool:
    """Return whether a text has escape sequences, or moves back in a line."""
    return ("\x1b" in text or "\r" in text or "\x08" in text) and _CONTROLS.search(text) is not None


def terminal_text(text: str) -> tuple[str, tuple[StyledRun, ...]]:
    """Return what a terminal would show after this output, and its styled runs in order."""
    if not is_terminal_output(text):
        return text, ()
    pen, screen, at = _Pen(), _Screen(), 0
    for token in _TOKEN.finditer(text):
        screen.write(text[at : token.start()], pen.style)
        at = token.end()
        if token["sgr"] is not None:
            pen.apply(token["sgr"])
        elif token["erase"] is not None:
            screen.erase(whole=token["erase"] == "2")
        elif token["end"]:
            screen.end_line()
        elif back := token["back"]:
            screen.go_back(None if back[0] == "\r" else len(back))
    screen.write(text[at:], pen.style)
    screen.end_line(is_last=True)
    return "".join(screen.lines), tuple(screen.runs)


class _Screen:
    def __init__(self) -> None:
        self.lines: list[str] = []
        self.runs: list[StyledRun] = []
        self._start = 0  # of the line
        self._line, self._length, self._column = list[str](), 0, 0  # the line in pieces
        self._styles: list[StyledRun] = []  # with places in the line

    def write(self, text: str, style: str) -> None:
        if not text:
            return
        start, stop = self._column, self._column + len(text)
        if start < self._length:
            self._styles = [*_outside(self._styles, start, stop)]
            line = "".join(self._line)
            self._line = [line[:start], text, line[stop:]]
        else:
            self._line.append(text)
        self._length, self._column = max(self._length, stop), stop
        if style:
            self._styles.append((start, stop, style))

    def end_line(self, *, is_last: bool = False) -> None:
        self.lines += self._line if is_last else [*self._line, "\n"]
        room = max(0, MAX_RUNS - len(self.runs))
        self.runs += [(self._start + a, self._start + b, style) for a, b, style in sorted(self._styles)[:room]]
        self._start += self._length + 1
        self._line, self._length, self._column, self._styles = [], 0, 0, []

    def go_back(self, count: int | None) -> None:
        """Go back in the line by some characters, or to its start."""
        if self._length > MAX_LINE_CHARS:
            self.end_line()
        self._column = 0 if count is None else max(0, self._column - count)

    def erase(self, *, whole: bool) -> None:
        """Erase what follows in the line, or all of it."""
        self._column = 0 if whole else self._column
        if self._column < self._length:
            self._styles = [*_outside(self._styles, self._column, self._length)]
            self._line, self._length = ["".join(self._line)[: self._column]], self._column


def _outside(styles: list[StyledRun], start: int, stop: int) -> list[StyledRun]:
    """Return the parts of styled runs before and behind a stretch."""
    before = [(a, min(b, start), style) for a, b, style in styles if a < start]
    return before + [(max(a, stop), b, style) for a, b, style in styles if b > stop]


class _Pen:
    """The state that SGR changes."""

    def __init__(self) -> None:
        self._is = {"bold": False, "dim": False, "italic": False, "underline": False}
        self._colour = ""
        self.style = ""

    def apply(self, sgr: str) -> None:
        parameters = [[int(code) if code else 0 for code in part.split(":")] for part in sgr.split(";")]
        codes: list[int] = []
        for first, *further in parameters:
            if not further:
                codes.append(first)
            elif first == 4:
                codes.append(4 if further[0] else 24)
            elif first == 38:
                codes += [38, 5, further[1]] if further[0] == 5 and further[1:] else [38, 2, *further[-3:]]
        while codes:
            code = codes.pop(0)
            if code == 0:
                self._is, self._colour = dict.fromkeys(self._is, False), ""
            elif code in (1, 2, 3, 4):
                self._is[("bold", "dim", "italic", "underline")[code - 1]] = True
            elif code == 22:
                self._is |= {"bold": False, "dim": False}
            elif code in (23, 24):
                self._is["italic" if code == 23 else "underline"] = False
            elif 30 <= code < 38 or 90 <= code < 98:
                self._colour = _COLOURS[code % 10]
            elif code == 39:
                self._colour = ""
            elif code in (38, 48, 58):  # a colour of a palette, or any colour; those of backgrounds and lines only pass
                size = 2 if codes[:1] == [5] else 4
                if code == 38:
                    self._colour = _nearest(codes[1:size])
                del codes[:size]
        self.style = " ".join([*(name for name, is_on in self._is.items() if is_on), *filter(None, [self._colour])])


def _nearest(colour: list[int]) -> str:
    """Return the name nearest to a colour of the palette of 256, or of red, green and blue; empty for greys."""
    if len(colour) == 1 and colour[0] < 16:
        return _COLOURS[colour[0] % 8]
    if len(colour) == 1 and colour[0] < 232:
        cell = colour[0] - 16
        colour = [cell // 36 * 51, cell // 6 % 6 * 51, cell % 6 * 51]
    if len(colour) != 3 or max(colour) - min(colour) < 48:
        return ""
    middle = (max(colour) + min(colour)) / 2
    return _COLOURS[sum(bit for bit, part in zip((1, 2, 4), colour, strict=True) if part > middle)]


_JSON_CHARS = 100
_MAX_JSON_CHARS = 2_000_000
_MOST_GROWTH = 8
"""JSON of many levels is mostly margins."""


def output_text(text: str) -> tuple[str, tuple[StyledRun, ...]]:
    """Return what a tool gave back as a terminal shows it, and JSON on several lines without escapes."""
    is_json = text[:1] in ("{", "[") and ("\\n" in text or len(text) > _JSON_CHARS) and len(text) < _MAX_JSON_CHARS
    laid_out = readable(text) if is_json else text
    return terminal_text(decoded_result(laid_out if len(laid_out) < _MOST_GROWTH * len(text) else text))


def output_part(text: str, kind: PartKind = "text") -> Part:
    """Return what a tool gave back as a part."""
    shown, styles = output_text(text)
    return Part(kind=kind, text=shown, raw=None if shown == text else text, styles=styles)
