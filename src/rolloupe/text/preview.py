"""The start of a question in one line, for lists; names of groups, and the order of names."""

import hashlib
import re

from rolloupe.text.templates import ROLE_STARTS, bare_question
from rolloupe.text.visible import clean

_NUMBER = re.compile("[0-9]+")


def digest(prompt: str) -> str:
    """Return a name for the group of samples with this prompt, if the framework has none: 12 hex digits."""
    return hashlib.blake2b(prompt.encode("utf-8", "replace"), digest_size=6).hexdigest()


def natural(name: str) -> str:
    """Return a sort key that orders numbers in names by size: `rank2` before `rank10`."""
    return _NUMBER.sub(lambda match: match[0].zfill(20), name)


WINDOW = 8
"""How many characters to read for each one shown: white space and markers take some."""

_USER = (
    "<|im_start|>user", "<|start_header_id|>user<|end_header_id|>", "<start_of_turn>user", "<|start|>user<|message|>",
    "<｜User｜>", "<|user|>", "[INST]",
)  # fmt: skip
_MARKER = re.compile(
    r"<\|[^|<>\n]{1,40}\|>(?:(?:user|assistant|system|tool)\n)?|<｜[^｜\n]{1,40}｜>|\[/?INST\]|</?s>|<(?:start|end)_of_turn>(?:user\n|model\n)?"
)
_LONGEST_MARKER = 64
_IMAGE = re.compile(r"data:image/[a-zA-Z0-9.+-]{1,20};base64,[A-Za-z0-9+/_=-]*")
_MOST_IMAGE = 4 * 2**20
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]+")


def preview(text: str, limit: int = 240) -> str:
    """Return the start of the user's last turn in a templated prompt, or of any other text; one line of `limit`."""
    start = _last_question(text)
    if not start and text.startswith(ROLE_STARTS) and (question := bare_question(text)) != (0, 0):
        start, text = question[0], text[: question[1]]
    # The end of a window cuts at most one marker: with more room than that, the rest changes nothing.
    if text.find("data:image/", start, start + 2 * limit) >= 0:
        text, start = _IMAGE.sub("(image)", text[start : start + _MOST_IMAGE]), 0
    window = limit + 2 * _LONGEST_MARKER
    plain = _plain(text[start : start + window])
    if len(plain) <= limit + _LONGEST_MARKER and len(text) > start + window:
        plain = _plain(text[start : start + limit * WINDOW])
    return clean(plain if len(plain) <= limit else f"{plain[:limit].rstrip()}…")


def _last_question(text: str) -> int:
    """Find where the user's last turn begins, by any template; 0 without one."""
    start = 0
    if "<" in text or ("[" in text and "[INST]" in text):
        for mark in _USER:
            if (place := text.rfind(mark, max(0, start - len(mark)))) >= 0:
                start = max(start, place + len(mark))
    return start


def _plain(window: str) -> str:
    if "<" in window or "[" in window:
        window = _MARKER.sub(" ", window)
    return _single_spaced(window) if window.isprintable() else " ".join(_CONTROL.sub(" ", window).split())


def one_line(text: str) -> str:
    """Return a text with each run of white space as one blank, and none at its ends."""
    return _single_spaced(text) if text.isprintable() else " ".join(text.split())


def _single_spaced(text: str) -> str:
    """`one_line` of a text whose only white space is blanks."""
    return " ".join(text.split()) if "  " in text else text.strip(" ")
