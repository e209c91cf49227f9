"""Reads the arguments of the recorder: a value that cannot be read is reported, and only that value is lost."""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from operator import itemgetter
from typing import Any, TypeVar, cast

from rolloupe.model import MOST_ALTERNATIVES, Sample
from rolloupe.record.failures import Trouble
from rolloupe.record.logtree.messages import messages_of
from rolloupe.record.plain import jsonable, list_of, member, scalar, tags_of, whole_number, word
from rolloupe.record.token_series import Array, array
from rolloupe.record.writers.comparison import of_origin, own_status, spread, stored
from rolloupe.record.writers.texts import prompt_of, reference_of, response_of

T = TypeVar("T")

MAX_NAME_CHARS = 200
MAX_COUNT = 2**53
"""The largest step that readers take: beyond it, a browser cannot tell neighbouring numbers apart."""

RESERVED = ("uid",)


def name(value: object) -> str:
    """Return a name that every file can hold."""
    return word(value).encode("utf-8", "replace").decode()[:MAX_NAME_CHARS]


def count(value: object) -> int | None:
    """Return a whole number. Raises `TypeError` for other values, `ValueError` for numbers beyond 2^53."""
    counted = None if scalar(value) is None else whole_number(value)
    if counted is not None and abs(counted) > MAX_COUNT:
        raise ValueError("expected a whole number within 2^53")
    return counted


def number(value: object) -> float | None:
    """Return a number. Raises `TypeError` and `ValueError` for other values, texts included."""
    plain = scalar(value)
    if isinstance(plain, str):
        raise TypeError("expected a number, got a string")
    try:
        return None if plain is None else float(plain)
    except TypeError:
        raise TypeError(f"expected a number, got {type(value).__name__}") from None


def messages(value: object) -> Any:
    """Return a prompt or a response as the file stores it: a text, or a list of messages as dicts."""
    has_roles = isinstance(value, (list, tuple)) and any(hasattr(message, "role") for message in value)
    return messages_of(value) if has_roles else jsonable(value)


def turns_in(response: object) -> int | None:
    """Return how many messages of a response the model wrote, if several."""
    given = response if isinstance(response, list) else []
    answers = sum(isinstance(message, dict) and message.get("role") == "assistant" for message in given)
    return answers if answers > 1 else None


def step_of(step: object) -> int:
    """Read a step, which every record needs. Raises `TypeError` or `ValueError` that names the step."""
    try:
        number = count(step)
    except ValueError as error:
        raise ValueError(f"step: {error}; this was not recorded") from None
    except Exception:
        number = None
    if number is None:
        raise TypeError(f"step: expected a whole number, got {type(step).__name__}; this was not recorded")
    return number


def split_of(split: object) -> str:
    """Return the name of a split: every split but `train` is an evaluation."""
    known_as = name(split) or "train"
    is_named = known_as == "train" or known_as.startswith("eval/")
    return known_as if is_named else f"eval/{'default' if known_as == 'eval' else known_as}"


def range_of(value: object) -> tuple[float, float] | None:
    """Read the lowest and the highest value. Raises `ValueError` for anything but such a pair."""
    if value is None:
        return None
    low, high = _pair(value)
    if not low < high:
        raise ValueError(f"reward_range is (lowest, highest), not {value!r}")
    return low, high


def metric_ranges_of(ranges: object) -> dict[str, tuple[float, float]] | None:
    """Read the worst and the best value of sample metrics. Raises `ValueError` that names the metric."""
    by_metric = {}
    for key, ends in dict(cast("Mapping[object, object]", ranges) or {}).items():
        worst, best = _pair(ends)
        if worst == best or not math.isfinite(worst) or not math.isfinite(best):
            raise ValueError(f"metric_ranges has (worst, best) for each name, not {ends!r} for {name(key)!r}")
        by_metric[name(key)] = worst, best
    return by_metric or None


def _pair(value: object) -> tuple[float, float]:
    """Return two numbers, NaN for anything else."""
    try:
        first, second = (number(end) for end in cast("Sequence[object]", value))
        return float(cast("float", first)), float(cast("float", second))
    except (TypeError, ValueError):
        return math.nan, math.nan


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
        """Read named numbers, and the texts among them separately."""
        numbers: dict[str, float] = {}
        words: dict[str, str] = {}
        for key, value in self.items(what, values):
            if isinstance(value, str):
                words[name(key)] = value
            elif (read := self.take(f"{what} {name(key)!r}", number, value)) is not None:
                numbers[name(key)] = read
        return numbers, words

    def words(self, what: str, values: object) -> dict[str, str]:
        """Read named texts."""
        return {name(key): word(value) for key, value in self.items(what, values)}

    def arrays(self, token_ids: object, series: object) -> dict[str, Array]:
        """Copy the arrays of a sample, `token_ids` first; leaves out empty ones."""
        ids = [] if token_ids is None else [("token_ids", token_ids)]
        arrays = {}
        for key, values in (*ids, *self.items("series", series)):
            named = name(key)
            copied = None if values is None else self.take(f"series {named!r}", array, values)
            if copied is not None and len(copied):
                arrays[f"series.{named}" if named in RESERVED else named] = copied
        return arrays

    def reward(self, value: object) -> tuple[float | None, dict[str, float], dict[str, str]]:
        """Read a reward: a number, or of a mapping what readers take for the whole; its parts become metrics."""
        if not isinstance(value, Mapping):
            return self.take("reward", number, value), {}, {}
        from rolloupe.formats.reading.value_parsers import WHOLE

        parts, words = self.numbers("reward", value)
        only = next(iter(parts.values())) if len(parts) == 1 else None
        whole = next((part for whole in WHOLE for key, part in parts.items() if key.lower() == whole), only)
        return whole, {f"reward.{key}": part for key, part in parts.items()}, words

    def items(self, what: str, values: object) -> Iterable[tuple[Any, Any]]:
        """Return the items of a dict; any other value has none."""
        return () if values is None else self.take(what, _items, values) or ()


def _items(given: Any) -> list[tuple[Any, Any]]:
    try:
        return list(dict(given).items())
    except (TypeError, ValueError):
        kind = "a string" if isinstance(given, str) else type(given).__name__
        raise TypeError(f"expected a dict, got {kind}") from None


WHAT = "top_logprobs"
BEYOND = f"{WHAT} beyond the {MOST_ALTERNATIVES} likeliest of a token"

MOST_BYTES = 40 * 2**20
"""The most bytes for the alternatives of one sample: readers skip a line of more than 64 MiB."""

DECIMALS = 6

Alternatives = list[list[list[str | float]]]
"""For each token, pairs of a token string and a logprob, the likeliest first."""


def alternatives(
    values: object,
    ids: Array | None,
    strings: Sequence[str] | None,
    lengths: frozenset[int],
    trouble: Trouble,
    step: int,
) -> Alternatives:
    """Read the alternatives of a sample's tokens; an empty list if no token has any.

    `strings` are the texts of the last `ids`, `lengths` the possible numbers of tokens, none if they are unknown.
    Raises `TypeError` for anything but a list, `ValueError` for too many tokens, too few, or too long texts.
    """
    if isinstance(values, (str, bytes, Mapping)) or not isinstance(values, Iterable):
        raise TypeError(f"expected a list with an entry for each token, got {type(values).__name__}")
    known = {} if ids is None or not strings else dict(zip(ids[-len(strings) :].tolist(), strings, strict=False))
    by_token: Alternatives = []
    bad = beyond = most_bytes = 0
    for entry in values:
        pairs, wrong = _pairs(entry, known)
        likeliest = pairs[:MOST_ALTERNATIVES]
        bad, beyond = bad + wrong, beyond + len(pairs) - len(likeliest)
        by_token.append([[text, logprob] for text, logprob in likeliest])
        # in JSON, escapes are the longest
        most_bytes += sum((6 if text.isascii() else 12) * len(text) + 24 for text, _ in likeliest)
    if bad:
        error = TypeError("expected pairs of a token and a finite logprob")
        trouble.met(error, bad, where=WHAT, what="values", step=step)
    if beyond:
        trouble.report(BEYOND, beyond)
    if not any(by_token):
        return []
    if lengths and len(by_token) not in lengths:
        raise ValueError("the number of entries fits neither the sample's tokens nor its response")
    if most_bytes > MOST_BYTES:
        raise ValueError(f"more than {MOST_BYTES // 2**20} MiB in one sample")
    return by_token


def _pairs(entry: Any, known: Mapping[int, str]) -> tuple[list[tuple[str, float]], int]:
    """Return the alternatives of one token, the likeliest first, and the number of bad values."""
    inner = member(entry, "top_logprobs")
    entry = inner if isinstance(inner, (list, tuple)) else entry
    if not isinstance(entry, (list, tuple, Mapping)):
        return [], int(entry is not None)
    pairs, bad = [], 0
    for pair in entry.items() if isinstance(entry, Mapping) else entry:
        try:
            token, value = pair if isinstance(pair, (tuple, list)) else (member(pair, "token"), member(pair, "logprob"))
            decoded = inner = None
            if type(value) is not float:  # most are
                decoded, inner = member(value, "decoded_token"), member(value, "logprob")
            logprob = value if type(value) is float else scalar(value if inner is None else inner)
            if not isinstance(token, str):
                number = whole_number(token)
                token = known.get(number) or (decoded if isinstance(decoded, str) else "") or str(number)
            if isinstance(logprob, str | bool) or not math.isfinite(logprob):
                bad += 1
            else:
                pairs.append((token, round(float(logprob), DECIMALS)))
        except Exception:
            bad += 1
    pairs.sort(key=itemgetter(1), reverse=True)
    return pairs, bad


def given_of(sample: Sample) -> dict[str, Any]:
    """Return the arguments that record a sample unchanged, including its step and split."""
    row, count = sample.row, len(sample.token_ids)
    status = own_status(row) or ("" if row.status == "unknown" else row.status)
    own_word = {} if row.status_raw in ("", status) else {"status_raw": row.status_raw}
    values: dict[str, Any] = {}
    for series in map(stored, sample.series):
        # the recorder takes values as those of the last tokens
        ends_with_tokens = series.offset == max(0, count - len(series.values))
        size = max(count, series.offset + len(series.values))
        values[series.name] = series.values if ends_with_tokens else spread(series, size)
    return {
        "step": row.step, "split": row.split, "group": row.group, "index": row.index, "uid": row.uid,
        "reward": row.reward, "advantage": row.advantage, "discarded": row.discarded, "label": sample.label or None,
        "status": status, "env": row.env,
        "metrics": row.metrics, "tags": row.tags, "turns": row.turns, "prompt_tokens": row.prompt_tokens,
        "response_tokens": row.response_tokens, "ref_reward": sample.ref_reward, "tokens": sample.token_strings or None,
        "prompt": prompt_of(sample, messages=True), "response": response_of(sample, messages=True),
        "ref_response": reference_of(sample, messages=True),
        "token_ids": sample.token_ids or None, "top_logprobs": sample.top_logprobs or None,
        "series": values, "extra": own_word | sample.extra,
    }  # fmt: skip


Decode = Callable[[list[int]], str]
Record = dict[str, Any]


def samples_of(group: Any, decode: Decode | None) -> Iterator[dict[str, Any]]:
    """Yield the arguments of `Recorder.sample` for each sequence of each trajectory of a group.

    A trajectory is a list of transitions: an observation of tokens, an action of tokens with logprobs, and a reward. An
    observation that does not begin with all tokens before it starts another sequence, and so another sample. All
    samples of a trajectory have its advantage; only the last has its reward and metrics, so that means over samples
    count each trajectory once. The text is the decoded tokens, or, without `decode`, what the environment logged at
    each step, as Rolloupe reads it from the cookbook's files.
    """
    inner = member(group, "trajectory_group", group)
    finals, metrics = list_of(inner, "final_rewards_G", "final_rewards"), list_of(inner, "metrics_G", "metrics")
    advantages = list_of(inner, "advantages_G", "advantages")
    tags = {tag: tag for tag in tags_of(group, inner)}
    for number, trajectory in enumerate(list_of(inner, "trajectories_G", "trajectories")):
        transitions = list_of(trajectory, "transitions", "steps", "transition")
        last_action = member(transitions[-1], "ac") if transitions else None
        arguments: dict[str, Any] = {
            "advantage": _number(advantages[number]) if number < len(advantages) else None,
            "tags": tags,
            "status": word(member(trajectory, "stop_reason")) or word(member(last_action, "stop_reason")),
        }
        *earlier, last = _sequences(transitions)
        for place, sequence in enumerate(earlier):
            yield {**arguments, "index": f"{number}.{place}" if place else str(number), **sequence.sample(decode)}
        final = finals[number] if number < len(finals) else member(trajectory, "final_reward")
        given = [*(member(transition, "reward") for transition in transitions), final]
        rewards = [reward for reward in map(_number, given) if reward is not None]
        yield {
            **arguments, "reward": sum(rewards) if rewards else None,
            "metrics": _metrics(transitions) | dict(metrics[number] if number < len(metrics) else {}),
            "index": f"{number}.{len(earlier)}" if earlier else str(number), **last.sample(decode),
        }  # fmt: skip


def _number(value: Any) -> float | None:
    number = scalar(value)
    return float(number) if isinstance(number, int | float) else None


def _metrics(transitions: Sequence[Any]) -> dict[str, Any]:
    """Return the mean of each metric over the steps that have it, and the last of its other values."""
    metrics: dict[str, Any] = {}
    numbers: dict[str, list[float]] = {}
    for transition in transitions:
        for key, value in _dict(transition, "metrics").items():
            if (number := _number(value)) is None:
                metrics[key] = value
            else:
                numbers.setdefault(key, []).append(number)
    return metrics | {key: sum(values) / len(values) for key, values in numbers.items()}


def _dict(value: Any, name: str) -> dict[str, Any]:
    content = member(value, name)
    return dict(content) if isinstance(content, Mapping) else {}


class _Sequence:
    """Consecutive tokens, a mask of the sampled ones, and their logprobs."""

    def __init__(self) -> None:
        self.ids: list[int] = []
        self.mask: list[bool] = []
        self.logprobs: list[float | None] = []
        self.prompt = self.turns = 0
        self.steps: list[Record] = []

    def add(self, ids: Sequence[int], logprobs: Sequence[float | None] | None) -> None:
        """Append sampled tokens with their logprobs, or other tokens with None."""
        sampled = logprobs is not None
        if sampled:
            self.prompt = self.prompt or len(self.ids)
            self.turns += 1
        self.ids += ids
        self.mask += [sampled] * len(ids)
        known = list(logprobs or ())[: len(ids)]
        self.logprobs += known + [None] * (len(ids) - len(known))

    def sample(self, decode: Decode | None) -> dict[str, Any]:
        """Return the arguments of `Recorder.sample`."""
        prompt, rest = self.ids[: self.prompt], self.ids[self.prompt :]
        texts = {"prompt": decode(prompt), "response": decode(rest)} if decode else _logged(self.steps)
        series: dict[str, Any] = {"loss_mask": self.mask}
        if any(value is not None for value in self.logprobs):
            series["logprobs"] = self.logprobs
        return {
            **texts, "token_ids": self.ids, "series": series, "turns": max(1, self.turns),
            "prompt_tokens": len(prompt), "response_tokens": sum(self.mask),
            "extra": {"steps": self.steps} if len(self.steps) > 1 or any("logs" in step for step in self.steps) else {},
        }  # fmt: skip


def _logged(steps: list[Record]) -> Record:
    """Make prompt and response, as messages, from the logs of steps; empty if the logs hold no text."""
    if not any("logs" in step for step in steps):
        return {}
    from rolloupe.formats.tinker.turns import logged_turns

    turns = [turn for turn in logged_turns(steps) if turn.parts]
    sides = {side: of_origin(turns, side) for side in ("prompt", "response")}
    return {side: messages_of(side_turns) for side, side_turns in sides.items() if side_turns}


def _sequences(transitions: Sequence[Any]) -> list[_Sequence]:
    sequences = [_Sequence()]
    for transition in transitions:
        observed, action = _tokens(member(transition, "ob")), member(transition, "ac")
        logprobs = next((values for name in ("logprobs", "maybe_logprobs") if (values := list_of(action, name))), [])
        ids = sequences[-1].ids
        if ids and observed[: len(ids)] != ids:
            sequences.append(_Sequence())
            ids = []
        sequence = sequences[-1]
        sequence.add(observed[len(ids) :], None)
        sequence.add(_tokens(action), [_number(value) for value in logprobs])
        step = {
            "reward": _number(member(transition, "reward")),
            "metrics": jsonable(_dict(transition, "metrics")),
            "logs": jsonable(_dict(transition, "logs")),
        }
        sequence.steps.append({key: value for key, value in step.items() if value not in (None, {})})
    return sequences


def _tokens(value: Any) -> list[int]:
    """Return the tokens of an observation or an action: a list, or an object that holds or makes one."""
    inner_values = (member(value, name) for name in ("tokens", "to_ints", "token_ids"))
    value = next((inner for inner in inner_values if inner is not None), value)
    value = value() if callable(value) else value
    value = value.tolist() if hasattr(value, "tolist") else value
    return [int(token) for token in value if isinstance(token, int)] if isinstance(value, (list, tuple)) else []
