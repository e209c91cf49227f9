"""The results of `vf-eval`: an evaluation a folder, with metadata beside.

Source: verifiers until August 2026, whose rows changed over time: `id` until September 2025, then `example_id`. Each
reward function and metric is a member of the row.
"""

from pathlib import Path
from typing import Any, ClassVar

from rolloupe.formats.generic.keys import Roles
from rolloupe.formats.reading import fields
from rolloupe.formats.reading.files import file_of, links_of
from rolloupe.formats.reading.jsonl import JsonlFormat
from rolloupe.formats.reading.records import Record
from rolloupe.formats.reading.trainer_files import read_json
from rolloupe.formats.trainers.own_names import OwnNames
from rolloupe.model import RunInfo, Source
from rolloupe.storage import is_file

METADATA = "metadata.json"

_OWN = {"prompt", "completion", "reward"}
_TELLING = {"generation_ms", "is_completed", "timing", "stop_condition"}
_OF_PRIME_RL = {"advantage", "is_filtered", "env_name"}


class Verifiers(OwnNames, JsonlFormat):
    """Evaluations of verifiers."""

    name = "verifiers"
    title = "verifiers"
    names: ClassVar[dict[str, str]] = {
        "prompt": "prompt", "response": "completion", "score": "reward", "label": "answer", "env": "task",
        "status_key": "stop_condition",
    }  # fmt: skip
    recognises = (
        "Lines with `prompt`, `completion`, `reward`, `example_id` (until September 2025 `id`) and one of "
        "`generation_ms`, `timing`, `is_completed`, `stop_condition`."
    )
    layout = (
        "`outputs/evals/{env}--{model}/{id}/results.jsonl` with `metadata.json`. "
        "[frameworks/verifiers.md](frameworks/verifiers.md) has the switches."
    )
    identity = (
        "step = 0; group = `example_id`, else `id`, in any order of lines; index = `{file}:{byte offset}`. Split "
        "`eval/{env_id}`, of a file without metadata `eval/results`."
    )
    reads = (
        ("`prompt`, `completion`", "turns with tool calls, also those stored as texts of JSON"),
        ("`reward`", "the reward"),
        ("`answer`, `task`", "ground truth, environment"),
        ("`error`, `is_truncated`, `stop_condition`, `is_completed`", "status"),
        ("every other number, such as those of reward functions", "sample metrics"),
        ("`info`, `timing`, `token_usage`, any other key", "extra"),
        ("`metadata.json`", "configuration, as the file has it: its averages may be 0 beside rows with rewards"),
    )
    limits = (
        "An evaluation has no steps. `state_columns` such as `trajectory` are extra fields. `traces.jsonl` of "
        "verifiers 0.4 is not read."
    )

    def fits(self, record: Record) -> bool:
        """See `RecordFormat`."""
        keys = record.keys()
        named = "example_id" in keys or isinstance(record.get("id"), int)
        return keys >= _OWN and named and not keys.isdisjoint(_TELLING) and keys.isdisjoint(_OF_PRIME_RL)

    def roles(self, record: Record) -> Roles:
        """See `NamedRows`: what went wrong counts more than why it stopped."""
        found = super().roles(record)
        is_told = record.get("error") or record.get("is_truncated") is True
        condition = None if is_told or not isinstance(record.get("stop_condition"), str) else found.status_key
        group = next((key for key in ("example_id", "id") if fields.name(record.get(key)) is not None), None)
        return found._replace(group=group, status_key=condition)

    def sources(self, run: RunInfo) -> list[Source]:
        """See `Format`."""
        metadata = self.config(run)
        env = fields.tag(metadata.get("env_id")) or fields.tag(metadata.get("env")) or "results"
        split = f"eval/{env.replace('/', '_')}"
        return [
            Source(path=one.path, name=one.name, root=one.root, split=split, depends=split)
            for one in super().sources(run)
        ]

    def config(self, run: RunInfo) -> dict[str, Any]:
        """See `Format`."""
        folder = str(Path(run.root).parent) if is_file(run.root) else run.root
        found = read_json(file_of(folder, METADATA, folder if is_file(run.root) else links_of(run)))
        return found if isinstance(found, dict) else {}
