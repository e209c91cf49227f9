"""Hostile text made fit for a terminal: nothing in it can move the cursor, hide, reorder or pose as something else.

`visible` keeps newline and tab, for whole texts; `visible_line` keeps everything on one line. Control
characters become the pictures that Unicode has for them (ESC is `␛`), all others `<U+202E>`; a lone surrogate, which no
stream can write, becomes U+FFFD. Zero-width joiners stay: scripts and emoji need them.
"""

import re

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
    """Return the same on one line, with newlines and tabs made visible, too."""
    return _LINE.sub(_glyph, text)


MAX_SHOWN_CHARS = 60

_PLAIN = re.compile(rf"[\w.\-/]{{1,{MAX_SHOWN_CHARS}}}")


def named(name: str) -> str:
    """Return a name from a run as a sentence of ours says it: in backquotes, unless it is a word that needs none."""
    return name if _PLAIN.fullmatch(name) else quoted(name)


def quoted(name: str) -> str:
    """Return a name from a run in backquotes, cut short: no name of a run reads like words of ours."""
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
