"""Blocks within a turn: think blocks, tool calls and results, answers, template markers, runs of placeholders.

One pass finds every delimiter, a second pairs each opening one with the next closing one of its kind: both linear.
A block that never ends reaches to the end of the text and says so.
"""

import re
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable
from itertools import islice, pairwise
from typing import NamedTuple

from rolloupe.model import Part, PartKind
from rolloupe.text import images, tool_calls


class Delimiters:
    """Regular expressions in order of precedence, by the beginnings of their matches, which must not overlap."""

    def __init__(self, expressions: Iterable[tuple[str, str]]) -> None:
        alike: dict[str, list[str]] = defaultdict(list)
        for beginning, expression in expressions:
            alike[beginning].append(expression)
        self._expressions = {beginning: re.compile("|".join(some)) for beginning, some in alike.items()}

    def find(self, text: str) -> list[re.Match[str]]:
        """Return the delimiters of a text, from left to right."""
        matches: list[re.Match[str]] = []
        for beginning, expression in self._expressions.items():
            at = text.find(beginning)  # quicker than the expression, and most texts lack most beginnings
            if at >= 0:
                matches += expression.finditer(text, at)
        return sorted(matches, key=re.Match.start)


def literal(word: str) -> tuple[str, str]:
    """Return the expression of a delimiter that is always the same."""
    return word[0], re.escape(word)


MAX_PARTS = 10_000
"""After this many parts, the rest of a turn is one text."""

BLOCKS: dict[str, tuple[str, PartKind]] = {
    "<think>": ("</think>", "think"),
    "<thinking>": ("</thinking>", "think"),
    "<reasoning>": ("</reasoning>", "think"),
    "[THINK]": ("[/THINK]", "think"),
    "◁think▷": ("◁/think▷", "think"),
    "<tool_call>": ("</tool_call>", "tool_call"),
    "<function_call>": ("</function_call>", "tool_call"),
    "<｜tool▁call▁begin｜>": ("<｜tool▁call▁end｜>", "tool_call"),
    "<｜tool▁output▁begin｜>": ("<｜tool▁output▁end｜>", "tool_result"),
    "<tool_response>": ("</tool_response>", "tool_result"),
    "<tool_result>": ("</tool_result>", "tool_result"),
    "<answer>": ("</answer>", "answer"),
}
"""Opening delimiter: closing delimiter and kind of part."""

THINK_ENDS = frozenset(closing for closing, kind in BLOCKS.values() if kind == "think")

CLOSINGS = frozenset(closing for closing, _ in BLOCKS.values())

MARKERS = (
    "<|im_end|>", "<|im_start|>", "<|im_sep|>", "<|im_middle|>", "<|endoftext|>", "<|eot_id|>", "<|eom_id|>", "<|eot|>",
    "<|eom|>", "<|python_tag|>", "<|python_start|>", "<|python_end|>", "<|begin_of_text|>", "<|end_of_text|>",
    "<|header_start|>", "<|header_end|>", "<|end|>", "<|return|>", "<|call|>", "<|constrain|>", "<|message|>",
    "<end_of_turn>", "<bos>", "<eos>", "[gMASK]",
    "<sop>", "<｜begin▁of▁sentence｜>", "<｜end▁of▁sentence｜>", "<｜tool▁calls▁begin｜>", "<｜tool▁calls▁end｜>",
    "<｜tool▁outputs▁begin｜>", "<｜tool▁outputs▁end｜>", "<s>", "</s>", "[/INST]", "<<SYS>>", "<</SYS>>",
    "[/SYSTEM_PROMPT]", "[/AVAILABLE_TOOLS]", "[TOOL_CALLS]", "<|vision_start|>", "<|vision_end|>", "<|audio_start|>",
    "<|audio_end|>", "<|image_start|>", "<|image_end|>", "<start_of_image>", "<end_of_image>", "[IMG_END]",
)  # fmt: skip

CHANNEL, START = "<|channel|>", "<|start|>"
"""How the header of a message of gpt-oss begins (harmony, `docs/format.md` of openai/harmony), and a message."""

_HEADER = r"<\|channel\|>[^<\n]{0,200}(?:<\|constrain\|>[^<\n]{0,60})?<\|message\|>"
_OPENING = r"<\|start\|>[^<\n ]{0,64}(?=(?: to=[^<\n]{0,120})?(?:<\|channel\|>|<\|message\|>))|<\|start\|>assistant\Z"
_RECIPIENT = re.compile(r" ?to=(?P<to>[^\s<]{1,120}) ?\Z")
_ADDRESSED = re.compile(r"<\|channel\|>(?P<channel>\w*)[^<\n]*?(?: to=(?P<to>[^\s<]+)(?P<type>[^<]*))?<")
_BARE_HEADER = re.compile(
    r"(?:\A|assistant)(?P<channel>analysis|final|commentary)(?: to=(?P<to>[\w.-]{1,120}?) ?(?:json|code)?(?=[{\[]))?"
)
_ENDS_OF_MESSAGES = ("<|call|>", "<|end|>", "<|return|>", CHANNEL, START)
_NO_TOOLS = frozenset(("assistant", "user", "all"))

ASKING = frozenset(["system", "developer", "user", "human", "tool"])
"""Roles that ask for tags or quote them: in their turns tags are text, unless the turn begins with a result."""

_RESULTS = frozenset(word for word, (_, kind) in BLOCKS.items() if kind == "tool_result")
_QUOTED = (BLOCKS.keys() | CLOSINGS) - {*MARKERS}

PLACEHOLDERS = (
    "<|image_pad|>", "<|video_pad|>", "<|audio_pad|>", "<|imgpad|>", "<|audio_comp_pad|>", "<image>", "<|image|>",
    "<audio>", "<video>", "<|patch|>", "<image_soft_token>", "[IMG]", "[IMG_BREAK]", "<|media_pad|>", "<|placeholder|>",
)  # fmt: skip

_WORDS = sorted({*BLOCKS, *CLOSINGS, *MARKERS, *PLACEHOLDERS}, key=len, reverse=True)
_EXPRESSIONS = [
    ("<", _HEADER),
    ("<", _OPENING),
    *(literal(word) for word in ("<|im_end|>\n", "<end_of_turn>\n", *_WORDS)),
    (images.SCHEME, images.IN_TEXT),
]
_DELIMITERS = Delimiters(_EXPRESSIONS)
_ANY = re.compile("|".join(expression for _, expression in _EXPRESSIONS))
_RUN = {token: re.compile(f"(?:{re.escape(token)})+") for token in PLACEHOLDERS}


class Marker(NamedTuple):
    """A delimiter in the text."""

    start: int
    stop: int
    word: str


_MarkedText = tuple[str, list[Marker], dict[str, list[int]]]
"""A text, the delimiters in it, and the numbers of these by family."""


def parts(text: str, role: str = "assistant") -> list[Part]:
    """Cut a text of a role into parts; joining `raw` (else `text`) of all of them gives the text back verbatim."""
    tokens = [Marker(m.start(), m.end(), m.group()) for m in _DELIMITERS.find(text)]
    if role in ASKING:  # no blocks in a prompt, unless it begins with a tool result
        first = next((token for token in tokens if token.word not in MARKERS), None)
        is_result = first is not None and first.word in _RESULTS and not _ANY.sub("", text[: first.start]).strip()
        quoted = _QUOTED - _RESULTS - {BLOCKS[word][0] for word in _RESULTS} if is_result else _QUOTED
        tokens = [token for token in tokens if token.word not in quoted]
    elif is_stripped(text):
        return _stripped(text)
    if not tokens:  # most messages are plain text
        return [Part(kind="text", text=text)] if text else []
    ends: dict[str, list[int]] = defaultdict(list)
    for number, (_, _, word) in enumerate(tokens):
        ends[CHANNEL if word.startswith(CHANNEL) else START if word.startswith(START) else word].append(number)
    marked = text, tokens, ends
    pieces: list[Part] = []
    position, number = _leading_thought(text, tokens, pieces)
    while number < len(tokens) and len(pieces) < MAX_PARTS:
        token = tokens[number]
        if token.start < position or (token.word in CLOSINGS and token.word not in MARKERS):
            number += 1
            continue
        if token.word.startswith(CHANNEL):
            position, number = _message(marked, number, position, role, pieces)
            continue
        _plain(text[position : token.start], pieces)
        position, number = _part(marked, number, pieces)
    _plain(text[position:], pieces)
    return pieces


def is_stripped(text: str) -> bool:
    """Return whether a text is harmony, decoded without special tokens: `analysisThought.assistantfinal6`."""
    return text.startswith("analysis") and "assistantfinal" in text


def _stripped(text: str) -> list[Part]:
    pieces: list[Part] = []
    headers = list(islice(_BARE_HEADER.finditer(text), MAX_PARTS))
    for header, after in pairwise([*headers, None]):
        assert header is not None
        stop = len(text) if after is None else after.start()
        inner, raw = text[header.end() : stop], text[header.start() : stop]
        if header["to"]:
            call = tool_calls.call_to(header["to"], header[0], inner)
            pieces.append(Part(kind="tool_call", text=inner.strip("\n"), raw=raw, call=call, closed=not call.error))
        elif header["channel"] == "analysis":
            pieces.append(Part(kind="think", text=inner.strip("\n"), raw=raw))
        else:
            pieces.append(Part(kind="marker", text=header[0]))
            _plain(inner, pieces)
    return pieces


def _leading_thought(text: str, tokens: list[Marker], pieces: list[Part]) -> tuple[int, int]:
    """Append a thought without an opening delimiter, which the prompt holds. Returns the same as `_part`."""
    for number, token in enumerate(tokens):
        if token.word.startswith(CHANNEL) or (token.word in BLOCKS and BLOCKS[token.word][1] == "think"):
            break
        if token.word in THINK_ENDS:
            inner, raw = text[: token.start], text[: token.stop]
            if inner.strip():
                pieces.append(Part(kind="think", text=inner.strip("\n"), raw=raw))
            else:  # a template that switches thinking off closes a thought that never began
                pieces.append(Part(kind="marker", text=raw))
            return token.stop, number + 1
    return 0, 0


def _part(marked: _MarkedText, number: int, pieces: list[Part]) -> tuple[int, int]:
    """Append the part that begins with a delimiter; return the place of the next, in the text and among the tokens."""
    text, tokens, ends = marked
    token = tokens[number]
    if token.word.startswith(images.SCHEME):
        label = images.label(token.word)
        pieces.append(Part(kind="image", text=label, raw=token.word, media=token.word))
        return token.stop, number + 1
    if token.word in _RUN:
        match = _RUN[token.word].match(text, token.start)
        stop = match.end() if match else token.stop
        times = (stop - token.start) // len(token.word)
        label = token.word if times == 1 else f"{token.word} × {times:,}"
        pieces.append(Part(kind="placeholder", text=label, raw=text[token.start : stop]))
        return stop, number + times
    if token.word not in BLOCKS:
        pieces.append(Part(kind="marker", text=token.word))
        return token.stop, number + 1
    closing, kind = BLOCKS[token.word]
    later = ends[closing]
    at = bisect_right(later, number)
    if at == len(later):
        pieces.append(_block(kind, text[token.stop :], text[token.start :], closed=False))
        return len(text), len(tokens)
    end = tokens[later[at]]
    pieces.append(_block(kind, text[token.stop : end.start], text[token.start : end.stop], closed=True))
    return end.stop, later[at] + 1


def _message(marked: _MarkedText, number: int, position: int, role: str, pieces: list[Part]) -> tuple[int, int]:
    """Append a message of harmony: a thought, a call (its header or the text before names a recipient), or a header."""
    text, tokens, ends = marked
    token = tokens[number]
    before = _RECIPIENT.search(text, max(position, token.start - 130), token.start)
    begin = before.start() if before else token.start
    _plain(text[position:begin], pieces)
    header = _ADDRESSED.match(token.word)
    recipient = (header and header["to"]) or (before["to"] if before else "")
    is_call = bool(recipient) and recipient not in _NO_TOOLS
    is_thought = not recipient and header is not None and header["channel"] == "analysis"
    if role in ASKING or not (is_call or is_thought):
        pieces.append(Part(kind="marker", text=text[begin : token.stop]))
        return token.stop, number + 1
    later = [ends[word][at] for word in _ENDS_OF_MESSAGES if (at := bisect_right(ends[word], number)) < len(ends[word])]
    end = min(later, default=len(tokens))
    stop = tokens[end].start if later else len(text)
    inner = text[token.stop : stop]
    if later and tokens[end].word in _ENDS_OF_MESSAGES:
        stop, end = tokens[end].stop, end + 1
    call = tool_calls.call_to(recipient, token.word, inner) if is_call else None
    closed = bool(later) or (call is not None and not call.error)
    kind: PartKind = "tool_call" if is_call else "think"
    pieces.append(Part(kind=kind, text=inner.strip("\n"), raw=text[begin:stop], call=call, closed=closed))
    return stop, end


def _block(kind: PartKind, inner: str, raw: str, *, closed: bool) -> Part:
    call = tool_calls.call_of(inner) if kind == "tool_call" else None
    text = tool_calls.decoded_result(inner.strip("\n")) if kind == "tool_result" else inner.strip("\n")
    return Part(kind=kind, text=text, raw=raw, call=call, closed=closed)


def _plain(text: str, pieces: list[Part]) -> None:
    if text:
        pieces.append(Part(kind="text", text=text))
