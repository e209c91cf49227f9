"""The `log_path` of a run of the Tinker cookbook, written from a training loop.

`Log` writes the same files as the cookbook, byte for byte: JSON of Python's standard library, appended lines, whole
files renamed into place. It converts values that JSON cannot hold, and raises `OSError` if it cannot write to the disk.

`*_rollout_summaries.jsonl`, version 1, has one object for each trajectory. Groups of rollouts are recognised by their
attributes, not by type: the cookbook's objects, wrapped or not, and dicts with the same names. A missing value, or one
of another type, is left out; the record stays.
"""

import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any, Literal

from rolloupe.record import logtree
from rolloupe.record.folder import code_diff
from rolloupe.record.logtree.messages import messages_of
from rolloupe.record.plain import as_line, dumped, jsonable, list_of, member, object_in, settings, tags_of, text_of
from rolloupe.storage import atomic

__all__ = ["Log", "serialize_rollout_summaries"]

Layout = Literal["flat", "folders"]
Record = dict[str, Any]
SCHEMA = 1

ROLLOUTS, TREE, PAGE = "_rollout_summaries.jsonl", "_logtree.json", ".html"
METRICS, CONFIG, CHECKPOINTS, DIFF = "metrics.jsonl", "config.json", "checkpoints.jsonl", "code.diff"
TRAIN = "train"

MAX_LABEL_CHARS = 150
"""A longer label is cut and ends in a hash, because file names have a maximum length."""

_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9_.-]+")


def label_of(name: str) -> str:
    """Return the label of an evaluator in file names, by the cookbook's rule."""
    label = _NOT_IN_NAMES.sub("_", name).strip("._") or "unnamed"
    return label if len(label) <= MAX_LABEL_CHARS else told_apart(label, name)


def told_apart(label: str, name: str) -> str:
    """Return a label that another name already has, followed by a hash of this name."""
    digest = hashlib.blake2b(name.encode("utf-8", "surrogatepass"), digest_size=6).hexdigest()
    return f"{label[: MAX_LABEL_CHARS - len(digest) - 1]}_{digest}"


class Log:
    """Writes one run. Reopening is safe: metrics and checkpoints continue, and an iteration replaces its earlier files.

    Args:
        log_path: The folder; it is created if it does not exist.
        config: Any object: its fields go to `config.json`.
        layout: "flat", as documented (`train_iteration_000001.html`), or "folders", as written since release 0.2.0
            (`iteration_000001/train.html`), which the cookbook's `TrainingRunStore` reads.
        num_groups_to_log: How many groups of an iteration its outline holds; the rollout summaries hold all.
        code: Write `code.diff`, the local changes of the repository that contains the current folder.
    """

    def __init__(
        self,
        log_path: str | Path,
        *,
        config: object = None,
        layout: Layout = "flat",
        num_groups_to_log: int = 4,
        code: bool = True,
    ) -> None:
        if layout not in ("flat", "folders"):
            raise ValueError(f"layout {layout!r} is unknown: 'flat' or 'folders'")
        self.log_path = Path(log_path)
        self.layout = layout
        self.num_groups_to_log = num_groups_to_log
        self._labels: dict[str, str] = {}
        self.log_path.mkdir(parents=True, exist_ok=True)
        if config is not None:
            self.config(config)
        if code:
            self.code_diff(code_diff(Path.cwd()))

    def config(self, config: object) -> None:
        """Write `config.json`: functions and classes by their qualified names, objects by their fields."""
        atomic.write(self.log_path / CONFIG, dumped(settings(config), indent=2))

    def code_diff(self, diff: str) -> None:
        atomic.write(self.log_path / DIFF, diff.encode("utf-8", "replace"))

    def metrics(self, step: int | None, values: Mapping[str, object]) -> None:
        """Append a row to `metrics.jsonl`; readers merge the rows of one step.

        A metric named `step` would replace the step, so it is written as `metrics/step`.
        """
        row: Record = {} if step is None else {"step": jsonable(step)}
        named = {text_of(key): value for key, value in values.items()}
        row |= {"metrics/step" if key == "step" else key: value for key, value in named.items()}
        atomic.append(self.log_path / METRICS, as_line(row))

    def checkpoint(self, name: str, **values: object) -> None:
        """Append a checkpoint to `checkpoints.jsonl`, with any state of the loop.

        `batch` is the iteration to resume at, and `state_path` the location of the state, without which the cookbook
        does not resume. The cookbook also reads `epoch`, `final` and `sampler_path`. None is left out.
        """
        record = {"name": name} | {key: value for key, value in values.items() if value is not None}
        atomic.append(self.log_path / CHECKPOINTS, as_line(record))

    def last_checkpoint(self, required: str = "state_path") -> Record | None:
        """Return the last checkpoint that has a value of this name; None if no checkpoint has one."""
        path = self.log_path / CHECKPOINTS
        lines = path.read_bytes().split(b"\n") if path.is_file() else []
        return next((row for row in map(object_in, reversed(lines)) if row.get(required) is not None), None)

    def resume(self, step: int) -> int:
        """Drop the metrics of `step` and later, before training repeats those steps; returns the number of rows.

        The original file is kept as `metrics.jsonl.pre_resume_{step:06d}`. Rows whose step is not a whole number, and
        lines that are not JSON, stay. Release 0.6 of the cookbook does the same.
        """
        path = self.log_path / METRICS
        if not path.is_file():
            return 0
        before = path.read_bytes()
        lines = before.removesuffix(b"\n").split(b"\n")
        steps = [object_in(line).get("step") for line in lines]
        earlier = [line for line, at in zip(lines, steps, strict=True) if not isinstance(at, int) or at < step]
        if len(earlier) < len(lines):
            atomic.write(self.log_path / f"{METRICS}.pre_resume_{step:06d}", before)
            atomic.write(path, b"".join(line + b"\n" for line in earlier))
        return len(lines) - len(earlier)

    def path(self, split: str, iteration: int, suffix: str) -> Path:
        base = self.split(split).replace("/", "_", 1)
        if self.layout == "flat":
            return self.log_path / f"{base}_iteration_{iteration:06d}{suffix}"
        return self.log_path / f"iteration_{iteration:06d}" / f"{base}{suffix}"

    def split(self, name: str) -> str:
        """Return the name of a split in records: `train`, or `eval/{label}` for `eval/{name}` or any other name.

        If two names would share a label, and so a file, the second label ends in a hash.
        """
        if name == TRAIN:
            return TRAIN
        if name not in self._labels:
            label = label_of(name.removeprefix("eval/"))
            self._labels[name] = told_apart(label, name) if label in self._labels.values() else label
        return f"eval/{self._labels[name]}"

    @contextmanager
    def trace(self, split: str, iteration: int) -> Iterator[logtree.Trace]:
        """Start the outline of an iteration: everything that `logtree` logs in the block goes to its page and JSON.

        It is written at the end, even after an exception; with `num_groups_to_log=0`, not at all.
        """
        title = "RL Iteration" if split == TRAIN else f"Running evaluation {split.removeprefix('eval/')}"
        paths = [self.path(split, iteration, suffix) if self.num_groups_to_log else None for suffix in (PAGE, TREE)]
        with logtree.init_trace(f"{title} {iteration}", paths[0], json_path=paths[1]) as trace:
            yield trace

    def group(self, group_idx: int) -> AbstractContextManager[None]:
        """Log the block as a group's, or skip it if `num_groups_to_log` groups come before.

        The number must be the group's number in the rollout summaries; see `rollouts`.
        """
        if group_idx >= self.num_groups_to_log:
            return logtree.scope_disable()
        return logtree.scope_header("Group Rollout", group=group_idx)

    def rollouts(self, split: str, iteration: int, groups: Iterable[Any]) -> None:
        """Write the rollout summaries of an iteration; within its `trace`, also log the first groups.

        A group has `trajectories_G`, `final_rewards_G` and `metrics_G`, like the cookbook's `TrajectoryGroup`: an
        object or a dict, alone or as the `trajectory_group` of something with `tags` and a `sampling_client_step`. Its
        number is its `group_idx`, else its place among these groups: if you removed groups after logging their
        rollouts, give each group the number of its scope. A trajectory may have `messages`.
        """
        records = records_of(self.split(split), iteration, groups)
        self.records(split, iteration, records)
        if logtree.current_trace() is not None:
            by_group: dict[str, list[Record]] = {}
            for record in records:
                by_group.setdefault(text_of(record["group_idx"]), []).append(record)
            for of_group in list(by_group.values())[: self.num_groups_to_log]:
                log_group(of_group)

    def records(self, split: str, iteration: int, records: Iterable[Mapping[str, Any]]) -> None:
        """Write rollout summaries that are already records."""
        data = b"".join(as_line(record) for record in records)
        atomic.write(self.path(split, iteration, ROLLOUTS), data)

    def logtree(self, split: str, iteration: int, document: Mapping[str, Any]) -> None:
        """Write the JSON of an outline made elsewhere."""
        atomic.write(self.path(split, iteration, TREE), dumped(jsonable(document), indent=2))


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
    records = []
    for number, outer in enumerate(groups):
        group = member(outer, "trajectory_group", outer)
        finals = list_of(group, "final_rewards_G", "final_rewards")
        metrics, tags = list_of(group, "metrics_G", "metrics"), tags_of(outer, group)
        for index, trajectory in enumerate(list_of(group, "trajectories_G", "trajectories")):
            final = jsonable(finals[index]) if index < len(finals) else member(trajectory, "final_reward", 0.0)
            steps = list(map(_step, enumerate(list_of(trajectory, "transitions", "steps", "transition"))))
            record = {
                "schema_version": SCHEMA,
                "split": split,
                "iteration": iteration,
                "group_idx": member(outer, "group_idx", member(group, "group_idx", number)),
                "traj_idx": index,
                "tags": tags,
                "sampling_client_step": member(outer, "sampling_client_step"),
                "total_reward": _total([step["reward"] for step in steps], final),
                "final_reward": final,
                "trajectory_metrics": metrics[index] if index < len(metrics) else {},
                "steps": steps,
                "final_ob_len": _length(trajectory, "final_ob"),
            }
            # the cookbook knows these and does not write them; readers of version 1 ignore them
            if (reason := member(trajectory, "stop_reason")) is not None:
                record["stop_reason"] = text_of(reason)
            if (messages := member(trajectory, "messages", member(trajectory, "conversation"))) is not None:
                record["conversation"] = messages_of(messages)
            records.append(jsonable(record))
    return records


def _step(numbered: tuple[int, Any]) -> Record:
    number, transition = numbered
    return {
        "step_idx": number,
        "ob_len": _length(transition, "ob"),
        "ac_len": _length(transition, "ac"),
        "reward": jsonable(member(transition, "reward", 0.0)),
        "episode_done": member(transition, "episode_done", False),
        "metrics": member(transition, "metrics", {}),
        "logs": member(transition, "logs", {}),
    }


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
    numbers = [value for value in [*rewards, jsonable(final)] if isinstance(value, int | float)]
    try:
        return sum(numbers[:-1]) + numbers[-1] if numbers else None
    except OverflowError:  # an integer beyond all floats, and a float
        return sum(float("inf") if value > 0 else float("-inf") for value in numbers if abs(value) > 1e300)


SHORT_CHARS = 120
"""Longer logs, and logs of several lines, are collapsed."""


def log_group(records: list[Record]) -> None:
    """Log the trajectories of a group, with the cookbook's titles of sections and tables."""
    with logtree.scope_header("Group Rollout", group=records[0]["group_idx"]):
        for record in records:
            if messages := record.get("conversation"):
                with logtree.scope_header(f"Conversation {record['traj_idx']}", trajectory=record["traj_idx"]):
                    logtree.conversation(messages)
        with logtree.scope_header("Trajectory Details"):
            for record in records:
                _log_trajectory(record)


def _log_trajectory(record: Record) -> None:
    index, steps = record["traj_idx"], record["steps"]
    with logtree.scope_header(f"Trajectory {index} Episode", trajectory=index):
        with logtree.scope_header("Episode Details"):
            for step in steps:
                _log_turn(step)
        try:
            earned = sum(step["reward"] for step in steps)
        except (TypeError, OverflowError):
            earned = None
        totals = {
            "num_turns": len(steps),
            "final_ob_len": record["final_ob_len"],
            "sum_step_rewards": _shown(earned),
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
                    shown = text_of(value)
                    if "\n" in shown or len(shown) > SHORT_CHARS:
                        logtree.details(shown, summary=key)
                    else:
                        logtree.log_text(f"{key}: {shown}")


def _shown(value: Any) -> str:
    try:
        return f"{value:.3f}"
    except (TypeError, ValueError, OverflowError):
        return text_of(value)
