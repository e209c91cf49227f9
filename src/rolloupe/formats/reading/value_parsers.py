"""Readers of single fields of a record, common to all formats: rewards, statuses, counts, names, texts, turns.

Every function takes any JSON value and never raises; a value of the wrong type counts as absent.
"""

import json
import math
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable
from functools import lru_cache
from typing import Any, Literal, NamedTuple, TypeVar

from rolloupe import text
from rolloupe.model import Locator, Part, Sample, SampleRow, Status, Turn

T = TypeVar("T")
MAX_TAG_CHARS = 64
"""Longer texts do not become tags: only the sample itself shows them."""
MAX_NAME_CHARS = 200
"""Longer names of groups and samples are replaced by their hashes, to keep addresses short."""
REWARDS = ("reward", "score", "rewards", "scores", "total_reward")
"""The usual names of a reward."""
WHOLE = ("score", "reward", "total", "total_reward", "overall", "total_score", "final", "value")
"""The usual names of the whole reward among its parts, in lower case."""
digest = text.digest


class MetricNames(dict[str, str]):
    """The names of metrics as they are shown: without lone surrogates; a long one is cut and ends with its hash."""

    def __missing__(self, name: str) -> str:
        shown = name
        if len(name) > MAX_NAME_CHARS:
            hashed = text.digest(name)
            shown = f"{name[: MAX_NAME_CHARS - len(hashed) - 1]}~{hashed}"
        self[name] = shown = text.clean(shown)
        return shown


MAX_DEPTH = 100
FLAT = {float, int, str, bool, type(None)}
TOO_DEEP = "(nested too deeply to be shown: see the raw record)"
MAX_STEP = 2**53
"""The largest step: beyond it, a browser cannot tell an integer from its neighbours."""
MAX_INT64 = 2**63 - 1
_NUMBER = (int, float)
_NAME = (str, int, float)
_STEP = re.compile(
    r"(?:^|[^a-zA-Z])(?P<word>step|steps|iter|iteration|rollout|update|epoch|checkpoint|ckpt)[_\-.=]?(?P<step>[0-9]+)",
    re.IGNORECASE,
)
_FIRST_NUMBER = re.compile(r"(?P<number>[0-9]{1,9})[_\-. ](?P<word>[a-zA-Z]+)(?:[_\-. ].*)?", re.DOTALL)
_BEFORE_SPLIT = re.compile(r"(?P<name>.+[0-9])[_\-. ](?:train|training|val|valid|validation|eval|test)", re.IGNORECASE)
_LAST_NUMBER = re.compile(r"(?P<before>.*?(?P<word>[a-zA-Z]*)[_\-.= ])(?P<number>[0-9]{1,9})", re.DOTALL)
_OF_STEPS = set(
    """batch checkpoint ckpt completions dump dumps gen generation generations iter iteration iterations itr rollout
    rollouts step steps trajectories trajectory update updates val valid validation""".split()
)
"""Words before the number of a step."""
_BEFORE_STEPS = _OF_STEPS | set("eval evals evaluation output outputs results samples test train training".split())
"""Words that may follow the number of a step."""
_NOT_STEPS = set(
    "agent attempt b chunk dp env epoch file fold gpu group host job k model n node of part pass problem proc process "
    "prompt question rank replica run sample seed shard split t task temp thread top tp trial v version worker".split()
)
"""Words before a number that is not a step."""
_YEAR = re.compile(r"(?:19|20)[0-9]{2}")
_DATE = re.compile(r".+-(?:0[1-9]|1[0-2])(?:0[1-9]|[12][0-9]|3[01])", re.DOTALL)
"""A name that ends in a month and a day, as names of models do (`gpt-4-0613`)."""
_AS_TEXT = re.compile(
    r"(?P<call>[a-z0-9_.]+\()?(?P<number>[+-]?(?:nan|inf|[0-9.]+(?:e[+-]?[0-9]+)?))(?(call)(?:,.*)?\))",
    re.IGNORECASE | re.DOTALL,
)
_DIGITS = re.compile(r"\s*[+-]?[0-9]{1,19}\s*", re.ASCII)
_WORDS: dict[Status, str] = {
    "completed": "completed complete finished done stop stopped eos success succeeded ok end_turn stop_sequence",
    "truncated": (
        "truncated length max_tokens max_length max_turns max_turns_reached overlong max_output_tokens incomplete"
    ),
    "aborted": "aborted abort cancelled canceled interrupted",
    "error": "error failed failure timeout exception",
    "pending": "pending running in_progress",
}
_STATUSES: dict[str, Status] = {word: common for common, words in _WORDS.items() for word in words.split()}


_VERDICTS: dict[str, float] = {
    **dict.fromkeys("correct pass passed true yes success solved resolved".split(), 1.0),
    **dict.fromkeys("incorrect wrong fail failed failure false no timeout unsolved unresolved".split(), 0.0),
}
"""Words that count as scores."""


class Reward(NamedTuple):
    """A reward, and the sample metrics and tags stored as its parts."""

    value: float | None
    metrics: dict[str, float]
    tags: dict[str, str]
    whole: bool = True
    """False if some part of a stored object is neither a metric nor a tag."""


def reason(value: object) -> str | None:
    """Read why training discarded a sample; None, or an empty text, if no reason is given.

    The start of a long reason is kept.
    """
    if not isinstance(value, str) or len(value) <= MAX_NAME_CHARS:
        return value if isinstance(value, str) else None
    return f"{value[: MAX_NAME_CHARS - 1]}…"


def number(value: object) -> float | None:
    """Read a number as a float; true and false are 1 and 0, an integer beyond a float is an infinity."""
    if type(value) is float:
        return value
    if value is None or not isinstance(value, _NUMBER):
        return None
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def number_in(text: str) -> float | str:
    """Return the number that `json.dumps` with `default=str` wrote as a text; any other text unchanged."""
    match = _AS_TEXT.fullmatch(text.strip())
    try:
        return float(match["number"]) if match else text
    except ValueError:
        return text


def score_in(text: str) -> float | None:
    """Read a score that is a text: a number, or a word for right or wrong; None for any other text."""
    score = number_in(text) if len(text) <= MAX_TAG_CHARS else text
    return _VERDICTS.get(score.strip().lower()) if isinstance(score, str) else score


def is_verdict(value: object) -> bool:
    """Return whether a value is a word for right or wrong."""
    return isinstance(value, str) and value.strip().lower() in _VERDICTS


def integer(value: object) -> int | None:
    """Read an integer that an index can hold: an int, a float without a fraction, or a text of digits."""
    if type(value) is int:
        return value if -MAX_INT64 <= value <= MAX_INT64 else None
    if value is None or isinstance(value, bool):
        return None
    if isinstance(value, str):
        value = int(value) if _DIGITS.fullmatch(value) else None
    elif isinstance(value, float):
        value = int(value) if value.is_integer() else None
    return value if isinstance(value, int) and -MAX_INT64 <= value <= MAX_INT64 else None


def is_too_large(value: object) -> bool:
    """Return whether a value is a whole number beyond `MAX_STEP`, stored as a number or as digits."""
    if type(value) is int:
        return not -MAX_STEP <= value <= MAX_STEP
    if isinstance(value, str):
        return len(value) > 15 and _DIGITS.fullmatch(value) is not None and abs(int(value[:40])) > MAX_STEP
    return isinstance(value, _NUMBER) and MAX_STEP < abs(value) != math.inf


def count(value: object) -> int | None:
    """Read a count: a non-negative integer, stored as a number."""
    whole = integer(value) if type(value) is int or isinstance(value, float) else None
    return whole if whole is not None and whole >= 0 else None


def name(value: object) -> str | None:
    """Read a framework's name for something: a text or an integer. A long one becomes its hash."""
    if type(value) is not str and type(value) is not int:
        if value is None or isinstance(value, bool) or not isinstance(value, _NAME):
            return None
        value = int(value) if isinstance(value, float) and value.is_integer() else value  # type: ignore[pyrefly:missing-attribute]
    shown = str(value)
    return (shown if len(shown) <= MAX_NAME_CHARS else text.digest(shown)) or None


def tag(value: object) -> str | None:
    """Read a short text."""
    return value if isinstance(value, str) and 0 < len(value) <= MAX_TAG_CHARS else None


def reward(value: object) -> Reward:
    """Read a reward: a number, or an object's `score`, `reward`, `total` or the like, else its only number, else None.

    `score_in` reads a text. Numbers of an object are sample metrics `reward.NAME`, its short texts are tags.
    """
    if not isinstance(value, dict):
        return Reward(score_in(value) if isinstance(value, str) else number(value), {}, {})
    parts = {key: amount for key, member in value.items() if (amount := number(member)) is not None}
    tags = {key: short for key, member in value.items() if (short := tag(member)) is not None}
    only = next(iter(parts.values())) if len(parts) == 1 else None
    texts = {key: amount for key, short in tags.items() if (amount := score_in(short)) is not None}
    chosen = next((amount for name in WHOLE for key, amount in (parts | texts).items() if key.lower() == name), only)
    whole = len(parts) + len(tags) == len(value)
    return Reward(chosen, {f"reward.{key}": amount for key, amount in parts.items()}, tags, whole)


def reward_texts(record: dict[str, Any]) -> dict[str, str]:
    """Return the texts under usual names of a reward as tags; a long text is cut."""
    texts = ((key, record[key]) for key in REWARDS if isinstance(record.get(key), str))
    return {key: value[:MAX_TAG_CHARS] for key, value in texts if value}


def is_shown_reward(value: object) -> bool:
    """Return whether reward, sample metrics and tags together show a whole reward."""
    if isinstance(value, str):
        return isinstance(number_in(value), float)
    return value is None or (reward(value).whole if isinstance(value, dict) else number(value) is not None)


def step_in(name: str, numbered: Collection[str] = ()) -> int | None:
    """Return the step that names a file or folder: `12`, `global_step_12_evals`, `data_step12`, `gen_12`, `7_val`.

    A number after a word for a step counts; the number of an epoch counts only without any other. Another last number
    may be a count or a version: it is a step only if it has leading zeros and is not a date, or follows a beginning in
    `numbered`.
    """
    if matches := [*_STEP.finditer(name)]:
        return integer(max(matches, key=lambda match: (_RANKS.get(match["word"].lower(), 1), match.start()))["step"])
    if name.isdecimal() and len(name) < 10:
        return int(name)
    if match := _BEFORE_SPLIT.fullmatch(name):
        return step_in(match["name"], numbered)
    if (match := _FIRST_NUMBER.fullmatch(name)) and match["word"].lower() in _BEFORE_STEPS:
        return int(match["number"])
    match = _LAST_NUMBER.fullmatch(name)
    if match is None or (word := match["word"].lower()) in _NOT_STEPS:
        return None
    number = match["number"]
    is_padded = number[0] == "0" and len(number) > 2 and not _DATE.fullmatch(name)
    is_step = word in _OF_STEPS or match["before"] in numbered or is_padded
    return int(number) if is_step else None


def numbered_names(names: Iterable[str]) -> set[str]:
    """Return the beginnings of names that differ only in their last number, which is not a year or a date."""
    bare = [match["name"] if (match := _BEFORE_SPLIT.fullmatch(name)) else name for name in names]
    matches = [
        match for name in bare if (match := _LAST_NUMBER.fullmatch(name)) and not _YEAR.fullmatch(match["number"])
    ]
    counts = Counter(match["before"] for match in matches)
    undated = {match["before"] for match in matches if not _DATE.fullmatch(match[0])}
    return {before for before, count in counts.items() if count > 1 and before in undated}


_RANKS = {"step": 2, "steps": 2, "epoch": 0}


def step_of_folder(name: str) -> int | None:
    """Return the step that names a folder: `12`, `global_step_12_evals`. A trailing number alone does not count."""
    return step_in(name) if name.isdecimal() or _STEP.search(name) else None


def status(value: object) -> tuple[Status, str]:
    """Read a status or a stop reason; return the common word and the framework's own."""
    if not isinstance(value, str) or not value:
        return "unknown", ""
    return _status(value[:MAX_TAG_CHARS])


@lru_cache(maxsize=256)
def _status(word: str) -> tuple[Status, str]:
    return _STATUSES.get(word.rpartition(".")[2].strip().lower(), "unknown"), word


def as_text(value: object) -> str:
    """Return any value as text: a text unchanged, null as nothing, else JSON."""
    if isinstance(value, str):
        return value
    try:
        return "" if value is None else json.dumps(value, ensure_ascii=False, default=lambda array: array.tolist())
    except RecursionError:
        return TOO_DEEP


def as_dict(value: object) -> dict[str, Any]:
    """Return an object unchanged; an empty one for anything else."""
    return value if isinstance(value, dict) else {}


def as_list(value: object) -> list[Any]:
    """Return an array unchanged; an empty one for anything else."""
    return value if isinstance(value, list) else []


def dicts(value: object) -> list[dict[str, Any]]:
    """Return the objects in an array; empty for anything else."""
    return [member for member in as_list(value) if isinstance(member, dict)]


def numbers(members: object) -> dict[str, float]:
    """Return the members of an object that are numbers; empty for anything else."""
    return {name: amount for name, value in as_dict(members).items() if (amount := number(value)) is not None}


def tags(members: object) -> dict[str, str]:
    """Return the members of an object that are short texts; empty for anything else."""
    return {name: short for name, value in as_dict(members).items() if (short := tag(value)) is not None}


def first(record: dict[str, Any], names: Iterable[str], read: Callable[[object], T | None]) -> T | None:
    """Return the result of `read` for the first of these members that it accepts; None if it accepts none."""
    for name in names:
        if name in record and (accepted := read(record[name])) is not None:
            return accepted
    return None


def texts(values: list[Any]) -> list[str]:
    """Return each value as text; a list of texts alone, as most are, is returned unchanged."""
    return values if set(map(type, values)) <= {str} else [as_text(value) for value in values]


def showable(value: object) -> Any:
    """Return a value of a record unchanged, or a note if it is nested too deeply."""
    level: list[object] = [value]
    for _ in range(MAX_DEPTH):
        below: list[object] = []
        for entry in level:
            members = entry.values() if isinstance(entry, dict) else entry if isinstance(entry, list) else ()
            if not set(map(type, members)) <= FLAT:  # most are long arrays of numbers
                below += [member for member in members if isinstance(member, (list, dict))]
        if not below:
            return value
        level = below
    return TOO_DEEP


def is_messages(value: object) -> bool:
    """Return whether a value is a list of chat messages, at least one."""
    return isinstance(value, list) and bool(value) and all(isinstance(entry, dict) for entry in value)


def messages(value: object) -> list[Any] | None:
    """Return a prompt or response that is stored as a list of messages; None for a text, or anything else.

    A value nested too deeply to pass on counts as absent.
    """
    value = _messages_or(value)
    return value if isinstance(value, list) and value and showable(value) is value else None


def chat(value: object) -> list[Any] | None:
    """Return a response that is stored as messages, as a list of them; None for any other."""
    if type(value) is str:  # nearly always
        return None
    value = _messages_or(value)
    return value if isinstance(value, list) else None


def _messages_or(value: object) -> Any:
    """Return the messages of a conversation (`text.conversation`); any other value unchanged."""
    return (text.conversation(value) or value) if isinstance(value, (list, dict)) else value


def joined(value: object, *, thoughts: bool = False) -> str:
    """Return a prompt or response as one plain text, whether stored as text or as messages: see `text.joined`."""
    if type(value) is str:  # nearly always
        return value
    value = _messages_or(value)
    return text.joined(value, thoughts=thoughts) if isinstance(value, list) else as_text(value)


def question_at(prompt: object) -> int:
    """Return where the user's last message begins in the `joined` text of a prompt; 0 if it was stored as text."""
    if type(prompt) is str:  # nearly always
        return 0
    value = _messages_or(prompt)
    return text.question_at(value) if isinstance(value, list) else 0


def prompt_turns(value: object) -> list[Turn]:
    """Return the turns of a prompt, whether stored as text or as messages."""
    value = _messages_or(value)
    if isinstance(value, list):
        return text.from_messages(value)
    if isinstance(value, str):
        return text.split_prompt(value) if value else []
    return [] if value is None else [_as_json("user", "prompt", value)]


def response_turns(value: object, prompt: object = None) -> list[Turn]:
    """Return the turns of a response to a prompt, whether stored as text or as messages."""
    value = _messages_or(value)
    if isinstance(value, list):
        return text.from_messages(value, origin="response")
    if isinstance(value, str):
        return text.split_response(value, prompt=prompt if isinstance(prompt, str) else "")
    return [] if value is None else [_as_json("assistant", "response", value)]


def row_of(
    start: int,
    length: int,
    prompt: object,
    response: object,
    *,
    ordinal: int | None = None,
    group: str | None = None,
    status: tuple[Status, str] = ("unknown", ""),
    **facts: Any,
) -> SampleRow:
    """Return the row of the sample at a place, with texts and messages of either kind; `facts` are its other fields.

    Without a group, the row gets the name that its prompt makes.
    """
    shown = joined(prompt)
    return SampleRow(
        ordinal=start if ordinal is None else ordinal,
        start=start,
        length=length,
        group=digest(shown) if group is None else group,
        status=status[0],
        status_raw=status[1],
        prompt=shown,
        question=question_at(prompt),
        response=joined(response, thoughts=True),
        messages=chat(response),
        **facts,
    )


def sample_of(row: SampleRow, locator: Locator, prompt: object, response: object, **facts: Any) -> Sample:
    """Return the sample of a row with its turns, texts and messages, from a prompt and a response of either kind.

    `facts` are its other fields.
    """
    turns = prompt_turns(prompt) + response_turns(response, prompt)
    return sample_with(row, locator, turns, prompt_messages=messages(prompt), response_messages=chat(response), **facts)


def sample_with(row: SampleRow, locator: Locator, turns: list[Turn], **facts: Any) -> Sample:
    """Return the sample of a row with these turns and the row's texts; `facts` are its other fields."""
    texts: dict[str, Any] = {"prompt_text": row.prompt, "response_text": row.response}
    return Sample(key=row.key, row=row, locator=locator, turns=turns, **(texts | facts))


def _as_json(role: str, origin: Literal["prompt", "response"], value: Any) -> Turn:
    return Turn(role=role, origin=origin, parts=[Part(kind="json", text=as_text(value))])
