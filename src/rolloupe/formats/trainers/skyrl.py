"""The evaluations that SkyRL dumps: one folder per step, one file of JSON lines per data source.

Source: `dump_per_dataset_eval_results`. Beside them lies `aggregated_results.jsonl`, which holds metrics.
"""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar

from rolloupe.formats.generic.keys import Roles
from rolloupe.formats.generic.rows import OwnNames
from rolloupe.formats.reading import value_parsers as parsers
from rolloupe.formats.reading.files import file_count, file_of, files, folders, links_of, plain_name, source_at, stem
from rolloupe.formats.reading.jsonl import PromptRuns
from rolloupe.formats.reading.records import Record
from rolloupe.formats.reading.trainer_files import kept_records, merged_metrics
from rolloupe.model import Location, MetricRow, RunInfo, RunPart, SampleRow, Source
from rolloupe.storage import is_file

EVALS = "dumped_evals"
METRICS = "aggregated_results.jsonl"

_STEP = re.compile(r"(?:global_step_(?P<step>[0-9]{1,15})|eval_only)(?:_evals)?")


class SkyRL(OwnNames, PromptRuns):
    """Evaluations of SkyRL."""

    name = "skyrl"
    title = "SkyRL"
    needed = frozenset(("input_prompt", "output_response", "score", "env_class"))
    scores_tokens = True
    names: ClassVar[dict[str, str]] = {
        "prompt": "input_prompt", "response": "output_response", "score": "score", "env": "env_class",
        "status_key": "stop_reason",
    }  # fmt: skip

    def locations(self, folder: str, links: str) -> list[Location]:
        places = _step_folders(Path(folder), links) or [Path(folder)]
        listed = (entry for place in places for entry in files(str(place), links))
        return [entry.location for entry in listed if plain_name(entry.name) != METRICS]

    def reason(self, locations: Sequence[Location]) -> str:
        what = "evaluations of SkyRL; equal prompts that follow each other are inferred to be a group"
        return f"{file_count(locations)} of {what}"

    def run_name(self, path: Path) -> str:
        return super().run_name(path.parent if path.name == EVALS else path)

    def source(self, run: RunInfo, part: RunPart, location: Location) -> Source:  # noqa: ARG002
        path = Path(location.path)
        return source_at(run, location, split=f"eval/{stem(path.name)}", step=_step_of(path.parent))

    def row(self, source: Source, record: Record, start: int, length: int) -> SampleRow:
        """See `RecordFormat`: the folder names the step."""
        row = super().row(source, record, start, length)
        if not self.stores_group(record):
            row.group = parsers.digest(row.prompt)
        return row

    def stores_group(self, record: Record) -> bool:
        return self.known_roles(record).group is not None

    def prepared(self, run: RunInfo, record: Record) -> Record:  # noqa: ARG002
        """See `RecordFormat`: the sample gets the ground truth of the environment."""
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
    """The folders of steps: this folder, or the folders in it."""
    if _STEP.fullmatch(folder.name):
        return [folder]
    found = [Path(entry.path) for entry in folders(str(folder), links) if _STEP.fullmatch(entry.name)]
    return sorted(found, key=lambda folder: (_step_of(folder) or 0, str(folder)))


def _step_of(folder: Path) -> int | None:
    match = _STEP.fullmatch(folder.name)
    return parsers.integer(match["step"]) if match else None
