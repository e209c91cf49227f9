"""Characters that a terminal can show and a stream can write, and the place where two texts begin to differ.

Nothing in hostile text can move the cursor, hide, reorder or pose as something else: `visible` keeps newline and tab,
for whole texts; `visible_line` keeps everything on one line. Control characters become the pictures that Unicode has
for them (ESC is `␛`), all others `<U+202E>`; a lone surrogate, which no stream can write, becomes U+FFFD. Zero-width
joiners stay: scripts and emoji need them.
"""

import re
import unicodedata
from typing import Any


def clean(text: str) -> str:
    """Return the text with every lone surrogate replaced by U+FFFD."""
    if text.isascii():
        return text
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def cleaned(value: Any) -> Any:
    """Return a JSON value with every lone surrogate replaced."""
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, dict):
        return {cleaned(key): cleaned(item) for key, item in value.items()}
    return [cleaned(item) for item in value] if isinstance(value, list) else value


_INVISIBLE = (
    "\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"  # bidi controls
    "\u180e\u200b\u2028\u2029\u2060-\u2065\u206a-\u206f\ufeff\ufff9-\ufffb\U000e0000-\U000e007f"  # invisible characters
)
_ENDS = "".join(f"{chr(plane + 0xFFFE)}{chr(plane + 0xFFFF)}" for plane in range(0, 0x110000, 0x10000))
_NOT_CHARACTERS = f"\ufdd0-\ufdef{_ENDS}"
"""Code points that Unicode keeps free of characters."""
HOSTILE = rf"\x00-\x08\x0b-\x1f\x7f-\x9f{_INVISIBLE}{_NOT_CHARACTERS}\ud800-\udfff"
"""A character class for `re`: characters that never reach a terminal unchanged."""

_TEXT = re.compile(f"[{HOSTILE}]")
_LINE = re.compile(rf"[\t\n{HOSTILE}]")


def visible(text: str) -> str:
    """Return the text with every hostile character made visible."""
    return _TEXT.sub(_glyph, text)


def visible_line(text: str) -> str:
    """Return the text on one line: newlines and tabs become visible, too."""
    return _LINE.sub(_glyph, text)


MAX_SHOWN_CHARS = 60

_PLAIN = re.compile(rf"[\w.\-/]{{1,{MAX_SHOWN_CHARS}}}")


def named(name: str) -> str:
    """Return a name from a run for use in a sentence: in backquotes, unless it is a plain word."""
    return name if _PLAIN.fullmatch(name) else quoted(name)


def quoted(name: str) -> str:
    """Return a name from a run in backquotes, cut short: nobody takes it for Rolloupe's own words."""
    shown = name if len(name) <= MAX_SHOWN_CHARS else f"{name[:MAX_SHOWN_CHARS]}…"
    shown = visible_line(shown).replace("`", "'")
    return f"`{shown}`"


def _glyph(match: re.Match[str]) -> str:
    code = ord(match[0])
    if code < 0x20:
        return chr(0x2400 + code)
    if code == 0x7F:
        return "\u2421"
    return "\ufffd" if 0xD800 <= code <= 0xDFFF else f"<U+{code:04X}>"


BLOCK = 2**16
MOST_BACK = 256
"""A longer heap of combining marks may be cut: nobody can read it as a character."""

JOINERS = "\u200d\ufe0e\ufe0f"
JAMO = range(0x1160, 0x1200)
TONES = range(0x1F3FB, 0x1F400)
FLAGS = range(0x1F1E6, 0x1F200)
TAGS = range(0xE0020, 0xE0080)


def alike(a: str, b: str) -> int:
    """Return the length of the common start in code points, cut back to a boundary of visible characters."""
    start, end = 0, min(len(a), len(b))
    while start < end and a[start : start + BLOCK] == b[start : start + BLOCK]:
        start += BLOCK
    at, high = min(start, end), min(start + BLOCK, end)
    while at < high:
        middle = (at + high + 1) // 2
        if a[at:middle] == b[at:middle]:
            at = middle
        else:
            high = middle - 1
    least = max(0, at - MOST_BACK)
    back = at
    while back > least and (goes_on(a, back) or goes_on(b, back)):
        back -= 1
    return at if back == least and least else back


def goes_on(text: str, at: int) -> bool:
    """Return whether a place is inside one visible character: base and marks, a flag, a family of emoji, CR LF."""
    if not 0 < at < len(text):
        return False
    before, after = text[at - 1], text[at]
    code = ord(after)
    if after < "\u0300":
        return before == "\r" and after == "\n"
    if 0xD800 <= ord(before) < 0xDC00 <= code < 0xE000:  # surrogate halves from two escapes in a file
        return True
    if code in FLAGS:
        flags = 0
        while flags < min(at, MOST_BACK) and ord(text[at - 1 - flags]) in FLAGS:
            flags += 1
        return flags % 2 == 1
    is_mark = unicodedata.category(after).startswith("M") or after in JOINERS
    return is_mark or before == "\u200d" or code in TONES or code in TAGS or code in JAMO
