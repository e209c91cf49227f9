"""Groups of trajectories as trainers hold them (`trajectories_G`, `final_rewards_G`, `metrics_G`), as samples.

A trajectory is a list of transitions: an observation of tokens, an action of tokens with logprobs, a reward. Where each
observation begins with all that was before it the trajectory is one sequence; where one does not, another sequence
begins there, and the trajectory is several samples.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from rolloupe.record.duck import listed, member, tags_of
from rolloupe.record.values import scalar

Decode = Callable[[list[int]], str]


def samples_of(group: Any, decode: Decode | None) -> Iterator[dict[str, Any]]:
    """Yield what `Recorder.sample` takes for each sequence of each trajectory of a group."""
    inner = member(group, "trajectory_group", group)
    finals, metrics = listed(inner, "final_rewards_G", "final_rewards"), listed(inner, "metrics_G", "metrics")
    advantages = listed(inner, "advantages_G", "advantages")
    tags = {tag: tag for tag in tags_of(group, inner)}
    for number, trajectory in enumerate(listed(inner, "trajectories_G", "trajectories")):
        transitions = listed(trajectory, "transitions", "steps")
        rewards = [_number(member(one, "reward", None)) for one in transitions]
        rewards.append(
            _number(finals[number]) if number < len(finals) else _number(member(trajectory, "final_reward", None))
        )
        known = [reward for reward in rewards if reward is not None]
        shared: dict[str, Any] = {
            "reward": sum(known) if known else None,
            "metrics": _metrics(transitions) | dict(metrics[number] if number < len(metrics) else {}),
            "advantage": _number(advantages[number]) if number < len(advantages) else None,
            "tags": tags,
            "status": str(member(trajectory, "stop_reason", "") or ""),
        }
        for place, sequence in enumerate(_sequences(transitions)):
            index = f"{number}.{place}" if place else str(number)
            yield {**shared, "index": index, **sequence.sample(decode)}


def _number(value: Any) -> float | None:
    found = scalar(value)
    return float(found) if isinstance(found, int | float) else None


def _metrics(transitions: Sequence[Any]) -> dict[str, Any]:
    """Of each metric of the steps, the last value."""
    found: dict[str, Any] = {}
    for one in transitions:
        held = member(one, "metrics", None)
        found |= dict(held) if isinstance(held, dict) else {}
    return found


class _Sequence:
    """Tokens in a row, which of them were sampled, and their logprobs."""

    def __init__(self) -> None:
        self.ids: list[int] = []
        self.mask: list[bool] = []
        self.logprobs: list[float | None] = []
        self.prompt = 0
        self.turns = 0

    def add(self, ids: Sequence[int], logprobs: Sequence[float | None] | None) -> None:
        """Append what was sampled, with logprobs, or what stood between, with None."""
        sampled = logprobs is not None
        if sampled:
            self.prompt = self.prompt or len(self.ids)
            self.turns += 1
        self.ids += ids
        self.mask += [sampled] * len(ids)
        self.logprobs += [*(logprobs or ())][: len(ids)] + [None] * (len(ids) - len(logprobs or ()))

    def sample(self, decode: Decode | None) -> dict[str, Any]:
        """What `Recorder.sample` takes."""
        prompt, rest = self.ids[: self.prompt], self.ids[self.prompt :]
        texts = {"prompt": decode(prompt), "response": decode(rest)} if decode else {}
        series: dict[str, Any] = {"loss_mask": self.mask}
        if any(value is not None for value in self.logprobs):
            series["logprobs"] = self.logprobs
        return {
            **texts, "token_ids": self.ids, "series": series, "turns": max(1, self.turns),
            "prompt_tokens": len(prompt), "response_tokens": sum(self.mask),
        }  # fmt: skip


def _sequences(transitions: Sequence[Any]) -> list[_Sequence]:
    found = [_Sequence()]
    for one in transitions:
        observed = _tokens(member(one, "ob", None))
        action = member(one, "ac", None)
        sampled = _tokens(action)
        logprobs = next((held for name in ("logprobs", "maybe_logprobs") if (held := listed(action, name))), [])
        known = found[-1].ids
        if known and observed[: len(known)] != known:
            found.append(_Sequence())
            known = []
        found[-1].add(observed[len(known) :], None)
        found[-1].add(sampled, [_number(value) for value in logprobs])
    return found


def _tokens(value: Any) -> list[int]:
    """The tokens of an observation or an action: a list, or what has or makes one."""
    for name in ("tokens", "to_ints", "token_ids"):
        held = member(value, name, None)
        if held is not None:
            value = held() if callable(held) else held
            break
    value = value.tolist() if hasattr(value, "tolist") else value
    return [int(one) for one in value if isinstance(one, int)] if isinstance(value, list | tuple) else []
