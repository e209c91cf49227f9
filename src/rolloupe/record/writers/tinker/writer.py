"""Writes runs of any layout in the Tinker cookbook's."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

from rolloupe.model import Checkpoint, MetricRow, Sample, SampleRow, Turn
from rolloupe.record.plain import as_line, jsonable
from rolloupe.record.writers.base import Left, Writer
from rolloupe.record.writers.tinker.log import PAGE, ROLLOUTS, TREE, Layout, Log
from rolloupe.record.writers.tinker.records import SCHEMA, Record, log_group
from rolloupe.storage import atomic

MAX_DIGITS = 11
"""Longer names of digits may be hashes of prompts."""

FINAL = "final_reward"
"""The part of a sample's reward that its steps did not earn. Every record has it."""

REPORTS = {"tree": TREE, "page": PAGE}
"""The files of an outline by kind, with the ends of their names."""

_OWN = {FINAL, "sampling_client_step"}
"""Sample metrics that have a key of their own in a record."""

_OF_THE_LAYOUT = {
    "schema_version", "split", "iteration", "group_idx", "traj_idx", "tags", "sampling_client_step", "total_reward",
    "final_reward", "trajectory_metrics", "steps", "final_ob_len", "conversation", "status", "stop_reason",
}  # fmt: skip


class TinkerWriter(Writer):
    """Writes a run as rollout summaries with the conversation in each record, and outlines of the first groups.

    Version 1 lacks the key of the conversation, and its readers ignore it; an outline would hold the text of a few
    groups only. `log` is the run's `Log`, for its configuration, checkpoints and code.
    """

    name: ClassVar[str] = "tinker"

    def __init__(self, path: str | Path, *, layout: Layout = "flat", num_groups_to_log: int = 4) -> None:
        self.log = Log(path, layout=layout, num_groups_to_log=num_groups_to_log, code=False)

    def write(self, split: str, step: int, samples: Iterable[Sample]) -> Left:
        """See `Writer` in `base`. Holds one sample at a time, and the samples of the groups that it logs."""
        from rolloupe.formats.tinker.format import Tinker
        from rolloupe.record.writers.comparison import Tally, read_back

        tally, numbers = Tally(), _Places()
        logged: dict[Any, list[Record]] = {}
        place = self.log.path(split, step, ROLLOUTS)
        with atomic.replacing(place) as file:
            for sample in samples:
                record = _record(self.log.split(split), step, sample, numbers)
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
        """See `ReportKeeper` in `base`: writes the run's own logs, in place of the outline made from its samples."""
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
        for one in checkpoints:
            batch = {} if one.step is None else {"batch": one.step}
            self.log.checkpoint(one.name, **{**batch, **one.paths, **one.extra})
        return {}


class _Numbers:
    """Whole numbers for names: a short number is its own; other names get the next free one."""

    def __init__(self) -> None:
        self._known: dict[str, int] = {}
        self._used: set[int] = set()

    def of(self, name: str) -> int:
        """Return the number of a name."""
        if name not in self._known:
            is_number = name.isascii() and name.isdecimal() and len(name) <= MAX_DIGITS and str(int(name)) == name
            number = int(name) if is_number else len(self._used)
            while number in self._used:
                number += 1
            self._known[name] = number
            self._used.add(number)
        return self._known[name]


class _Places:
    """The numbers of groups, and of trajectories in each."""

    def __init__(self) -> None:
        self._groups = _Numbers()
        self._indices: dict[str, _Numbers] = {}

    def of(self, group: str, index: str) -> tuple[int, int]:
        """Return the numbers of a group and of a sample in it."""
        return self._groups.of(group), self._indices.setdefault(group, _Numbers()).of(index)


def _record(split: str, step: int, sample: Sample, numbers: _Places) -> Record:
    from rolloupe.record.writers.texts import conversation_of

    row = sample.row
    group, index = numbers.of(sample.key.group, sample.key.index)
    answers = [turn for turn in sample.turns if turn.origin == "response" and turn.role == "assistant"]
    steps = [_step(number, turn, len(answers)) for number, turn in enumerate(answers)]
    _count_tokens(steps, sample)
    metrics = _beyond(row.metrics, steps)
    paid = sum(one["reward"] for one in steps)
    final = row.metrics.get("final_reward", 0.0 if row.reward is None else row.reward - paid)
    record: Record = {
        "schema_version": SCHEMA,
        "split": split,
        "iteration": step,
        "group_idx": group,
        "traj_idx": index,
        "tags": _tags(sample),
        "sampling_client_step": row.metrics.get("sampling_client_step"),
        "total_reward": row.reward,
        "final_reward": final,
        "trajectory_metrics": metrics,
        "steps": steps,
        "final_ob_len": sample.extra.get("final_ob_len", 0),
        "conversation": conversation_of(sample),
    }
    if not record["conversation"]:
        del record["conversation"]
    further = {key: value for key, value in sample.extra.items() if key not in _OF_THE_LAYOUT}
    return record | _status(sample) | further | _added(sample)


def _step(number: int, turn: Turn, count: int) -> Record:
    return {
        "step_idx": number,
        "ob_len": turn.metrics.get("ob_len"),
        "ac_len": turn.tokens,
        "reward": 0.0 if turn.reward is None else turn.reward,
        "episode_done": number == count - 1,
        "metrics": {key: value for key, value in turn.metrics.items() if key != "ob_len"},
        "logs": turn.logs,
    }


def _count_tokens(steps: list[Record], sample: Sample) -> None:
    """Give steps the counts that only the sample has."""
    row = sample.row
    if steps and steps[0]["ob_len"] is None:
        steps[0]["ob_len"] = row.prompt_tokens
    if len(steps) == 1 and steps[0]["ac_len"] is None:
        steps[0]["ac_len"] = row.response_tokens


def _beyond(metrics: dict[str, float], steps: list[Record]) -> dict[str, float]:
    """Return the sample metrics that its steps lack. A reader takes the mean over all that have a metric."""
    found = {}
    for key, value in metrics.items():
        values = [one["metrics"][key] for one in steps if key in one["metrics"]]
        if key in _OWN or (values and sum(values) / len(values) == value):
            continue
        found[key] = value
        for one in steps:
            one["metrics"].pop(key, None)
    return found


def _tags(sample: Sample) -> list[str]:
    """Return tags as a list, the environment first. Tags read from such a list become that list again."""
    row = sample.row
    named = [f"{key}={value}" for key, value in _named_tags(row).items()]
    return ([row.env] if row.env else []) + named if named or not row.tags else row.tags["tags"].split(", ")


def _named_tags(row: SampleRow) -> dict[str, str]:
    """Return the tags of a sample, except those read from a list of tags."""
    is_list = set(row.tags) == {"tags"} and row.tags["tags"].split(", ")[0] == row.env
    return {} if is_list else row.tags


def _status(sample: Sample) -> Record:
    """Return how a sample ended: only by the framework's own word if a reader takes it for this status."""
    from rolloupe.formats.tinker.turns import status

    row = sample.row
    reason: Record = {"stop_reason": row.status_raw} if row.status_raw else {}
    return reason if status(reason) == (row.status, row.status_raw) else {"status": row.status, **reason}


def _added(sample: Sample) -> Record:
    """Return the values that a sample has and the cookbook's records lack."""
    row = sample.row
    named = {
        "uid": row.uid, "trace_id": row.trace_id, "advantage": row.advantage, "discarded": row.discarded,
        "label": sample.label, "named_tags": _named_tags(row),
    }  # fmt: skip
    return {key: value for key, value in named.items() if value not in ("", None, {})}
