"""Groups of rollouts as the records of `*_rollout_summaries.jsonl`, version 1: one object for each trajectory.

Groups are recognised by their attributes, not by type: the cookbook's objects, wrapped or not, and dicts with the same
names. A missing value, or one of another type, is left out; the record stays. `log_group` logs the
outline of a group from its records: sections and tables have the cookbook's titles, so that tools that read its
outlines read these.
"""

from collections.abc import Iterable, Sequence
from typing import Any

from rolloupe.record import logtree
from rolloupe.record.logtree.messages import messages_of
from rolloupe.record.plain import jsonable, list_of, member, tags_of, text_of

SCHEMA = 1

Record = dict[str, Any]


def serialize_rollout_summaries(
    *,
    split: str,
    iteration: int,
    trajectory_groups_P: Sequence[Any],  # noqa: N803 (the cookbook's name)
    taglist_P: Sequence[Sequence[str]],  # noqa: N803
    sampling_client_steps_P: Sequence[int | None] | None = None,  # noqa: N803
) -> list[Record]:
    """Return one record for each trajectory, like the cookbook's function of this name."""
    steps = sampling_client_steps_P or [None] * len(trajectory_groups_P)
    groups = [
        {"trajectory_group": group, "tags": tags, "sampling_client_step": step}
        for group, tags, step in zip(trajectory_groups_P, taglist_P, steps, strict=True)
    ]
    return records_of(split, iteration, groups)


def records_of(split: str, iteration: int, groups: Iterable[Any]) -> list[Record]:
    """Return one record for each trajectory; `split` is `train` or `eval/{label}`, with the label of file names.

    A group's number is its own `group_idx`, if it has one, else its place among `groups`.
    """
    found = []
    for number, outer in enumerate(groups):
        group = member(outer, "trajectory_group", outer)
        shared = {
            "schema_version": SCHEMA,
            "split": split,
            "iteration": iteration,
            "group_idx": member(outer, "group_idx", member(group, "group_idx", number)),
        }
        facts = {"tags": tags_of(outer, group), "sampling_client_step": member(outer, "sampling_client_step", None)}
        found += [shared | {"traj_idx": index} | facts | rest for index, rest in enumerate(_trajectories(group))]
    return [jsonable(record) for record in found]


def _trajectories(group: Any) -> list[Record]:
    trajectories = list_of(group, "trajectories_G", "trajectories")
    finals = list_of(group, "final_rewards_G", "final_rewards")
    metrics = list_of(group, "metrics_G", "metrics")
    found = []
    for index, trajectory in enumerate(trajectories):
        steps = [
            _step(number, one) for number, one in enumerate(list_of(trajectory, "transitions", "steps", "transition"))
        ]
        final = jsonable(finals[index]) if index < len(finals) else member(trajectory, "final_reward", 0.0)
        record = {
            "total_reward": _total([step["reward"] for step in steps], final),
            "final_reward": final,
            "trajectory_metrics": metrics[index] if index < len(metrics) else {},
            "steps": steps,
            "final_ob_len": _length(trajectory, "final_ob"),
        }
        found.append(record | _more(trajectory))
    return found


def _step(number: int, transition: Any) -> Record:
    return {
        "step_idx": number,
        "ob_len": _length(transition, "ob"),
        "ac_len": _length(transition, "ac"),
        "reward": jsonable(member(transition, "reward", 0.0)),
        "episode_done": member(transition, "episode_done", False),
        "metrics": member(transition, "metrics", {}),
        "logs": member(transition, "logs", {}),
    }


def _more(trajectory: Any) -> Record:
    """Return what the cookbook knows of a trajectory but does not write; readers of version 1 ignore it."""
    reason = member(trajectory, "stop_reason", None)
    more = {} if reason is None else {"stop_reason": text_of(reason)}
    messages = member(trajectory, "messages", member(trajectory, "conversation", None))
    return more if messages is None else more | {"conversation": messages_of(messages)}


def _length(value: Any, name: str) -> int:
    """Return the number of tokens of an observation or an action, from either form: `ob` or `ob_len`."""
    count = jsonable(member(value, f"{name}_len", None))
    if isinstance(count, int):
        return count
    content = member(value, name, None)
    content = member(content, "tokens", content)
    length = jsonable(member(content, "length", content))
    if isinstance(length, int) and not isinstance(length, bool):
        return length
    try:
        return len(content)
    except TypeError:
        return 0


def _total(rewards: list[Any], final: Any) -> Any:
    """Return the sum of the rewards that are numbers; whole numbers stay whole."""
    found = [value for value in [*rewards, jsonable(final)] if isinstance(value, int | float)]
    try:
        return sum(found[:-1]) + found[-1] if found else None
    except OverflowError:  # an integer beyond all floats, and a float
        return sum(float("inf") if value > 0 else float("-inf") for value in found if abs(value) > 1e300)


SHORT_CHARS = 120
"""A log that is longer, or has several lines, is collapsed."""


def log_group(records: list[Record]) -> None:
    """Log the trajectories of one group."""
    group = records[0]["group_idx"]
    with logtree.scope_header("Group Rollout", group=group):
        for record in records:
            if messages := record.get("conversation"):
                with logtree.scope_header(f"Conversation {record['traj_idx']}", trajectory=record["traj_idx"]):
                    logtree.conversation(messages)
        with logtree.scope_header("Trajectory Details"):
            for record in records:
                _log_trajectory(record)


def _log_trajectory(record: Record) -> None:
    index = record["traj_idx"]
    steps = record["steps"]
    with logtree.scope_header(f"Trajectory {index} Episode", trajectory=index):
        with logtree.scope_header("Episode Details"):
            for step in steps:
                _log_turn(step)
        totals = {
            "num_turns": len(steps),
            "final_ob_len": record["final_ob_len"],
            "sum_step_rewards": _shown(_sum([step["reward"] for step in steps])),
            "final_group_reward": _shown(record["final_reward"]),
            "total_return": _shown(record["total_reward"]),
        }
        logtree.table_from_dict(totals, caption="Episode totals")
        if isinstance(record["trajectory_metrics"], dict) and record["trajectory_metrics"]:
            logtree.table_from_dict(record["trajectory_metrics"], caption="Trajectory metrics")


def _log_turn(step: Record) -> None:
    number = step["step_idx"]
    with logtree.scope_header(f"Turn {number + 1}", turn=number):
        stats = {"ob_len": step["ob_len"], "ac_len": step["ac_len"], "step_reward": _shown(step["reward"])}
        logtree.table_from_dict(stats, caption="Step stats")
        if isinstance(step["metrics"], dict) and step["metrics"]:
            with logtree.scope_header("Step Metrics"):
                logtree.table_from_dict(step["metrics"], caption="Metrics emitted by env.step")
        if isinstance(step["logs"], dict) and step["logs"]:
            with logtree.scope_header("Diagnostics"):
                for key, value in step["logs"].items():
                    _log_value(key, text_of(value))


def _log_value(key: str, shown: str) -> None:
    if "\n" in shown or len(shown) > SHORT_CHARS:
        logtree.details(shown, summary=key)
    else:
        logtree.log_text(f"{key}: {shown}")


def _shown(value: Any) -> str:
    try:
        return f"{value:.3f}"
    except (TypeError, ValueError, OverflowError):
        return text_of(value)


def _sum(values: list[Any]) -> Any:
    try:
        return sum(values)
    except (TypeError, OverflowError):
        return None
