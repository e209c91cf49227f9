"""The outline of a group of rollouts, from its records: the messages, and the numbers of every turn.

Sections and tables have the cookbook's titles, so that tools that read its outlines read these. Each section also names
its rollout.
"""

from typing import Any

from rolloupe.record import logtree
from rolloupe.record.values.plain import text_of
from rolloupe.record.writers.tinker.records import Record

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
