"""The completions that TRL's trainers log, in a Parquet file for each log, and those of ms-swift, in lines of JSON.

TRL: `GRPOTrainer.log` of 1.7 to 1.16. The columns are step, prompt, completion, then a float for each reward function,
then the columns of `log_extra`, then the advantage. A call of `log` overwrites the file of its step.

ms-swift: `JsonlWriter` and the trainers of 4.6 (`swift/rlhf_trainers/grpo_trainer.py`, `rollout_mixin.py`). A line is a
log with its columns as lists: step, prompt, completion, a list for each reward function, advantages, then the columns
that the rollout added. With Megatron (`swift/megatron/trainers`) the step is `gen_step`; with Ray
(`swift/ray/megatron`) a line is a sample.
"""

import math
import os
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import msgspec
from msgspec.structs import replace

from rolloupe.formats.generic.keys import Roles
from rolloupe.formats.generic.rows import NamedRows, number_row
from rolloupe.formats.reading import documents, files, jsonl
from rolloupe.formats.reading import value_parsers as parsers
from rolloupe.formats.reading.records import Record, Unusable, step_of
from rolloupe.formats.reading.tables.parquet import ParquetFormat, column_types, leading_texts, repeats
from rolloupe.formats.reading.trackers.curves import LoggedRun
from rolloupe.formats.reading.trainer_files import read_json, read_text
from rolloupe.model import Location, Locator, RunInfo, RunPart, Sample, SampleRow, Scanned, Source
from rolloupe.storage import path_state

FOLDER = "completions"
EVAL = "eval/eval"
MAX_COMPARED = 500
"""The most files of a run whose groups are compared to find evaluations."""

SETTINGS = ("training_args.json", "args.json")
STATE = "trainer_state.json"
WEIGHTED = "the reward is the sum of its parts by the reward_weights of the configuration"
EQUAL = "the reward is the sum of its parts: the configuration has no reward_weights"
TOO_MANY = (
    "the reward is the sum of its parts without weights: the configuration has more reward_weights than there are parts"
)

UNWEIGHTED = "the reward is the sum of its parts without weights: the file holds neither a total nor weights"
_TELLING = {"loss_type", "reward_weights", "num_generations"}
_NAMED = re.compile(r"completions_[0-9]{1,15}\.parquet")
_CHECKPOINT = re.compile(r"checkpoint-(?P<step>[0-9]{1,15})")
_FLOATS = {"double", "float", "null"}
_MEAN = re.compile(r"(?:train/|eval/|eval_)?rewards/(?P<name>.+)/mean")
"""The metric of a reward function in TRL."""
_OWN = {"prompt": "prompt", "response": "completion", "step": "step"}
_LEFT_OUT = dict.fromkeys((*_OWN, "messages", "score", "group", "env", "status_key"))


class RewardFunctions(NamedTuple):
    """The reward functions of a run, as its configuration and metrics describe them."""

    weights: Sequence[float] | None = None
    """The weights in the order of the columns; empty: 1 for each; None: unknown."""
    names: Sequence[str] = ()
    """Empty: unknown."""

    def among(self, columns: Sequence[str]) -> list[str]:
        """Return the reward functions among the columns of numbers after the completion; others may follow them."""
        return [column for column in columns if column in self.names] or [*columns[: len(self.weights or columns)]]

    def fit(self, names: Sequence[str]) -> bool:
        """Tell whether the weights belong to these functions; an environment's reward has no weight, and counts 1."""
        return self.weights is not None and len(self.weights) <= len(names)

    def total(self, names: Sequence[str], parts: Mapping[str, float]) -> float | None:
        """Return the weighted sum of the parts that are numbers, like TRL's `nansum`."""
        weights = dict(zip(names, self.weights or (), strict=False)) if self.fit(names) else {}
        finite = [value * weights.get(name, 1.0) for name, value in parts.items() if value == value]
        return sum(finite) if finite else None


def reward_functions(config: object, metrics: Iterable[Iterable[str]]) -> RewardFunctions:
    """Return the reward functions by TRL's configuration, and by the names of the metrics in its first rows."""
    found = config.get("reward_weights", 0) if isinstance(config, dict) else 0
    weights = [*map(parsers.number, found)] if isinstance(found, list) else [] if found is None else [None]
    named = ([match["name"] for metric in row if (match := _MEAN.fullmatch(metric))] for row in metrics)
    known = [weight for weight in weights if weight is not None and math.isfinite(weight)]
    return RewardFunctions(
        tuple(known) if len(known) == len(weights) else None, tuple(next((names for names in named if names), ()))
    )


class RewardParts(NamedRows):
    """A format whose rows have prompt, completion and the values of reward functions."""

    def roles(self, record: Record) -> Roles:
        """See `NamedRows`: only the trainer's own names count: reward functions and extra columns may have any."""
        own = {role: key for role, key in _OWN.items() if key in record}
        return super().roles(record)._replace(**(_LEFT_OUT | own), counts={})

    def summed(
        self, row: SampleRow, names: Sequence[str], values: dict[str, Any], known: RewardFunctions | None = None
    ) -> SampleRow:
        """Make the reward functions of a row the parts of its reward, weighted if the weights are known."""
        parts = {name: value for name in names if (value := parsers.number(values.get(name))) is not None}
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
    needed = frozenset(("step", "prompt", "completion"))

    def detect(self, path: Path, *, forced: bool = False, link_root: str = "") -> list[RunInfo]:
        found = super().detect(path, forced=forced, link_root=link_root)
        return [replace(run, reason=self._described(run)) for run in found]

    def _described(self, run: RunInfo) -> str:
        reason, sources = run.reason, self.sources(run)
        if (known := _functions_of(run)).weights:
            if any(known.fit(known.among(_float_columns(source.location))) for source in sources[:1]):
                reason = reason.replace("sums without weights", "sums by reward_weights")
            else:
                reason += ": the configuration has more reward_weights than there are parts"
        if evals := sum(source.split == EVAL for source in sources):
            reason += f"; {evals} of the files hold an evaluation, which overwrote the rollouts of its step"
        return reason

    def parts(self, folder: Path, links: str) -> list[RunPart]:
        is_inner = not _completions(str(folder), links) and _completions(str(folder / FOLDER), links)
        return [RunPart(str(folder / FOLDER if is_inner else folder))]

    def locations(self, folder: str, links: str) -> list[Location]:
        return [entry.location for entry in _completions(folder, links)]

    def fits_any(self, locations: Sequence[Location]) -> bool:
        """See `RecordFormat`: a single file, under any name, needs the column of advantages."""
        return _hold_completions(locations) if _is_alone(locations) else super().fits_any(locations)

    def reason(self, locations: Sequence[Location]) -> str:
        named = f"{files.file_count(locations)} named completions_{{step}}.parquet"
        groups = "equal prompts that follow each other are inferred to be a group"
        what = "one file of TRL" if _is_alone(locations) else named
        return f"{what}; {groups}, rewards are sums without weights"

    def sources(self, run: RunInfo) -> list[Source]:
        functions = msgspec.json.encode(_functions_of(run)).decode()
        sources, named = super().sources(run), {part.path for part in run.parts}
        listed = [source for source in sources if source.path not in named]
        history = {step: is_eval for state in _states(run) for step, is_eval in state.steps.items()} if listed else {}
        odd = _of_other_size(listed) if len(listed) <= MAX_COMPARED else set()
        evals = {source.path for source in listed if history.get(source.step or 0, source.path in odd)}
        splits = [EVAL if source.path in evals else None for source in sources]
        return [
            replace(source, split=split, depends=f"{split or ''}{functions}")
            for source, split in zip(sources, splits, strict=True)
        ]

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
            weighting = (WEIGHTED if known.weights else EQUAL) if fitting else TOO_MANY
            sample.notes = [weighting if note == UNWEIGHTED else note for note in sample.notes]
        return sample

    def config(self, run: RunInfo) -> dict[str, Any]:
        places = (
            files.file_of(folder, name, folder) for folder in _folders(run) for name in (*SETTINGS, "config.yaml")
        )
        state = tuple((place, path_state(place.path).st_mtime_ns) for place in places if place is not None)
        return _settings(state) or next((tracker.config for tracker in _tracked(run)), {})


@lru_cache(maxsize=256)
def _settings(state: tuple[tuple[Location, int], ...]) -> dict[str, Any]:
    """The first configuration in these files."""
    from rolloupe.formats.reading.yaml_values import yaml_settings

    for place, _ in state:
        if os.path.basename(place.path) in SETTINGS:
            if isinstance(found := read_json(place), dict):
                return found
        elif not _TELLING.isdisjoint(found := yaml_settings(read_text(place, 2**20))):
            return found
    return {}


def _tracked(run: RunInfo) -> list[LoggedRun]:
    """Return the logs with settings of TRL that trackers keep in the folder of a run, the newest of each first."""
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
    return msgspec.json.decode(depends[depends.index("[") :], type=RewardFunctions)


def _is_alone(locations: Sequence[Location]) -> bool:
    return locations[0].path == locations[0].root


def _hold_completions(places: Sequence[Location]) -> bool:
    """Whether files begin with rows of TRL, under any names."""
    return any({"step", "prompt", "completion", "advantage"} <= row.keys() for row in TRL().first_records(places))


def _completions(folder: str, link_root: str) -> list[files.FolderEntry]:
    """The files of completions; files of other names only if one of the first few holds completions."""
    every = files.files(folder, link_root, (".parquet",))
    listed = [entry for entry in every if _NAMED.fullmatch(entry.name)]
    if not listed and _hold_completions([entry.location for entry in every[:2]]):
        listed = [entry for entry in every if _hold_completions([entry.location])]
    return sorted(listed, key=lambda entry: parsers.step_in(Path(entry.name).stem) or 0)


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
    """The folder of the run, and the output folder above it if `completions/` itself was opened."""
    folder = files.folder_of(run)
    return [folder, *([os.path.dirname(folder)] if os.path.basename(folder) == FOLDER else [])]


class _State(NamedTuple):
    """The history in a trainer's state."""

    steps: dict[int, bool]
    """True for a step with an evaluation."""
    names: tuple[str, ...]
    """The names of its metrics."""


def _states(run: RunInfo) -> list[_State]:
    """The states in the folder and in its newest checkpoint, where a running trainer keeps its only state."""
    found = []
    for folder in _folders(run):
        named = ((_CHECKPOINT.fullmatch(entry.name), entry.path) for entry in files.folders(folder, folder))
        checkpoints = {int(match["step"]): path for match, path in named if match}
        newest = [checkpoints[max(checkpoints)]] if checkpoints else []
        found += [_state_in(state) for place in (folder, *newest) if (state := files.file_of(place, STATE, folder))]
    return found


@files.while_unchanged(64)
def _state_in(state: Location) -> _State:
    found: dict[int, bool] = {}
    names: dict[str, None] = {}
    for entry in parsers.dicts(parsers.as_dict(read_json(state)).get("log_history")):
        if (step := parsers.integer(entry.get("step"))) is not None:
            found[step] = found.get(step, False) or any(key.startswith("eval_") for key in entry)
            names |= dict.fromkeys(entry)
    return _State(found, tuple(names))


def _of_other_size(listed: Sequence[Source]) -> set[str]:
    """The files with a group size that is not a multiple of the usual one; neighbouring groups may share a prompt."""
    sizes = {}
    for source in listed:
        repeated = Counter(Counter(leading_texts(source.location, "prompt")).values())
        if repeated:
            sizes[source.path] = repeated.most_common(1)[0][0]
    usual = Counter(sizes.values()).most_common(1)
    others = {path for path, size in sizes.items() if size % usual[0][0]}
    return others if len(others) * 2 < len(sizes) else set()


NAME_OF_SWIFT = "completions.jsonl"
STEPS = ("step", "gen_step")
"""With Megatron, only `gen_step` is present."""
TEXTS = ("prompt", "completion")


class MsSwift(RewardParts, jsonl.JsonlFormat):
    """Completions of ms-swift."""

    name = "ms_swift"
    title = "ms-swift"
    suffixes: ClassVar[tuple[str, ...]] = (NAME_OF_SWIFT,)
    cuts_arrays = False

    def reason(self, locations: Sequence[Location]) -> str:  # noqa: ARG002
        what = "lines with columns as lists; equal prompts of a step are inferred to be a group"
        return f"{what}, rewards are sums without weights"

    def run_name(self, path: Path) -> str:
        is_named = files.plain_name(path.name) == NAME_OF_SWIFT and files.is_one_file(path)
        return (is_named and path.parent.name) or super().run_name(path)

    def fits(self, record: Record) -> bool:
        has_lists = all(isinstance(record.get(key), list) for key in TEXTS)
        return _is_row(record) or (has_lists and any(isinstance(record.get(key), list) for key in STEPS))

    def rows(self, source: Source, record: Record, start: int, length: int) -> list[Scanned]:
        """See `RecordFormat`: a sample for each place in the lists."""
        if _is_row(record):
            sample = _with_step(record)
            step_of(sample["step"])
            row = self.row(source, sample, start, length)
            row.reward = parsers.number(row.metrics.pop("reward", None))
            return [row]
        if not all(isinstance(record.get(key), list) for key in TEXTS):
            raise Unusable("an object without lists of prompts and completions is not a log of completions")
        found: list[Scanned] = []
        functions = _reward_names(record)
        for number in range(documents.sample_count(record, "completion")):
            sample = _row_at(record, number)
            step_of(sample.get("step"))
            row = number_row(self.row(source, sample, start, length), number)
            found.append(self.summed(row, functions, sample))
        return found

    def own_record(self, record: Record, row: SampleRow) -> Record:
        return _row_at(record, int(row.part)) if row.part else _with_step(record)

    def sample(self, record: Record, row: SampleRow, locator: Locator) -> Sample:
        sample = super().sample(record, row, locator)
        if not row.part:  # its reward is the total
            sample.notes = [note for note in sample.notes if note != UNWEIGHTED]
            sample.extra.pop("reward", None)
        return sample

    def config(self, run: RunInfo) -> dict[str, Any]:
        folder = files.folder_of(run)
        return parsers.as_dict(read_json(files.file_of(folder, "args.json", folder)))


def _is_row(record: Record) -> bool:
    """Return whether a line is a single sample, as ms-swift writes it with Ray."""
    return "gen_step" in record and all(isinstance(record.get(key), str) for key in TEXTS)


def _with_step(record: Record) -> Record:
    """A sample whose step is `step`, else `gen_step`."""
    if "step" in record or "gen_step" not in record:
        return record
    return {"step" if key == "gen_step" else key: value for key, value in record.items()}


def _row_at(record: Record, number: int) -> Record:
    """Return the values at one place of all lists, and all other members; lists of other lengths are left out."""
    row = documents.columns_at(record, number, len(record["completion"]))
    named = (*STEPS, *TEXTS)
    row |= {key: value[number] for key in named if isinstance(value := record.get(key), list) and number < len(value)}
    row = _with_step({"advantage" if key == "advantages" else key: value for key, value in row.items()})
    return row | ({"prompt": ""} if "prompt" not in row else {})


def _reward_names(record: Record) -> list[str]:
    """The lists of numbers between the completion and the advantages."""
    names = list(record)
    first = names.index("completion") + 1
    stop = names.index("advantages") if "advantages" in names[first:] else first
    return [
        name
        for name in names[first:stop]
        if isinstance(values := record[name], list)
        and all(value is None or parsers.number(value) is not None for value in values)
    ]
