"""The start of what was asked, in one line, for lists."""

import re

from rolloupe.text.cleaning import clean
from rolloupe.text.templates import BARE, is_bare

WINDOW = 8
"""So many characters are looked at for each one shown: white space and markers take some."""

_USER = (
    "<|im_start|>user", "<|start_header_id|>user<|end_header_id|>", "<start_of_turn>user", "<|start|>user<|message|>",
    "<｜User｜>", "<|user|>", "[INST]",
)  # fmt: skip
_MARKER = re.compile(
    r"<\|[^|<>\n]{1,40}\|>(?:(?:user|assistant|system|tool)\n)?|<｜[^｜\n]{1,40}｜>|\[/?INST\]|</?s>|<(?:start|end)_of_turn>(?:user\n|model\n)?"
)
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]+")


def preview(text: str, limit: int = 240) -> str:
    """Return the start of the last turn of the user in a templated prompt, else of the text; one line of `limit`."""
    start = max((place + len(mark) for mark in _USER if (place := text.rfind(mark)) >= 0), default=0)
    if not start and is_bare(text):
        text = text[: text.rfind("\nassistant")]
        start = max((m.end() for m in BARE.finditer(text)), default=0)
    window = text[start : start + limit * WINDOW]
    plain = " ".join(_CONTROL.sub(" ", _MARKER.sub(" ", window)).split())
    return clean(plain if len(plain) <= limit else f"{plain[:limit].rstrip()}…")
