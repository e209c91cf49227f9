"""The completions that TRL's trainers log: a Parquet file for each log.

Source: `GRPOTrainer.log` of TRL 1.7 to 1.16. The columns are step, prompt, completion, then a float for each reward
function, then what `log_extra` was given, then the advantage. A call of `log` overwrites the file of its step.
"""

import math
import os
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
from msgspec.structs import replace

from rolloupe.formats.generic.keys import Roles
from rolloupe.formats.generic.rows import NamedRows
from rolloupe.formats.reading import fields
from rolloupe.formats.reading.files import (
    FolderEntry,
    alone,
    file_of,
    files,
    folder_of,
    folders,
    is_one_file,
    links_of,
    source_at,
    while_unchanged,
)
from rolloupe.formats.reading.records import Record
from rolloupe.formats.reading.tables.parquet import ParquetFormat, column_types, leading_texts, repeats
from rolloupe.formats.reading.trackers.curves import LoggedRun
from rolloupe.formats.reading.trainer_files import read_json, read_text
from rolloupe.model import Location, Locator, RunInfo, RunPart, Sample, SampleRow, Source
from rolloupe.storage import is_file, path_state

FOLDER = "completions"
EVAL = "eval/eval"
MAX_COMPARED = 500
"""Files of one run whose groups are compared to find evaluations."""

SETTINGS = ("training_args.json", "args.json")
STATE = "trainer_state.json"
WEIGHTED = "the reward is the sum of its parts by the reward_weights of the configuration"
EQUAL = "the reward is the sum of its parts: the configuration has no reward_weights"
TOO_MANY = (
    "the reward is the sum of its parts without weights: the configuration has more reward_weights than there are parts"
)

_FEWER = ": the configuration has more reward_weights than there are parts"
_TELLING = {"loss_type", "reward_weights", "num_generations"}
_NAMED = re.compile(r"completions_[0-9]{1,15}\.parquet")
_CHECKPOINT = re.compile(r"checkpoint-(?P<step>[0-9]{1,15})")
_FLOATS = {"double", "float", "null"}

UNWEIGHTED = "the reward is the sum of its parts without weights: the file holds neither a total nor weights"

_MEAN = re.compile(r"(?:train/|eval/|eval_)?rewards/(?P<name>.+)/mean")
"""The metric of a reward function in TRL."""

_LEFT_OUT = dict.fromkeys(("messages", "score", "group", "env", "status_key"))

_OWN = {"prompt": "prompt", "response": "completion", "step": "step"}


class RewardFunctions(NamedTuple):
    """The reward functions of a run, as its configuration and metrics describe them."""

    weights: Sequence[float] | None = None
    """In the order of their columns; empty: 1 for each; None: unknown."""
    names: Sequence[str] = ()
    """Empty: unknown."""

    def among(self, columns: Sequence[str]) -> list[str]:
        """Return the reward functions among the columns of numbers behind the completion; others may follow them."""
        return [column for column in columns if column in self.names] or [*columns[: len(self.weights or columns)]]

    def fit(self, names: Sequence[str]) -> bool:
        """Tell whether the weights are those of these functions; what an environment adds has none, and counts 1."""
        return self.weights is not None and len(self.weights) <= len(names)

    def total(self, names: Sequence[str], parts: Mapping[str, float]) -> float | None:
        """Return the sum by weight of the parts that are numbers, as TRL's `nansum`."""
        weights = dict(zip(names, self.weights or (), strict=False)) if self.fit(names) else {}
        finite = [value * weights.get(name, 1.0) for name, value in parts.items() if value == value]
        return sum(finite) if finite else None


def reward_functions(config: object, metrics: Iterable[Iterable[str]]) -> RewardFunctions:
    """Return what TRL's configuration and the names of the metrics in its first rows say."""
    found = config.get("reward_weights", 0) if isinstance(config, dict) else 0
    weights = [*map(fields.number, found)] if isinstance(found, list) else [] if found is None else [None]
    named = ([match["name"] for metric in row if (match := _MEAN.fullmatch(metric))] for row in metrics)
    known = [weight for weight in weights if weight is not None and math.isfinite(weight)]
    return RewardFunctions(
        tuple(known) if len(known) == len(weights) else None, tuple(next((names for names in named if names), ()))
    )


class RewardParts(NamedRows):
    """A format whose rows have prompt, completion and the values of reward functions."""

    def roles(self, record: Record) -> Roles:
        """See `NamedRows`: the trainer's own names, whatever reward functions and extra columns are called."""
        found = super().roles(record)
        own = {role: key for role, key in _OWN.items() if key in record}
        return found._replace(**(dict.fromkeys(_OWN) | own | _LEFT_OUT), counts={})

    def summed(
        self, row: SampleRow, names: Sequence[str], values: dict[str, Any], known: RewardFunctions | None = None
    ) -> SampleRow:
        """Make the reward functions of a row parts of its reward, by weight if those are known."""
        parts = {name: value for name in names if (value := fields.number(values.get(name))) is not None}
        row.metrics = {name: value for name, value in row.metrics.items() if name not in names}
        row.metrics |= {f"reward.{name}": value for name, value in parts.items()}
        row.reward = (known or RewardFunctions()).total(names, parts)
        return row

    def sample(self, record: Record, row: SampleRow, locator: Locator) -> Sample:
        sample = super().sample(record, row, locator)
        parts = {name for name in sample.extra if f"reward.{name}" in row.metrics}
        sample.extra = {name: value for name, value in sample.extra.items() if name not in parts}
        if row.reward is not None:
            sample.notes.append(UNWEIGHTED)
        return sample


class TRL(RewardParts, ParquetFormat):
    """Completions of TRL."""

    name = "trl"
    title = "TRL"
    recognises = (
        "A folder with files `completions_{step}.parquet`, or with such a folder `completions/`, whose rows hold "
        "`step`, `prompt` and `completion`; one file under any name with these and `advantage`."
    )
    layout = (
        "`{output_dir}/completions/completions_{step:05d}.parquet`, which `log_completions=True` writes. "
        "[frameworks/trl.md](frameworks/trl.md) has the switches."
    )
    identity = (
        "step = `step`, else the file's number; group = a hash of the prompt, for TRL repeats a prompt in consecutive "
        "rows, with a number where a file asks it again later; index = `{file}:{row}`. Split `train`, or `eval/eval` "
        "for a file that an evaluation has overwritten: `trainer_state.json`, of the run or its newest checkpoint, has "
        "an evaluation at its step, or has no entry there and the groups are no multiple of those of most files."
    )
    reads = (
        ("`prompt`, `completion`", "turns, whether texts or messages with tool calls"),
        (
            "the columns of floats right after `completion`: reward functions",
            "sample metrics `reward.NAME`; the reward is their sum, which a note says, by `reward_weights` if known",
        ),
        ("`advantage`", "advantage"),
        ("other columns, from `log_extra`", "numbers are sample metrics, short texts tags, others extra"),
        ("`trainer_state.json`", "`log_history` as metrics"),
        (
            (
                "`training_args.json`, `args.json`, `config.yaml`, else event files of TensorBoard, a run of Weights & "
                "Biases or of trackio in the folder of the run"
            ),
            "configuration: `reward_weights`, and the update's rule (`loss_type`, `epsilon`, `epsilon_high`, `beta`)",
        ),
    )
    limits = (
        "The files hold no total reward, weights, token ids, logprobs, lengths or status, and only the last batch "
        "before each log. Unless `reward_weights` count them, a column of floats right behind the reward functions "
        "looks like one. "
        "Of a run of more than 500 files, evaluations are known by `trainer_state.json` alone."
    )

    def detect(self, path: Path, *, forced: bool = False, link_root: str = "") -> list[RunInfo]:
        links = link_root or str(path.resolve())
        if is_one_file(path):
            fitting = any(map(_is_whole, self.first_records([alone(path)])))
            return [self._run(path, path.stem, path, "", "one file of TRL")] if forced or fitting else []
        for folder in (path, path / FOLDER):
            listed = _completions(str(folder), links)
            if listed and (forced or any(map(self.fits, self.first_records([entry.location for entry in listed])))):
                name = (path.parent if path.name == FOLDER else path).name
                count = "one file" if len(listed) == 1 else f"{len(listed)} files"
                return [self._run(path, name, folder, links, f"{count} named completions_{{step}}.parquet")]
        return []

    def _run(self, root: Path, name: str, part: Path, links: str, what: str) -> RunInfo:
        reason = (
            f"{what}; equal prompts that follow each other are inferred to be a group, rewards are sums without weights"
        )
        run = self._run_at(root, reason, links, name, (RunPart(str(part)),))
        sources = self.sources(run)
        if (known := _functions_of(run)).weights:
            fitting = any(known.fit(known.among(_float_columns(source.location))) for source in sources[:1])
            reason = reason.replace("sums without weights", "sums by reward_weights") if fitting else reason + _FEWER
            run = replace(run, reason=reason)
        evals = sum(source.split == EVAL for source in sources)
        if not evals:
            return run
        said = f"{reason}; {evals} of the files hold an evaluation, which overwrote the rollouts of its step"
        return replace(run, reason=said)

    def fits(self, record: Record) -> bool:
        return {"step", "prompt", "completion"} <= record.keys()

    def sources(self, run: RunInfo) -> list[Source]:
        found = []
        functions = msgspec.json.encode(_functions_of(run)).decode()
        for part in run.parts:
            if is_file(part.path):
                step = fields.step_in(Path(part.path).stem)
                found.append(source_at(run, Location(part.path, links_of(run)), step=step, depends=functions))
                continue
            listed = _completions(part.path, links_of(run))
            history = {step: is_eval for state in _states(run) for step, is_eval in state.steps.items()}
            evals = _evaluations(listed, history)
            for entry in listed:
                split = EVAL if entry.path in evals else None
                step, depends = fields.step_in(Path(entry.name).stem), f"{split or ''}{functions}"
                found.append(source_at(run, entry.location, split=split, step=step, depends=depends))
        return found

    def row(self, source: Source, record: Record, start: int, length: int) -> SampleRow:
        known = _listed_with(source.depends)
        names = known.among(_float_columns(source.location))
        row = self.summed(super().row(source, record, start, length), names, record, known)
        times = repeats(source.location, "prompt")
        if start < len(times) and times[start]:
            row.group = f"{row.group}-{times[start] + 1}"
        return row

    def load(self, run: RunInfo, source: Source, locator: Locator) -> Sample:
        """See `Format`: the sum may have weights."""
        sample = super().load(run, source, locator)
        known = _listed_with(source.depends)
        if known.weights is not None:
            fitting = known.fit(known.among(_float_columns(source.location)))
            said = (WEIGHTED if known.weights else EQUAL) if fitting else TOO_MANY
            sample.notes = [said if note == UNWEIGHTED else note for note in sample.notes]
        return sample

    def config(self, run: RunInfo) -> dict[str, Any]:
        places = (file_of(folder, name, folder) for folder in _folders(run) for name in (*SETTINGS, "config.yaml"))
        state = tuple((place, path_state(place.path).st_mtime_ns) for place in places if place is not None)
        return _settings(state) or next((tracker.config for tracker in _tracked(run)), {})


@lru_cache(maxsize=256)
def _settings(state: tuple[tuple[Location, int], ...]) -> dict[str, Any]:
    """The first configuration among some files."""
    from rolloupe.formats.reading.yaml_values import yaml_settings

    for place, _ in state:
        if os.path.basename(place.path) in SETTINGS:
            if isinstance(found := read_json(place), dict):
                return found
        elif not _TELLING.isdisjoint(found := yaml_settings(read_text(place, 2**20))):
            return found
    return {}


def _tracked(run: RunInfo) -> list[LoggedRun]:
    """Return the logs of trackers in the folder of a run that hold settings of TRL, the newest of each first."""
    from rolloupe.formats.curve_files import first_looks

    folder = _folders(run)[-1]
    outer = run if folder == run.root else replace(run, root=folder, link_root=folder)
    return [tracker for tracker in first_looks(outer) if not _TELLING.isdisjoint(tracker.config)]


def _functions_of(run: RunInfo) -> RewardFunctions:
    """Read the reward functions from the configuration and the first metrics of a run."""
    logged = [state.names for state in _states(run)]
    tracked = [row.values for tracker in _tracked(run) for row in tracker.rows]
    return reward_functions(TRL().config(run), [*logged, *tracked])


@lru_cache(maxsize=256)
def _listed_with(depends: str) -> RewardFunctions:
    """Return the reward functions with which a source was listed."""
    return msgspec.json.decode(depends[depends.index("[") :], type=RewardFunctions)


def _is_whole(record: Record) -> bool:
    return {"step", "prompt", "completion", "advantage"} <= record.keys()


def _completions(folder: str, link_root: str) -> list[FolderEntry]:
    listed = [entry for entry in files(folder, link_root, (".parquet",)) if _NAMED.fullmatch(entry.name)]
    listed = listed or _of_other_names(folder, link_root)
    return sorted(listed, key=lambda entry: fields.step_in(Path(entry.name).stem) or 0)


def _of_other_names(folder: str, link_root: str) -> list[FolderEntry]:
    """Files of TRL under other names; without any among the first few, there is no search."""
    listed = files(folder, link_root, (".parquet",))
    if not any(map(_is_whole, TRL().first_records([entry.location for entry in listed[:2]]))):
        return []
    return [entry for entry in listed if any(map(_is_whole, TRL().first_records([entry.location])))]


def _float_columns(location: Location) -> list[str]:
    """The columns of floats between the completion and the first column of another kind."""
    types = column_types(location)
    names = list(types)
    found = []
    for name in names[names.index("completion") + 1 :] if "completion" in types else []:
        if name == "advantage" or types[name] not in _FLOATS:
            break
        found.append(name)
    return found


def _folders(run: RunInfo) -> list[str]:
    """The folder of the run, and the output folder where `completions/` itself was opened."""
    folder = folder_of(run)
    return [folder, *([os.path.dirname(folder)] if os.path.basename(folder) == FOLDER else [])]


class _State(NamedTuple):
    """The history in a trainer's state."""

    steps: dict[int, bool]
    """Each with whether an evaluation came at it."""
    names: tuple[str, ...]
    """The names of its metrics."""


def _states(run: RunInfo) -> list[_State]:
    places = [(place, folder) for folder in _folders(run) for place in (folder, *_newest_checkpoint(folder))]
    return [_state_in(state) for place, folder in places if (state := file_of(place, STATE, folder))]


def _newest_checkpoint(folder: str) -> list[str]:
    """A trainer that runs keeps its state in its checkpoints alone."""
    steps = {
        int(named["step"]): entry.path
        for entry in folders(folder, folder)
        if (named := _CHECKPOINT.fullmatch(entry.name))
    }
    return [steps[max(steps)]] if steps else []


@while_unchanged(64)
def _state_in(state: Location) -> _State:
    found: dict[int, bool] = {}
    names: dict[str, None] = {}
    for entry in fields.dicts(fields.as_dict(read_json(state)).get("log_history")):
        if (step := fields.integer(entry.get("step"))) is not None:
            found[step] = found.get(step, False) or any(key.startswith("eval_") for key in entry)
            names |= dict.fromkeys(entry)
    return _State(found, tuple(names))


def _evaluations(listed: list[FolderEntry], history: dict[int, bool]) -> set[str]:
    """The paths of the files that an evaluation has overwritten: the history decides on its steps."""
    known = {entry.path: history.get(fields.step_in(Path(entry.name).stem) or 0) for entry in listed}
    others = _of_other_size(listed) if len(listed) <= MAX_COMPARED else set()
    return {path for path, is_eval in known.items() if (path in others if is_eval is None else is_eval)}


def _of_other_size(listed: list[FolderEntry]) -> set[str]:
    """The files whose groups are no multiple of those of most files: neighbours may have the same prompt."""
    sizes = {entry.path: size for entry in listed if (size := _group_size(entry.location))}
    usual = Counter(sizes.values()).most_common(1)
    others = {path for path, size in sizes.items() if size % usual[0][0]}
    return others if len(others) * 2 < len(sizes) else set()


def _group_size(location: Location) -> int:
    """The most frequent number of equal prompts at the beginning of a file."""
    counts = Counter(Counter(leading_texts(location, "prompt")).values())
    return counts.most_common(1)[0][0] if counts else 0
