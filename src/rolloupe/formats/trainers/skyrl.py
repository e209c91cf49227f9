"""The evaluations that SkyRL dumps: one folder per step, one file of JSON lines per data source.

Source: `dump_per_dataset_eval_results`. Beside them lies `aggregated_results.jsonl`, which holds metrics.
"""

import re
from pathlib import Path
from typing import ClassVar

from rolloupe.formats.generic.keys import Roles
from rolloupe.formats.generic.rows import OwnNames
from rolloupe.formats.reading import value_parsers as parsers
from rolloupe.formats.reading.files import (
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

    def detect(self, path: Path, *, forced: bool = False, link_root: str = "") -> list[RunInfo]:
        links = link_root or str(path.resolve())
        places = [alone(path)] if is_one_file(path) else _listed(path, links)
        if not places or not (forced or any(record.keys() >= _OWN for record in first_records(places))):
            return []
        what = "evaluations of SkyRL; equal prompts that follow each other are inferred to be a group"
        reason = f"{file_count(places)} of {what}"
        if is_one_file(path):
            return [self._run_at(path, reason, "", stem(path.name))]
        return [self._run_at(path, reason, links, path.parent.name if path.name == EVALS else "")]

    def sources(self, run: RunInfo) -> list[Source]:
        links = links_of(run)
        places = [Location(run.root, links)] if is_file(run.root) else _listed(Path(run.root), links)
        found = []
        for place in places:
            path = Path(place.path)
            found.append(source_at(run, place, split=f"eval/{stem(path.name)}", step=_step_of(path.parent)))
        return found

    def row(self, source: Source, record: Record, start: int, length: int) -> SampleRow:
        """See `RecordFormat`: the step is that of the folder."""
        row = super().row(source, record, start, length)
        if not self.stores_group(record):
            row.group = parsers.digest(row.prompt)
        return row

    def stores_group(self, record: Record) -> bool:
        return self.known_roles(record).group is not None

    def prepared(self, run: RunInfo, record: Record) -> Record:  # noqa: ARG002
        """See `RecordFormat`: the ground truth of the environment is that of the sample."""
        spec = parsers.as_dict(parsers.as_dict(record.get("env_extras")).get("reward_spec"))
        return record | {"ground_truth": spec["ground_truth"]} if "ground_truth" in spec else record

    def roles(self, record: Record) -> Roles:
        return super().roles(record)._replace(label="ground_truth" if "ground_truth" in record else None)

    def metrics(self, run: RunInfo) -> list[MetricRow]:
        """See `Format`: rows have the step of their folder."""
        links = links_of(run)
        steps = [] if is_file(run.root) else _step_folders(Path(run.root), links)
        return merged_metrics(
            record | {"step": _step_of(folder) or 0}
            for folder in steps
            for record in kept_records(file_of(str(folder), METRICS, links))
        )


def _step_folders(folder: Path, links: str) -> list[Path]:
    """The folders of steps: this one, or those in it."""
    if _STEP.fullmatch(folder.name):
        return [folder]
    found = [Path(entry.path) for entry in folders(str(folder), links) if _STEP.fullmatch(entry.name)]
    return sorted(found, key=lambda folder: (_step_of(folder) or 0, str(folder)))


def _listed(folder: Path, links: str) -> list[Location]:
    entries = (entry for place in _step_folders(folder, links) or [folder] for entry in files(str(place), links))
    return [entry.location for entry in entries if plain_name(entry.name) != METRICS]


def _step_of(folder: Path) -> int | None:
    match = _STEP.fullmatch(folder.name)
    return parsers.integer(match["step"]) if match else None
