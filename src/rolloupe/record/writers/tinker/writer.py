"""Writes runs of any layout in the Tinker cookbook's."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

from rolloupe.model import Checkpoint, MetricRow, Sample
from rolloupe.record.plain import as_line, jsonable
from rolloupe.record.writers import Left, Writer
from rolloupe.record.writers.comparison import Tally, free_number, number_in, read_back
from rolloupe.record.writers.tinker import PAGE, ROLLOUTS, SCHEMA, TREE, Layout, Log, Record, log_group
from rolloupe.storage import atomic

MAX_DIGITS = 11
"""Longer names of digits may be hashes of prompts."""

REPORTS = {"tree": TREE, "page": PAGE}
"""The ends of the names of an outline's files, by kind."""

_OWN = {"final_reward", "sampling_client_step"}
"""Sample metrics with a key of their own in a record. The final reward is the part that no step earned."""

_OF_THE_LAYOUT = {
    "schema_version", "split", "iteration", "group_idx", "traj_idx", "tags", "sampling_client_step", "total_reward",
    "final_reward", "trajectory_metrics", "steps", "final_ob_len", "conversation", "status", "stop_reason",
}  # fmt: skip


class TinkerWriter(Writer):
    """Writes a run as rollout summaries, and outlines of the first groups.

    Each record has the conversation, under a key that readers of version 1 ignore: outlines hold the text of a few
    groups only. `log` is the run's `Log`, for its configuration, checkpoints and code.
    """

    name: ClassVar[str] = "tinker"
    takes_reports: ClassVar[bool] = True

    def __init__(self, path: str | Path, *, layout: Layout = "flat", num_groups_to_log: int = 4) -> None:
        self.log = Log(path, layout=layout, num_groups_to_log=num_groups_to_log, code=False)

    def write(self, split: str, step: int, samples: Iterable[Sample]) -> Left:
        from rolloupe.formats.tinker.format import Tinker

        tally, groups, indices = Tally(), _Numbers(), dict[str, _Numbers]()
        logged: dict[Any, list[Record]] = {}
        place = self.log.path(split, step, ROLLOUTS)
        with atomic.replacing(place) as file:
            for sample in samples:
                key = sample.key
                numbers = groups.of(key.group), indices.setdefault(key.group, _Numbers()).of(key.index)
                record = _record(self.log.split(split), step, numbers, sample)
                file.write(as_line(record))
                copy = read_back(Tinker(), jsonable(record), place.name, self.log.split(split), step, nan=True)
                tally.compare(sample, copy)
                if record["group_idx"] in logged or len(logged) < self.log.num_groups_to_log:
                    logged.setdefault(record["group_idx"], []).append(jsonable(record))
        if logged:
            with self.log.trace(split, step):
                for records in logged.values():
                    log_group(records)
        return tally.found

    def metrics(self, rows: Sequence[MetricRow]) -> Left:
        for row in rows:
            when = {"time": row.time_s} if row.step is None and row.time_s is not None else {}
            self.log.metrics(row.step, {**when, **row.values})
        late = sum(row.step is not None and row.time_s is not None for row in rows)
        return {"times of metric rows": late} if late else {}

    def report(self, split: str, step: int, files: Mapping[str, bytes]) -> None:
        for kind, suffix in REPORTS.items():
            place = self.log.path(split, step, suffix)
            if kind in files:
                atomic.write(place, files[kind])
            else:
                place.unlink(missing_ok=True)

    def keep(self, config: Mapping[str, Any], checkpoints: Sequence[Checkpoint], code_diff: str) -> Left:
        if config:
            self.log.config(config)
        if code_diff:
            self.log.code_diff(code_diff)
        for saved in checkpoints:
            batch = {} if saved.step is None else {"batch": saved.step}
            self.log.checkpoint(saved.name, **{**batch, **saved.paths, **saved.extra})
        return {}


class _Numbers:
    """Whole numbers for names: a short number is its own; other names get the next free one."""

    def __init__(self) -> None:
        self._known: dict[str, int] = {}
        self._used: set[int] = set()

    def of(self, name: str) -> int:
        if name not in self._known:
            self._known[name] = free_number(number_in(name, MAX_DIGITS), self._used)
        return self._known[name]


def _record(split: str, step: int, numbers: tuple[int, int], sample: Sample) -> Record:
    from rolloupe.formats.tinker.turns import status
    from rolloupe.record.writers.texts import conversation_of

    row = sample.row
    steps = _steps(sample)
    metrics = _beyond(row.metrics, steps)
    earned = sum(step["reward"] for step in steps)
    # the tags that were read from a list, which begins with the environment, become that list again
    is_list = set(row.tags) == {"tags"} and row.tags["tags"].split(", ")[0] == row.env
    named_tags = {} if is_list else row.tags
    tags = [*([row.env] if row.env else []), *(f"{key}={value}" for key, value in named_tags.items())]
    record: Record = {
        "schema_version": SCHEMA,
        "split": split,
        "iteration": step,
        "group_idx": numbers[0],
        "traj_idx": numbers[1],
        "tags": row.tags["tags"].split(", ") if is_list else tags,
        "sampling_client_step": row.metrics.get("sampling_client_step"),
        "total_reward": row.reward,
        "final_reward": row.metrics.get("final_reward", 0.0 if row.reward is None else row.reward - earned),
        "trajectory_metrics": metrics,
        "steps": steps,
        "final_ob_len": sample.extra.get("final_ob_len", 0),
    }
    if conversation := conversation_of(sample):
        record["conversation"] = conversation
    reason: Record = {"stop_reason": row.status_raw} if row.status_raw else {}
    if status(reason) != (row.status, row.status_raw):  # a reader would misread the framework's own word
        record["status"] = row.status
    record |= reason
    record |= {key: value for key, value in sample.extra.items() if key not in _OF_THE_LAYOUT}
    beyond = {
        "uid": row.uid, "trace_id": row.trace_id, "advantage": row.advantage, "discarded": row.discarded,
        "label": sample.label, "named_tags": named_tags,
    }  # fmt: skip
    return record | {key: value for key, value in beyond.items() if value not in ("", None, {})}


def _steps(sample: Sample) -> list[Record]:
    """Return a step for each answer, with the counts of tokens that only the sample has."""
    answers = [turn for turn in sample.turns if turn.origin == "response" and turn.role == "assistant"]
    steps: list[Record] = [
        {
            "step_idx": number,
            "ob_len": turn.metrics.get("ob_len"),
            "ac_len": turn.tokens,
            "reward": 0.0 if turn.reward is None else turn.reward,
            "episode_done": number == len(answers) - 1,
            "metrics": {key: value for key, value in turn.metrics.items() if key != "ob_len"},
            "logs": turn.logs,
        }
        for number, turn in enumerate(answers)
    ]
    if steps and steps[0]["ob_len"] is None:
        steps[0]["ob_len"] = sample.row.prompt_tokens
    if len(steps) == 1 and steps[0]["ac_len"] is None:
        steps[0]["ac_len"] = sample.row.response_tokens
    return steps


def _beyond(metrics: dict[str, float], steps: list[Record]) -> dict[str, float]:
    """Return the sample metrics that are not the mean of a metric of the steps, as readers take it."""
    beyond = {}
    for key, value in metrics.items():
        values = [step["metrics"][key] for step in steps if key in step["metrics"]]
        if key in _OWN or (values and sum(values) / len(values) == value):
            continue
        beyond[key] = value
        for step in steps:
            step["metrics"].pop(key, None)
    return beyond
