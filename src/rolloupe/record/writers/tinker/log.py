"""The `log_path` of a run of the Tinker cookbook, written from a training loop.

It writes what the cookbook itself writes, byte for byte and at the same places: JSON of Python's standard library,
appended lines, whole files renamed into place. It converts values that JSON cannot hold; it raises `OSError` if it
cannot write to the disk.
"""

import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any, Literal

from rolloupe.record import logtree
from rolloupe.record.folder import code_diff
from rolloupe.record.plain import as_line, dumped, jsonable, settings, text_of
from rolloupe.record.writers.tinker.records import Record, log_group, records_of
from rolloupe.storage import atomic

Layout = Literal["flat", "folders"]

ROLLOUTS, TREE, PAGE = "_rollout_summaries.jsonl", "_logtree.json", ".html"
METRICS, CONFIG, CHECKPOINTS, DIFF = "metrics.jsonl", "config.json", "checkpoints.jsonl", "code.diff"
TRAIN = "train"

MAX_LABEL_CHARS = 150
"""A longer label ends in its hash: the whole file name has a maximum length."""

_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9_.-]+")


def label_of(name: str) -> str:
    """Return the label of an evaluator in file names, by the cookbook's rule."""
    label = _NOT_IN_NAMES.sub("_", name).strip("._") or "unnamed"
    return label if len(label) <= MAX_LABEL_CHARS else told_apart(label, name)


def told_apart(label: str, name: str) -> str:
    """Return a label that another name already uses, followed by a hash of this name."""
    digest = hashlib.blake2b(name.encode("utf-8", "surrogatepass"), digest_size=6).hexdigest()
    return f"{label[: MAX_LABEL_CHARS - len(digest) - 1]}_{digest}"


def path_of(folder: Path, layout: Layout, base: str, iteration: int, suffix: str) -> Path:
    """Return the path of a file of an iteration; `base` is `train` or `eval_{label}`."""
    if layout == "flat":
        return folder / f"{base}_iteration_{iteration:06d}{suffix}"
    return folder / f"iteration_{iteration:06d}" / f"{base}{suffix}"


_STEP = "step"


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

    # The run

    def config(self, config: object) -> None:
        """Write `config.json`: functions and classes by their qualified names, objects by their fields."""
        atomic.write(self.log_path / CONFIG, dumped(settings(config), indent=2))

    def code_diff(self, diff: str) -> None:
        """Write `code.diff`."""
        atomic.write(self.log_path / DIFF, diff.encode("utf-8", "replace"))

    def metrics(self, step: int | None, values: Mapping[str, object]) -> None:
        """Append a row to `metrics.jsonl`; readers merge the rows of one step.

        A metric named `step` would replace the step, so it is written as `metrics/step`.
        """
        row: Record = {} if step is None else {_STEP: jsonable(step)}
        named = {text_of(key): value for key, value in values.items()}
        row |= {f"metrics/{key}" if key == _STEP else key: value for key, value in named.items()}
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
        found = [one for one in _objects(self.log_path / CHECKPOINTS) if one.get(required) is not None]
        return found[-1] if found else None

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
        earlier = [line for line in lines if not _is_from(line, step)]
        if len(earlier) < len(lines):
            atomic.write(self.log_path / f"{METRICS}.pre_resume_{step:06d}", before)
            atomic.write(path, b"".join(line + b"\n" for line in earlier))
        return len(lines) - len(earlier)

    # The files of an iteration

    def path(self, split: str, iteration: int, suffix: str) -> Path:
        """Return the path of a file of an iteration."""
        base = self.split(split).replace("/", "_", 1)
        return path_of(self.log_path, self.layout, base, iteration, suffix)

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
        title = (
            f"RL Iteration {iteration}"
            if split == TRAIN
            else f"Running evaluation {split.removeprefix('eval/')} {iteration}"
        )
        paths = [self.path(split, iteration, suffix) if self.num_groups_to_log else None for suffix in (PAGE, TREE)]
        with logtree.init_trace(title, paths[0], json_path=paths[1]) as trace:
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
            for number in list(dict.fromkeys(text_of(one["group_idx"]) for one in records))[: self.num_groups_to_log]:
                log_group([one for one in records if text_of(one["group_idx"]) == number])

    def records(self, split: str, iteration: int, records: Iterable[Mapping[str, Any]]) -> None:
        """Write rollout summaries that are already records."""
        data = b"".join(as_line(record) for record in records)
        atomic.write(self.path(split, iteration, ROLLOUTS), data)

    def logtree(self, split: str, iteration: int, document: Mapping[str, Any]) -> None:
        """Write the JSON of an outline made elsewhere."""
        atomic.write(self.path(split, iteration, TREE), dumped(jsonable(document), indent=2))


def _is_from(line: bytes, step: int) -> bool:
    found = _object(line).get(_STEP)
    return isinstance(found, int) and found >= step


def _objects(path: Path) -> Iterator[Record]:
    if path.is_file():
        yield from map(_object, path.read_bytes().split(b"\n"))


def _object(line: bytes) -> Record:
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}
