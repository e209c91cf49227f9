"""The evaluations that SkyRL dumps: one folder per step, one file of JSON lines per data source.

Source: `dump_per_dataset_eval_results`. Beside them lies `aggregated_results.jsonl`, which holds metrics.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import ClassVar

from rolloupe.formats.generic.keys import Roles
from rolloupe.formats.generic.rows import OwnNames
from rolloupe.formats.reading import fields
from rolloupe.formats.reading.files import (
    FolderEntry,
    alone,
    file_count,
    file_of,
    files,
    folders,
    is_one_file,
    links_of,
    plain_name,
    source_at,
    stem,
)
from rolloupe.formats.reading.jsonl import PromptRuns
from rolloupe.formats.reading.peek import first_records
from rolloupe.formats.reading.records import Record
from rolloupe.formats.reading.trainer_files import kept_records, merged_metrics
from rolloupe.model import Location, MetricRow, RunInfo, SampleRow, Source
from rolloupe.storage import is_file

EVALS = "dumped_evals"
METRICS = "aggregated_results.jsonl"

_STEP = re.compile(r"(?:global_step_(?P<step>[0-9]{1,15})|eval_only)(?:_evals)?")
_OWN = {"input_prompt", "output_response", "score", "env_class"}


class SkyRL(OwnNames, PromptRuns):
    """Evaluations of SkyRL."""

    name = "skyrl"
    title = "SkyRL"
    scores_tokens = True
    names: ClassVar[dict[str, str]] = {
        "prompt": "input_prompt", "response": "output_response", "score": "score", "env": "env_class",
        "status_key": "stop_reason",
    }  # fmt: skip
    recognises = "Lines with `input_prompt`, `output_response`, `score` and `env_class`."
    layout = (
        "`{export_path}/dumped_evals/global_step_{N}_evals/{data_source}.jsonl`, with `aggregated_results.jsonl` "
        "beside. Open any of these folders or one file. "
        "[frameworks/skyrl.md](frameworks/skyrl.md) has the switches."
    )
    identity = (
        "step = the number in the folder's name, 0 for `eval_only`; split = `eval/{file name}`; group = a hash of the "
        "prompt, which SkyRL repeats in consecutive rows, and the byte at which these begin; index = `{file}:{byte "
        "offset}`."
    )
    reads = (
        ("`input_prompt`, `output_response`", "turns, special tokens included"),
        ("`score`", "the reward; of a list the sum, and the list is the token series `token_rewards`"),
        ("`stop_reason`, `env_class`", "status, environment"),
        ("`env_extras.reward_spec.ground_truth`", "ground truth"),
        ("`data_source`", "tag"),
        ("`aggregated_results.jsonl`", "metrics of the step"),
        ("any other key", "extra"),
    )
    limits = (
        "The train batch, `dumped_data/global_step_{N}_training_input.pkl`, is a pickle of objects and is never "
        "loaded. Two prompts with the same text that follow each other are one group."
    )

    def detect(self, path: Path, *, forced: bool = False, link_root: str = "") -> list[RunInfo]:
        links = link_root or str(path.resolve())
        places = [alone(path)] if is_one_file(path) else [entry.location for entry in _listed(path, links)]
        found = first_records(places)
        if not places or not (forced or any(record.keys() >= _OWN for record in found)):
            return []
        what = "evaluations of SkyRL; equal prompts that follow each other are inferred to be a group"
        reason = f"{file_count(places)} of {what}"
        if is_one_file(path):
            return [self._run_at(path, reason, "", stem(path.name))]
        return [self._run_at(path, reason, links, path.parent.name if path.name == EVALS else "")]

    def sources(self, run: RunInfo) -> list[Source]:
        links = links_of(run)
        if is_file(run.root):
            return [_source(run, Location(run.root, links))]
        return [_source(run, entry.location) for entry in _listed(Path(run.root), links)]

    def row(self, source: Source, record: Record, start: int, length: int) -> SampleRow:
        """See `RecordFormat`: the step is that of the folder."""
        row = super().row(source, record, start, length)
        if not self.stores_group(record):
            row.group = fields.digest(row.prompt)
        return row

    def stores_group(self, record: Record) -> bool:
        return self.known_roles(record).group is not None

    def prepared(self, run: RunInfo, record: Record) -> Record:  # noqa: ARG002
        """See `RecordFormat`: the ground truth of the environment is that of the sample."""
        spec = fields.as_dict(fields.as_dict(record.get("env_extras")).get("reward_spec"))
        return record | {"ground_truth": spec["ground_truth"]} if "ground_truth" in spec else record

    def roles(self, record: Record) -> Roles:
        return super().roles(record)._replace(label="ground_truth" if "ground_truth" in record else None)

    def metrics(self, run: RunInfo) -> list[MetricRow]:
        return merged_metrics(_metrics(run))


def _step_folders(folder: Path, links: str) -> list[Path]:
    """The folders of steps: this one, or those in it."""
    if _STEP.fullmatch(folder.name):
        return [folder]
    found = [Path(entry.path) for entry in folders(str(folder), links) if _STEP.fullmatch(entry.name)]
    return sorted(found, key=lambda folder: (_step_of(folder) or 0, str(folder)))


def _listed(folder: Path, links: str) -> list[FolderEntry]:
    places = _step_folders(folder, links) or [folder]
    return [entry for place in places for entry in files(str(place), links) if plain_name(entry.name) != METRICS]


def _step_of(folder: Path) -> int | None:
    match = _STEP.fullmatch(folder.name)
    return fields.integer(match["step"]) if match else None


def _source(run: RunInfo, place: Location) -> Source:
    path = Path(place.path)
    return source_at(run, place, split=f"eval/{stem(path.name)}", step=_step_of(path.parent))


def _metrics(run: RunInfo) -> Iterator[Record]:
    """The rows of metrics, each with the step of its folder."""
    for folder in [] if is_file(run.root) else _step_folders(Path(run.root), links_of(run)):
        place = file_of(str(folder), METRICS, links_of(run))
        yield from (record | {"step": _step_of(folder) or 0} for record in kept_records(place))
