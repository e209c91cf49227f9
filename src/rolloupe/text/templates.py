"""Chat templates: a templated text cut into turns where its template is recognised.

The start of a turn identifies its template. Each turn keeps its header as a marker, so no text is lost;
a header that only asks for the next answer belongs to the turn before it.
"""

import re
from collections.abc import Collection, Iterable
from functools import lru_cache
from typing import NamedTuple

from rolloupe.model import Part, Turn
from rolloupe.text.blocks import parts

ROLES = {
    "human": "user", "model": "assistant", "bot": "assistant", "ai": "assistant", "ipython": "tool", "customer": "user",
    "developer": "system", "environment": "tool", "observation": "tool", "function": "tool",
    "tool_response": "tool", "available_tools": "system", "tools": "system",
    "[inst]": "user", "[/inst]": "assistant", "<<sys>>": "system", "<</sys>>": "user", "[system_prompt]": "system",
    "[available_tools]": "system", "[tool_results]": "tool", "[/tool_results]": "assistant",
}  # fmt: skip

MISTRAL = re.compile(
    r"(?P<role>\[INST\]|\[/INST\]|\[SYSTEM_PROMPT\]|\[AVAILABLE_TOOLS\]|\[TOOL_RESULTS\]|\[/TOOL_RESULTS\]) ?"
)
"""Mistral's, in which the end of a turn begins the next; Llama 2's is the same with a system prompt inside."""

DEEPSEEK = re.compile(r"<｜(?P<role>User|Assistant|System)｜>")
"""DeepSeek's, whose system prompt precedes the first turn without a header."""

STARTS: tuple[re.Pattern[str], ...] = (
    re.compile(r"<\|im_start\|>(?P<role>[^\n<]{0,64})(?:<\|im_sep\|>|\n)?"),  # ChatML, Qwen, Phi-4
    re.compile(r"<\|start_header_id\|>(?P<role>[^<\n]{0,64})<\|end_header_id\|>\n{0,2}"),  # Llama 3
    re.compile(r"<\|header_start\|>(?P<role>[^<\n]{0,64})<\|header_end\|>\n{0,2}"),  # Llama 4
    re.compile(r"<start_of_turn>(?P<role>[^\n<]{0,64})\n?"),  # Gemma
    re.compile(
        r"<\|start\|>(?P<role>[^<\n ]{0,64})(?=(?: to=[^<\n]{0,120})?(?:<\|channel\|>|<\|message\|>))"
    ),  # harmony
    DEEPSEEK,
    re.compile(r"<\|im_(?P<role>system|user|assistant)\|>[^<\n]{0,64}<\|im_middle\|>"),  # Kimi
    re.compile(r"<\|start_of_role\|>(?P<role>[^<\n]{0,64})<\|end_of_role\|>"),  # Granite
    re.compile(r"<\|(?P<role>system|user|assistant|tool|observation)\|>\n?"),  # Phi-3, GLM, Zephyr
    MISTRAL,
)


def _any_of(beginning: str) -> re.Pattern[str]:
    sources = [pattern.pattern.replace("?P<role>", "?:") for pattern in STARTS]
    alike = [source for source in sources if source.removeprefix("(?:").startswith(re.escape(beginning))]
    return re.compile("|".join(alike))


_FIRSTS = {beginning: _any_of(beginning) for beginning in ("<|", "<start_", "<｜", "[")}
"""Turn starts by their beginning, up to a character that most texts lack: the search for it is quick."""

_START = _any_of("")

BARE = re.compile(r"^(?P<role>system|user|assistant|tool)\n", re.MULTILINE)
"""What remains of ChatML after decoding without special tokens, as in verl."""

BARE_STARTS = ("system\n", "user\n")
BARE_END = re.compile(r"\nassistant\n?\Z")
BARE_ANSWER = "\nassistant\n"
BARE_RESULT = "<tool_response>"
"""The beginning of a tool's turn in such texts."""

GLUED = re.compile(r"(?P<role>system|user|assistant|ipython|tool)\n\n")
"""What remains of Llama 3's headers: a role word directly after the previous turn."""

GLUED_STARTS = ("system\n\n", "user\n\n")
ROLE_STARTS = (*BARE_STARTS, *GLUED_STARTS)
GLUED_END = re.compile(r"assistant\n{0,2}\Z")
GLUED_ANSWER = "assistant\n\n"
GLUED_RESULTS = ("ipython\n\n", "tool\n\n")

_NEXT = {
    "": ("system", "user"), "system": ("user",), "user": ("assistant",), "assistant": ("user", "ipython", "tool"),
    "ipython": ("assistant", "ipython"), "tool": ("assistant", "tool"),
}  # fmt: skip
"""The roles that may follow each role there."""

_COMPOUNDS = ("super", "end", "power", "multi", "sub", "eco", "file", "operating")
"""Beginnings of words, such as "ecosystem", that end in the name of a role."""

MAX_TURNS = 5_000
"""After this many turns, the rest of a text is one turn."""

MAX_SYSTEM_CHARS = 100_000
"""How far to search for the end of a system prompt in an instruction; every instruction may begin one."""

_SYSTEM = re.compile(r"\s{0,2}<<SYS>>\n?")
_SYSTEM_END = re.compile(r"<</SYS>>\n{0,2}")


_REPLY = " to=assistant"
"""Follows the name of a tool in the header of its reply, in harmony."""


class Start(NamedTuple):
    """Where a turn begins, whose it is, and where its body begins."""

    at: int
    role: str
    body: int


def split_prompt(text: str, places: Collection[int] | None = None) -> list[Turn]:
    """Cut a templated prompt into turns; one turn of the user if no template is recognised.

    If the tokens are known, `places` has the positions of the special ones: a turn begins nowhere else.
    """
    return _split(text, places, is_response=False)


def split_response(text: str, places: Collection[int] | None = None, *, prompt: str = "") -> list[Turn]:
    """Cut a response into turns: one turn of the assistant, and more if a template begins new turns within it.

    `places` is as for `split_prompt`. Bare role lines begin turns where the prompt has such lines, too.
    """
    return _split(text, places, is_response=True, prompt=prompt)


def has_bare_turns(text: str, prompt: str) -> bool:
    """Return whether bare role words may begin turns in a response, as they do in its prompt."""
    if not prompt.startswith(ROLE_STARTS):  # nearly always
        return False
    if (BARE_ANSWER in text or BARE_RESULT in text) and _is_of_lines(prompt):
        return True
    may_be_glued = prompt.startswith(GLUED_STARTS) and any(word in text for word in (GLUED_ANSWER, *GLUED_RESULTS))
    return may_be_glued and bool(_glued_turns(prompt))


def bare_answers(text: str, prompt: str) -> int:
    """Count the answers of a response: more than one where bare role words begin turns."""
    starts = _bare_starts(text, prompt) if has_bare_turns(text, prompt) else []
    return 1 + sum(start.role == "assistant" for start in starts)


def begins_any_turn(text: str, places: Iterable[int]) -> bool:
    """Return whether a template begins a turn at one of these places of a text."""
    return any(begins_turn(text, at) for at in places)


def begins_turn(text: str, at: int) -> bool:
    """Return whether a template begins a turn at this place of a text."""
    return _START.match(text, at) is not None


def turn_starts(text: str, first: int) -> list[Start]:
    """Return all turn starts of a text, the first of which is at a known place."""
    return _starts_in(text, _template(text, first), first)


def _split(text: str, places: Collection[int] | None, *, is_response: bool, prompt: str = "") -> list[Turn]:
    pattern, starts = _starts(text, places)
    if pattern is None and places is None and has_bare_turns(text, prompt):
        starts = _bare_starts(text, prompt)
    turns: list[Turn] = []
    before = text[: starts[0].at] if starts else text
    if before or not starts:
        role = "assistant" if is_response else "system" if pattern is DEEPSEEK else "user"
        turns.append(Turn(role=role, parts=parts(before, role)))
    stops = [*(start.at for start in starts[1:]), len(text)]
    turns += [_turn(text, start, stop) for start, stop in zip(starts, stops, strict=False)]
    last = turns[-1]
    if len(turns) > 1 and not is_response and last.role == "assistant" and _is_empty(last):
        # A header that asks for the next answer belongs to the turn before it.
        turns[-2].parts += [Part(kind="marker", text=p.text if p.raw is None else p.raw) for p in last.parts]
        turns.pop()
    if len(turns) > 1 and _is_empty(turns[0]):  # a prefix such as `<bos>`
        turns[1].parts = [*turns[0].parts, *turns[1].parts]
        del turns[0]
    if is_response:
        for turn in turns:
            turn.origin = "response"
    return turns


def _is_empty(turn: Turn) -> bool:
    return all(part.kind == "marker" or not part.text.strip() for part in turn.parts)


def _starts(text: str, places: Collection[int] | None) -> tuple[re.Pattern[str] | None, list[Start]]:
    """Return all turn starts of the template whose first one comes first."""
    if places is None:
        firsts = []
        for beginning, expression in _FIRSTS.items():
            at = text.find(beginning[-1])
            if at >= 0 and (match := expression.search(text, max(0, at + 1 - len(beginning)))):
                firsts.append(match.start())
    else:
        firsts = [at for at in places if begins_turn(text, at)]
    first = min(firsts, default=None)
    if first is None and (places is not None or not is_bare(text)):
        return None, []
    if first is None and not _is_of_lines(text):
        return GLUED, _glued_turns(text)
    pattern = BARE if first is None else _template(text, first)
    return pattern, _starts_in(text, pattern, first or 0, places)


def _bare_starts(text: str, prompt: str) -> list[Start]:
    """Return the turns that bare role words begin in a response: those before an answer, and results of tools."""
    starts: list[Start] = []
    asked: list[Start] = []
    for start in _starts_in(text, BARE, 0) if _is_of_lines(prompt) else _glued(text, "assistant"):
        if start.role != "assistant":
            asked.append(start)
        elif asked:
            starts += [*asked, start]
            asked = []
    results = (s for s in asked if text.startswith(BARE_RESULT, s.body) or text.startswith(GLUED_RESULTS, s.at))
    return [*starts, *results]


def _glued(text: str, role: str = "") -> list[Start]:
    """Return the turns whose role word is glued to the previous turn; `role` is that of the turn before the first."""
    starts: list[Start] = []
    for match in GLUED.finditer(text):
        at, word = match.start(), match["role"]
        before = text[at - 1 : at]
        is_end = not before.isspace() if before else not role
        is_end = is_end or (role == "system" and text.endswith("\n\n", 0, at))  # the system turn holds only the date
        if word in _NEXT[role] and is_end and not text.endswith(_COMPOUNDS, max(0, at - 16), at):
            starts.append(Start(at, _role(word), match.end()))
            role = word
        if len(starts) >= MAX_TURNS:
            break
    return starts


def _glued_turns(text: str) -> list[Start]:
    """Return the turns of a prompt with glued role words: it begins with one and ends with the assistant's."""
    end = GLUED_END.search(text, max(0, len(text) - 16)) if text.startswith(GLUED_STARTS) else None
    if end is None or text[end.start() - 1] in " \t":
        return []
    starts = [start for start in _glued(text) if start.at < end.start()]
    return [*starts, Start(end.start(), "assistant", len(text))] if starts[-1].role != "assistant" else []


def _template(text: str, first: int) -> re.Pattern[str]:
    return next(pattern for pattern in STARTS if pattern.match(text, first))


def _starts_in(text: str, pattern: re.Pattern[str], first: int, places: Collection[int] | None = None) -> list[Start]:
    starts: list[Start] = []
    for match in pattern.finditer(text, first):
        if places is not None and match.start() not in places:
            continue
        if not starts and match["role"].startswith("[/"):  # the end of a turn that never began
            continue
        starts.append(Start(match.start(), _role(match["role"]), match.end()))
        if match["role"] == "[INST]" and (system := _SYSTEM.match(text, match.end())):
            end = _SYSTEM_END.search(text, system.end(), system.end() + MAX_SYSTEM_CHARS)
            if end:
                starts[-1] = Start(match.start(), "system", system.end())
                starts.append(Start(end.start(), "user", end.end()))
        if len(starts) >= MAX_TURNS:
            break
    kept: list[Start] = []
    for start in starts:
        if not kept or start.at >= kept[-1].body:  # not inside an earlier one
            kept.append(start)
    return kept


def is_bare(text: str) -> bool:
    """Return whether a prompt has bare role words: it begins with one and ends with the assistant's."""
    return _is_of_lines(text) or bool(_glued_turns(text))


def _is_of_lines(text: str) -> bool:
    return text.startswith(BARE_STARTS) and BARE_END.search(text, max(0, len(text) - 16)) is not None


def bare_question(text: str) -> tuple[int, int]:
    """Return where the last turn before the answer begins and ends in a prompt with bare role words; else (0, 0)."""
    if _is_of_lines(text):
        stop = text.rfind("\nassistant")
        return max((match.end() for match in BARE.finditer(text, 0, stop)), default=0), stop
    starts = _glued_turns(text)
    return (starts[-2].body, starts[-1].at) if len(starts) > 1 else (0, 0)


@lru_cache(maxsize=256)
def _role(word: str) -> str:
    role = word.strip().lower().split(" ")[0]
    if role.startswith("functions."):  # harmony: the result of a function
        return "tool"
    return ROLES.get(role, role) or "user"


def _turn(text: str, start: Start, stop: int) -> Turn:
    header = Part(kind="marker", text=text[start.at : start.body])
    is_reply = text.startswith(_REPLY, start.body)
    role = "tool" if is_reply else start.role
    turn = Turn(role=role, parts=[header, *parts(text[start.body : stop], role)])
    if is_reply:
        turn.name = header.text.removeprefix("<|start|>").removeprefix("functions.")
    kinds = {part.kind for part in turn.parts if part.kind != "marker" and part.text.strip()}
    if kinds == {"tool_result"}:
        turn.role = "tool"
    return turn
