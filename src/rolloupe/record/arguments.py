"""Reads the arguments of the recorder: a value that cannot be read is reported, and only that value is lost."""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from operator import itemgetter
from typing import Any, TypeVar, cast

from rolloupe.model import MOST_ALTERNATIVES
from rolloupe.record.failures import Trouble
from rolloupe.record.logtree.messages import messages_of
from rolloupe.record.plain import jsonable, member, scalar, whole_number, word
from rolloupe.record.token_series import Array, array

T = TypeVar("T")

MAX_NAME_CHARS = 200
MAX_COUNT = 2**53
"""The largest step that readers take: beyond it, a browser cannot tell neighbouring numbers apart."""

RESERVED = ("uid",)


def name(value: object) -> str:
    """Return a name that every file can hold."""
    return word(value).encode("utf-8", "replace").decode()[:MAX_NAME_CHARS]


def count(value: object) -> int | None:
    """Return a whole number. Raises `TypeError` for other values, `ValueError` for one beyond 2^53."""
    found = None if scalar(value) is None else whole_number(value)
    if found is not None and abs(found) > MAX_COUNT:
        raise ValueError("expected a whole number within 2^53")
    return found


def number(value: object) -> float | None:
    """Return a number. Raises `TypeError` and `ValueError` for other values, texts included."""
    found = scalar(value)
    if isinstance(found, str):
        raise TypeError("expected a number, got a string")
    try:
        return None if found is None else float(found)
    except TypeError:
        raise TypeError(f"expected a number, got {_kind(value)}") from None


def _kind(value: object) -> str:
    return "a string" if isinstance(value, str) else type(value).__name__


def messages(value: object) -> Any:
    """Return a prompt or a response as the file stores it: a text, or a list of messages as dicts."""
    if isinstance(value, list | tuple) and any(hasattr(one, "role") for one in value):
        return messages_of(value)
    return jsonable(value)


def turns_in(response: object) -> int | None:
    """Return how many messages of a response the model wrote; None unless the response is a list of messages."""
    listed = response if isinstance(response, list) else []
    answers = sum(isinstance(one, dict) and one.get("role") == "assistant" for one in listed)
    return answers if answers > 1 else None


def step_of(step: object) -> int:
    """Read a step. Raises `TypeError` or `ValueError` that names the step: no record can do without one."""
    try:
        found = count(step)
    except ValueError as error:
        raise ValueError(f"step: {error}; this was not recorded") from None
    except Exception:
        found = None
    if found is None:
        raise TypeError(f"step: expected a whole number, got {type(step).__name__}; this was not recorded")
    return found


def split_of(split: object) -> str:
    """Return the name of a split: any split other than training is an evaluation."""
    found = name(split) or "train"
    if found == "train" or found.startswith("eval/"):
        return found
    return "eval/default" if found == "eval" else f"eval/{found}"


def range_of(value: object) -> tuple[float, float] | None:
    """Read the lowest and the highest value. Raises `ValueError` for anything but such a pair."""
    if value is None:
        return None
    try:
        low, high = (number(one) for one in cast("Sequence[object]", value))
    except (TypeError, ValueError):
        low = high = None
    if low is None or high is None or not low < high:
        raise ValueError(f"reward_range is (lowest, highest), not {value!r}")
    return low, high


def metric_ranges_of(ranges: object) -> dict[str, tuple[float, float]] | None:
    """Read the worst and the best value of sample metrics. Raises `ValueError` that names the metric."""
    found = {}
    for key, ends in dict(cast("Mapping[object, object]", ranges) or {}).items():
        try:
            worst, best = (number(one) for one in cast("Sequence[object]", ends))
        except (TypeError, ValueError):
            worst = best = None
        if worst is None or best is None or worst == best or not math.isfinite(worst) or not math.isfinite(best):
            raise ValueError(f"metric_ranges has (worst, best) for each name, not {ends!r} for {name(key)!r}")
        found[name(key)] = worst, best
    return found or None


class Arguments:
    """Reads the arguments of a call."""

    def __init__(self, trouble: Trouble, step: object = None) -> None:
        self._trouble = trouble
        self._step = step

    def take(self, what: str, read: Callable[[Any], T], value: object) -> T | None:
        """Read one value; None if it cannot be read."""
        try:
            return read(value)
        except Exception as error:
            self._trouble.met(error, where=what, what="values", step=self._step)
            return None

    def numbers(self, what: str, values: object) -> tuple[dict[str, float], dict[str, str]]:
        """Read named numbers; returns texts among them separately."""
        found: dict[str, float] = {}
        words: dict[str, str] = {}
        for key, value in self.items(what, values):
            if isinstance(value, str):
                words[name(key)] = value
            elif (read := self.take(f"{what} {name(key)!r}", number, value)) is not None:
                found[name(key)] = read
        return found, words

    def words(self, what: str, values: object) -> dict[str, str]:
        """Read named texts."""
        return {name(key): word(value) for key, value in self.items(what, values)}

    def arrays(self, token_ids: object, series: object) -> dict[str, Array]:
        """Copy the arrays of a sample, `token_ids` first; leaves out empty ones."""
        ids = [] if token_ids is None else [("token_ids", token_ids)]
        found = {}
        for key, values in (*ids, *self.items("series", series)):
            named = name(key)
            copied = None if values is None else self.take(f"series {named!r}", array, values)
            if copied is not None and len(copied):
                found[f"series.{named}" if named in RESERVED else named] = copied
        return found

    def reward(self, value: object) -> tuple[float | None, dict[str, float], dict[str, str]]:
        """Read a reward: a number, or a mapping's `score`, `reward` or only number; its parts become metrics."""
        if not isinstance(value, Mapping):
            return self.take("reward", number, value), {}, {}
        parts, words = self.numbers("reward", value)
        only = next(iter(parts.values())) if len(parts) == 1 else None
        return (
            parts.get("score", parts.get("reward", only)),
            {f"reward.{key}": one for key, one in parts.items()},
            words,
        )

    def items(self, what: str, values: object) -> Iterable[tuple[Any, Any]]:
        """Return the items of a dict; any other value has none."""
        if values is None:
            return ()
        return self.take(what, _members, values) or ()


def _members(values: Any) -> list[tuple[Any, Any]]:
    try:
        return list(dict(values).items())
    except (TypeError, ValueError):
        raise TypeError(f"expected a dict, got {_kind(values)}") from None


WHAT = "top_logprobs"
BEYOND = f"{WHAT} beyond the {MOST_ALTERNATIVES} likeliest of a token"

MOST_BYTES = 40 * 2**20
"""The alternatives of one sample take at most so much of its line: readers skip a line of more than 64 MiB."""

DECIMALS = 6

_BY_LOGPROB = itemgetter(1)

Alternatives = list[list[list[str | float]]]
"""For each token pairs of a token string and a logprob, the likeliest first."""


def alternatives(
    values: object,
    ids: Array | None,
    strings: Sequence[str] | None,
    lengths: frozenset[int],
    trouble: Trouble,
    step: int,
) -> Alternatives:
    """Read the alternatives of a sample's tokens; an empty list if no token has any.

    `strings` are those of the last of the `ids`: an id among them gets its string. `lengths`: how many tokens the
    alternatives may be of; none if that is unknown. Raises `TypeError` for anything but a list, `ValueError` for too
    many tokens, too few, or too long texts.
    """
    if isinstance(values, str | bytes | Mapping) or not isinstance(values, Iterable):
        raise TypeError(f"expected a list with an entry for each token, got {type(values).__name__}")
    known = {} if ids is None or not strings else dict(zip(ids[-len(strings) :].tolist(), strings, strict=False))
    found: Alternatives = []
    bad = beyond = 0
    for entry in values:
        pairs, wrong = _pairs(entry, known)
        bad, beyond = bad + wrong, beyond + max(0, len(pairs) - MOST_ALTERNATIVES)
        found.append([[text, logprob] for text, logprob in pairs[:MOST_ALTERNATIVES]])
    if bad:
        trouble.met(
            TypeError("expected pairs of a token and a finite logprob"), bad, where=WHAT, what="values", step=step
        )
    if beyond:
        trouble.report(BEYOND, beyond)
    if not any(found):
        return []
    if lengths and len(found) not in lengths:
        raise ValueError("the number of entries fits neither the sample's tokens nor its response")
    if sum(_most_bytes(str(pair[0])) for pairs in found for pair in pairs) > MOST_BYTES:
        raise ValueError(f"more than {MOST_BYTES // 2**20} MiB in one sample")
    return found


def _pairs(entry: Any, known: Mapping[int, str]) -> tuple[list[tuple[str, float]], int]:
    """Return the alternatives of one token, the likeliest first, and the number of bad values."""
    if entry is None:
        return [], 0
    inner = member(entry, "top_logprobs")
    entry = inner if isinstance(inner, list | tuple) else entry
    if isinstance(entry, Mapping):
        entry = entry.items()
    elif not isinstance(entry, list | tuple):
        return [], 1
    found, bad = [], 0
    for pair in entry:
        try:
            token, value = pair if isinstance(pair, tuple | list) else (member(pair, "token"), member(pair, "logprob"))
            found.append((_string(token, value, known), _logprob(value)))
        except Exception:
            bad += 1
    found.sort(key=_BY_LOGPROB, reverse=True)
    return found, bad


def _string(token: object, value: object, known: Mapping[int, str]) -> str:
    if isinstance(token, str):
        return token
    number = whole_number(token)
    decoded = None if type(value) is float else member(value, "decoded_token")
    return known.get(number) or (decoded if isinstance(decoded, str) else "") or str(number)


def _logprob(value: object) -> float:
    inner = None if type(value) is float else member(value, "logprob")  # most are floats
    found = value if type(value) is float else scalar(value if inner is None else inner)
    if isinstance(found, str | bool) or not math.isfinite(found):
        raise ValueError("no finite number")
    return round(float(found), DECIMALS)


def _most_bytes(text: str) -> int:
    """Return the most that a pair takes in JSON, where escapes are the longest."""
    return (6 if text.isascii() else 12) * len(text) + 24
