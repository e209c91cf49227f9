"""The output of a terminal as plain text with styles: escape sequences become data, and nothing ever follows them.

Of the sequences of ECMA-48, only SGR (8.3.117: bold, underline, colours) counts; all others are dropped. What a
carriage return or a backspace overwrote is dropped, too, so of a progress bar its last state remains.
"""

import re

from rolloupe.model import Part, PartKind, StyledRun
from rolloupe.text.tool_calls import decoded_result, readable

MAX_RUNS = 20_000
"""After so many styled runs, the rest of a text is plain."""

_COLOURS = ("black", "red", "green", "yellow", "blue", "magenta", "cyan", "white")
_TOKEN = re.compile(
    r"\x1b\[(?P<sgr>[0-9;:]{0,200})m"
    r"|\x1b\[[0-?]{0,200}[ -/]{0,20}[@-~]"  # CSI
    r"|\x1b[\]PX^_][^\x07\x1b\n]{0,2000}(?:\x07|\x1b\\)"  # OSC, DCS, SOS, PM, APC, if they end on their line
    r"|\x1b[ -/]{0,20}[0-~]?"
    r"|(?P<end>\r*\n)|(?P<back>\r+)|(?P<erase>\x08+)"
)
_CONTROLS = re.compile(r"\x1b|\r(?!\n)|\x08")


def is_terminal_output(text: str) -> bool:
    """Return whether a text has escape sequences, or returns that overwrite."""
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
        elif token["end"]:
            screen.end_line()
        elif token["back"]:
            screen.overwrites = True
        elif token["erase"]:
            screen.erase(len(token["erase"]))
    screen.write(text[at:], pen.style)
    return "".join(screen.pieces), tuple(screen.runs)


class _Screen:
    def __init__(self) -> None:
        self.pieces: list[str] = []
        self.runs: list[StyledRun] = []
        self.overwrites = False
        self._length = 0
        self._line: tuple[int, int] = 0, 0  # where the line begins: pieces, length

    def write(self, text: str, style: str) -> None:
        if not text:
            return
        if self.overwrites:
            self._cut(*self._line)
        self.pieces.append(text)
        if style and len(self.runs) < MAX_RUNS:
            self.runs.append((self._length, self._length + len(text), style))
        self._length += len(text)

    def end_line(self) -> None:
        self.overwrites = False
        self.pieces.append("\n")
        self._length += 1
        self._line = len(self.pieces), self._length

    def erase(self, count: int) -> None:
        """Remove the last characters of the line."""
        while count and len(self.pieces) > self._line[0]:
            last = self.pieces.pop()
            left = last[: max(0, len(last) - count)]
            count -= len(last) - len(left)
            self._cut(len(self.pieces), self._length - len(last) + len(left))
            if left:
                self.pieces.append(left)

    def _cut(self, pieces: int, length: int) -> None:
        self.overwrites = False
        del self.pieces[pieces:]
        self._length = length
        while self.runs and self.runs[-1][1] > length:
            start, _, style = self.runs.pop()
            if start < length:
                self.runs.append((start, length, style))


class _Pen:
    """The state that SGR changes."""

    def __init__(self) -> None:
        self._is = {"bold": False, "dim": False, "italic": False, "underline": False}
        self._colour = ""
        self.style = ""

    def apply(self, sgr: str) -> None:
        codes = [int(code) if code else 0 for code in re.split("[;:]", sgr)]
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
            elif code in (38, 48):  # the colours of a palette, and any colour; those of the background only pass
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


def output_part(text: str, kind: PartKind = "text") -> Part:
    """Return what a tool gave back: as a terminal shows it, and JSON on several lines without escapes."""
    is_json = text[:1] in ("{", "[") and ("\\n" in text or len(text) > _JSON_CHARS) and len(text) < _MAX_JSON_CHARS
    shown, styles = terminal_text(decoded_result(readable(text) if is_json else text))
    return Part(kind=kind, text=shown, raw=None if shown == text else text, styles=styles)
