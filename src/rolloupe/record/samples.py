"""The arguments of `Recorder.sample`, from samples of the common model and from a trainer's groups of trajectories.

A group has `trajectories_G`, `final_rewards_G` and `metrics_G`. A trajectory is a list of transitions: an observation
of tokens, an action of tokens with logprobs, and a reward. An observation that does not begin with all tokens before it
starts another sequence. Each sequence becomes a sample with the advantage of the trajectory; only the last has its
reward and metrics, so that means over samples count each trajectory once. The text is the decoded tokens, or, without
`decode`, what the environment logged at each step, as Rolloupe reads it from the cookbook's files.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from rolloupe.model import Sample
from rolloupe.record.logtree.messages import messages_of
from rolloupe.record.plain import jsonable, list_of, member, scalar, tags_of, word
from rolloupe.record.writers.comparison import of_origin, own_status, spread, stored
from rolloupe.record.writers.texts import prompt_of, reference_of, response_of


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
    """Yield the arguments of `Recorder.sample` for each sequence of each trajectory of a group."""
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
    held = (member(value, name) for name in ("tokens", "to_ints", "token_ids"))
    value = next((inner for inner in held if inner is not None), value)
    value = value() if callable(value) else value
    value = value.tolist() if hasattr(value, "tolist") else value
    return [int(token) for token in value if isinstance(token, int)] if isinstance(value, list | tuple) else []
