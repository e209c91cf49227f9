"""Tinker cookbook: the `log_path` of an RL run, in the layouts that its documentation and its releases have.

Source: tinker-cookbook, git from March 2026 (files flat in the folder, as documented) and releases 0.2.0 to 0.6.1 (a
folder an iteration); the contents are the same. `{base}` is `train` or `eval_{label}`.
"""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from rolloupe.formats import _fields as fields
from rolloupe.formats import _logtree as logtree
from rolloupe.formats import _trainer_files as trainer
from rolloupe.formats._files import files, links_of
from rolloupe.formats._jsonl import JsonlFormat, Record, Unusable, step_of
from rolloupe.formats._tinker_layout import HTML, LOGTREE, SUMMARIES, LogFile, log_file, log_files
from rolloupe.formats._tinker_turns import texts_of, turns_of
from rolloupe.model import (
    Checkpoint,
    Locator,
    LoggedTranscript,
    LogNode,
    MetricRow,
    RunFile,
    RunInfo,
    RunPart,
    Sample,
    SampleKey,
    SampleRow,
    Source,
    Status,
)

BESIDE = ("metrics.jsonl", "config.json", "checkpoints.jsonl")

_STOPS: dict[str, Status] = {
    "completed": "completed", "tool_stopped": "completed", "stop": "completed", "ok": "completed",
    "max_turns": "truncated", "max_tokens": "truncated", "max_sampled_tokens": "truncated", "length": "truncated",
    "max_tool_calls": "truncated", "context_overflow": "truncated", "parse_error": "error", "error": "error",
    "rollout_timeout": "error", "timeout": "error",
}  # fmt: skip
_PLACED: dict[str, Callable[[object], bool]] = {
    "split": lambda value: isinstance(value, str),
    "iteration": lambda value: fields.integer(value) is not None,
    "group_idx": lambda value: fields.name(value) is not None,
    "traj_idx": lambda value: fields.name(value) is not None,
    "tags": lambda value: isinstance(value, list) and all(fields.tag(tag) for tag in value),
    "sampling_client_step": lambda value: fields.number(value) is not None,
    "total_reward": lambda value: fields.number(value) is not None,
    "final_reward": lambda value: fields.number(value) is not None,
    "trajectory_metrics": lambda value: (
        isinstance(value, dict) and all(fields.number(member) is not None for member in value.values())
    ),
    "steps": lambda value: isinstance(value, list) and all(isinstance(step, dict) for step in value),
    "conversation": fields.is_messages,
    "status": lambda value: fields.tag(value) is not None,
    "stop_reason": lambda value: fields.tag(value) is not None,
}
"""The keys that have a place of their own, and whether their value does: what does not is extra."""

_FILES = {
    "metrics.jsonl": "metrics", "config.json": "configuration", "checkpoints.jsonl": "checkpoints",
    "code.diff": "changes of the code", "logs.log": "log", "timing_spans.jsonl": "timing",
    "trace_events.jsonl": "trace",
}  # fmt: skip


class Tinker(JsonlFormat):
    """Rollout summaries and logs of the Tinker cookbook."""

    name = "tinker"
    title = "Tinker cookbook"
    recognises = (
        "A folder with files named `{train,eval_LABEL}_iteration_NNNNNN` and `_rollout_summaries.jsonl`, "
        "`_logtree.json` or `.html`, with folders `iteration_NNNNNN/` that hold files named `train` or `eval_LABEL` "
        "and so on, or with `metrics.jsonl` beside `config.json` or `checkpoints.jsonl`."
    )
    layout = (
        "`log_path/`: the documented flat layout, a folder an iteration (0.2.0 and later), HTML alone (before), and "
        "any mixture; where both layouts have an iteration, the folder counts. `metrics.jsonl`, `config.json`, "
        "`checkpoints.jsonl`, `code.diff` lie beside."
    )
    identity = (
        "step = `iteration`; split = `train` or `eval/{label}`; group = `group_idx`, index = `traj_idx`. `group_idx` "
        "counts the groups that were left, so it is no problem's id."
    )
    reads = (
        ("`total_reward`", "the reward"),
        (
            "`steps`",
            (
                "a turn each: `assistant_content`, `tool_call_N` and `tool_result_N` of its `logs` as text and tool "
                "calls; `reward`, `metrics`, `ac_len` and other logs beside it"
            ),
        ),
        ("`trajectory_metrics`, `final_reward`, `sampling_client_step`", "sample metrics"),
        ("`metrics` of steps", "sample metrics: the mean over the steps that have it"),
        ("`stop/REASON` in metrics, `status`", "status"),
        ("`tags`", "environment (the first) and tag"),
        ("`conversation` (schema 3)", "the turns, where it is there"),
        ("`*_logtree.json`, else `*.html`", "the report of the step; its conversations are shown as logged"),
        ("`metrics.jsonl`", "metrics by step: rows of one step are merged, the last value counts"),
        ("any other key", "extra"),
    )  # fmt: skip
    limits = (
        "The files hold no prompt or response unless the environment logs them, no token ids, logprobs or advantages. "
        "The order of conversations in a logtree is not that of the trajectories, so they are never joined by position."
    )

    def detect(self, path: Path, *, forced: bool = False, link_root: str = "") -> list[RunInfo]:
        """See `Format`."""
        if path.is_file():
            log = log_file(path)
            is_one = forced or (log is not None and log.what == SUMMARIES)
            name = path.name.removesuffix(SUMMARIES)
            return [self._run(path, name, "one file of rollout summaries", "", [str(path)])] if is_one else []
        links = link_root or str(path.resolve())
        found = log_files(str(path), links)
        names = {entry.name for entry in files(str(path), links, BESIDE)}
        is_log = "metrics.jsonl" in names and not names.isdisjoint(BESIDE[1:])
        if found or is_log:
            return [self._run(path, path.name, _reason(found), links, [str(path)])]
        named = [entry.path for entry in files(str(path), links)] if forced else []
        return [self._run(path, path.name, "read as a person asked", links, named)] if named else []

    def _run(self, path: Path, name: str, reason: str, links: str, places: list[str]) -> RunInfo:
        parts = tuple(RunPart(place) for place in places)
        return RunInfo(name=name, root=str(path), format=self.name, reason=reason, parts=parts, link_root=links)

    def sources(self, run: RunInfo) -> list[Source]:
        """See `Format`. Of an iteration that lies there in both layouts the folder's file counts."""
        if [part.path for part in run.parts] != [run.root] or Path(run.root).is_file():
            return [_one_source(Path(part.path)) for part in run.parts if Path(part.path).is_file()]
        logs = {(log.split, log.step): log for log in log_files(run.root, links_of(run)) if log.what == SUMMARIES}
        return [Source(path=log.path, name=log.name, split=log.split, step=log.step) for log in logs.values()]

    def row(self, source: Source, record: Record, start: int, length: int) -> SampleRow:
        """See `JsonlFormat`."""
        if not ("total_reward" in record or "steps" in record or "traj_idx" in record):
            raise Unusable("an object without total_reward, steps or traj_idx is no sample")
        steps = [step for step in _list(record.get("steps")) if isinstance(step, dict)]
        step = step_of(record.get("iteration"))
        status, status_raw = _status(record, steps)
        prompt, response = texts_of(record.get("conversation"), steps)
        answered = [n for one in steps if (n := fields.count(one.get("ac_len"))) is not None]
        tags = [text for tag in _list(record.get("tags")) if (text := fields.tag(tag))]
        return SampleRow(
            split=_split(source, record),
            step=step if step is not None else (source.step or 0),
            group=fields.name(record.get("group_idx")) or "0",
            index=fields.name(record.get("traj_idx")) or str(start),
            ordinal=start,
            start=start,
            length=length,
            reward=fields.number(record.get("total_reward")),
            status=status,
            status_raw=status_raw,
            turns=len(steps),
            prompt_tokens=fields.count(steps[0].get("ob_len")) if steps else None,
            response_tokens=sum(answered) if answered else None,
            env=tags[0] if tags else "",
            metrics=_metrics(record, steps),
            tags={"tags": ", ".join(tags)} if tags else {},
            prompt=prompt,
            response=response,
        )

    def sample(self, record: Record, row: SampleRow, locator: Locator) -> Sample:
        """See `JsonlFormat`."""
        steps = [step for step in _list(record.get("steps")) if isinstance(step, dict)]
        notes = [] if row.prompt or row.response else [
            "the trainer logged no text for this sample; what it logged for the step is in the report"
        ]  # fmt: skip
        return Sample(
            key=SampleKey(row.split, row.step, row.group, row.index),
            row=row,
            locator=locator,
            turns=turns_of(record.get("conversation"), steps),
            prompt_text=row.prompt,
            response_text=row.response,
            extra={key: fields.showable(value) for key, value in record.items() if not _is_shown(key, value)},
            notes=notes,
        )

    # What lies beside the samples

    def metrics(self, run: RunInfo) -> list[MetricRow]:
        """See `TrainerFiles`."""
        return trainer.merged_metrics(trainer.records(_beside(run, "metrics.jsonl")))

    def config(self, run: RunInfo) -> dict[str, Any]:
        """See `TrainerFiles`."""
        found = trainer.read_json(_beside(run, "config.json"))
        return found if isinstance(found, dict) else {}

    def checkpoints(self, run: RunInfo) -> list[Checkpoint]:
        """See `TrainerFiles`."""
        return trainer.checkpoints_of(trainer.records(_beside(run, "checkpoints.jsonl")), ("name", "batch"))

    def code_diff(self, run: RunInfo) -> str:
        """See `TrainerFiles`."""
        return trainer.read_text(_beside(run, "code.diff"))

    def files(self, run: RunInfo) -> list[RunFile]:
        """See `TrainerFiles`."""
        return trainer.listed_files(run.root, _FILES) if Path(run.root).is_dir() else []

    def logtrees(self, run: RunInfo) -> list[tuple[str, int]]:
        """See `TrainerFiles`."""
        return sorted(_logs(run), key=lambda key: (key[0] != "train", *key))

    def logtree(self, run: RunInfo, split: str, step: int) -> LogNode | None:
        """See `TrainerFiles`."""
        place = _logs(run).get((split, step))
        if place is None:
            return None
        if place.endswith(HTML):
            return logtree.from_html(trainer.read_text(place))
        return logtree.from_json(trainer.read_json(place))

    def conversations(self, run: RunInfo, split: str, step: int) -> list[LoggedTranscript]:
        """See `TrainerFiles`."""
        root = self.logtree(run, split, step)
        return [
            LoggedTranscript(split=split, step=step, title=" / ".join(titles), turns=node.turns)
            for titles, node in (_conversations(root, ()) if root else ())
        ]


def _one_source(path: Path) -> Source:
    log = log_file(path)
    return Source(path=str(path), name=path.name, split=log.split if log else None, step=log.step if log else None)


def _reason(found: list[LogFile]) -> str:
    steps = len({log.step for log in found})
    flat = sum(log.is_flat for log in found)
    if not found:
        return "metrics.jsonl beside a config or checkpoints, no iterations yet"
    places = "flat files" if flat == len(found) else "flat files and folders" if flat else "folders"
    return f"{steps} iteration{'s' if steps != 1 else ''} in {places} named iteration_NNNNNN"


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def _dict(value: object) -> dict[Any, Any]:
    return value if isinstance(value, dict) else {}


def _is_shown(key: str, value: object) -> bool:
    return key in _PLACED and (value is None or _PLACED[key](value))


def _split(source: Source, record: Record) -> str:
    """The split of the file's name, which is the record's own; of a file by itself, the record's."""
    own = fields.name(record.get("split"))
    return source.split or (own if own and own.startswith("eval/") else "train")


def _metrics(record: Record, steps: list[dict[str, Any]]) -> dict[str, float]:
    """Sample metrics: of the steps the mean over those that have it, over it what the trajectory says itself."""
    seen: dict[str, list[float]] = {}
    for step in steps:
        for key, value in _dict(step.get("metrics")).items():
            if (number := fields.number(value)) is not None:
                seen.setdefault(str(key), []).append(number)
    found = {key: sum(values) / len(values) for key, values in seen.items()}
    own = {**_dict(record.get("trajectory_metrics"))}
    own |= {key: record[key] for key in ("final_reward", "sampling_client_step") if key in record}
    return found | {str(key): number for key, value in own.items() if (number := fields.number(value)) is not None}


def _status(record: Record, steps: list[dict[str, Any]]) -> tuple[Status, str]:
    for key in ("stop_reason", "status"):
        word = fields.tag(record.get(key))
        if word and (key == "status" or record.get("status") in (None, "ok")):
            return _STOPS.get(word, "unknown"), word
    for metrics in (_dict(record.get("trajectory_metrics")), *(_dict(step.get("metrics")) for step in reversed(steps))):
        for key, value in metrics.items():
            if str(key).startswith("stop/") and fields.number(value):
                word = str(key).removeprefix("stop/")
                return _STOPS.get(word, "unknown"), word
    return "unknown", ""


def _beside(run: RunInfo, name: str) -> str:
    """The path of a file beside the samples, empty where links keep it out."""
    return next((e.path for e in files(run.root, links_of(run), (name,)) if e.name == name), "")


def _logs(run: RunInfo) -> dict[tuple[str, int], str]:
    """The best outline of each split and step: JSON over HTML, a folder's over a flat one."""
    found: dict[tuple[str, int], str] = {}
    listed = log_files(run.root, links_of(run)) if Path(run.root).is_dir() else []
    for what in (HTML, LOGTREE):
        found |= {(log.split, log.step): log.path for log in listed if log.what == what}
    return found


def _conversations(node: LogNode, above: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], LogNode]]:
    titles = (*above, node.title) if node.title else above
    if node.kind == "conversation":
        yield titles, node
    for child in node.children:
        yield from _conversations(child, titles)
