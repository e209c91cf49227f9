"""The results of `vf-eval`: a folder for each evaluation, with metadata beside the results.

Source: verifiers until August 2026, whose rows changed over time: `id` until September 2025, then `example_id`. Each
reward function and metric is a member of the row. Verifiers 0.4 writes a line of traces for each episode instead.
"""

import os
from pathlib import Path
from typing import Any, ClassVar

from msgspec.structs import replace

from rolloupe.formats.generic.keys import Roles
from rolloupe.formats.generic.rows import OwnNames
from rolloupe.formats.prime_rl.episodes import is_episode
from rolloupe.formats.prime_rl.traces import PrimeRLTraces
from rolloupe.formats.reading import value_parsers as parsers
from rolloupe.formats.reading.documents import ByEnding
from rolloupe.formats.reading.files import file_of, folder_of, is_one_file, links_of
from rolloupe.formats.reading.jsonl import JsonlFormat
from rolloupe.formats.reading.peek import look
from rolloupe.formats.reading.records import Record
from rolloupe.formats.reading.trainer_files import read_json
from rolloupe.formats.reading.value_parsers import as_dict
from rolloupe.model import Location, RunInfo, Source
from rolloupe.storage import is_file

RESULTS, METADATA = "results.jsonl", "metadata.json"
CONFIGS, CONFIG = ("configs", "resolved"), "eval.json"

_OWN = {"prompt", "completion", "reward"}
_TELLING = {"generation_ms", "is_completed", "timing", "stop_condition"}
_OF_PRIME_RL = {"advantage", "is_filtered", "env_name"}


class Results(OwnNames, JsonlFormat):
    """Lines of results, until verifiers 0.4."""

    name = "verifiers"
    title = "verifiers"
    names: ClassVar[dict[str, str]] = {
        "prompt": "prompt", "response": "completion", "score": "reward", "label": "answer", "env": "task",
        "status_key": "stop_condition",
    }  # fmt: skip

    def fits(self, record: Record) -> bool:
        return _is_result(record) and not record.keys().isdisjoint(_TELLING)

    def roles(self, record: Record) -> Roles:
        """See `NamedRows`: an error takes precedence over the reason to stop."""
        found = super().roles(record)
        telling = next((key for key in ("error", "is_truncated") if record.get(key)), "stop_condition")
        group = next((key for key in ("example_id", "id") if parsers.name(record.get(key)) is not None), None)
        return found._replace(group=group, status_key=telling if telling in record else None)

    def sources(self, run: RunInfo) -> list[Source]:
        metadata = self.config(run)
        env = parsers.tag(metadata.get("env_id")) or parsers.tag(metadata.get("env")) or "results"
        split = f"eval/{env.replace('/', '_')}"
        return [replace(source, step=None, split=split, depends=split) for source in super().sources(run)]

    def config(self, run: RunInfo) -> dict[str, Any]:
        return _metadata(folder_of(run), folder_of(run) if is_file(run.root) else links_of(run))


class Episodes(PrimeRLTraces):
    """Lines of traces, from verifiers 0.4 on: each is an episode or a single trace."""

    name = "verifiers"
    title = "verifiers"

    def prepared(self, run: RunInfo, record: Record) -> Record:  # noqa: ARG002
        """See `RecordFormat`: an episode of an evaluation, with a group."""
        episode = record if is_episode(record) else {"traces": [record], "task": record.get("task")}
        of_run, task = as_dict(episode.get("run")), as_dict(episode.get("task"))
        names = map(parsers.name, (task.get("key"), as_dict(task.get("data")).get("idx")))
        key = next(filter(None, names), None)
        group = as_dict(episode.get("group"))
        has_type = of_run.get("type") or as_dict(of_run.get("work")).get("type")
        return episode | {
            "run": of_run if has_type else of_run | {"type": "eval"},
            "group": group if parsers.name(group.get("id")) or key is None else {**group, "id": key},
        }  # fmt: skip


class Verifiers(ByEnding, Results):
    """Evaluations of verifiers."""

    def detect(self, path: Path, *, forced: bool = False, link_root: str = "") -> list[RunInfo]:
        """See `Format`: rows without a telling key are results if the metadata beside them names an environment."""
        return super().detect(path, forced=forced or _has_metadata(path, link_root), link_root=link_root)

    def reader_of(self, source: Source) -> JsonlFormat:
        return _EPISODES if _is_of_traces(source.location) else _RESULTS

    def fits(self, record: Record) -> bool:
        return super().fits(record) or _is_trace(record)

    def sources(self, run: RunInfo) -> list[Source]:
        return [
            replace(source, split=None, depends="") if _is_of_traces(source.location) else source
            for source in super().sources(run)
        ]

    def config(self, run: RunInfo) -> dict[str, Any]:
        folder = folder_of(run)
        links = folder if is_file(run.root) else links_of(run)
        found = read_json(file_of(os.path.join(folder, *CONFIGS), CONFIG, links))
        return found if isinstance(found, dict) else super().config(run)


_RESULTS, _EPISODES = Results(), Episodes()


def _is_result(record: Record) -> bool:
    keys = record.keys()
    named = "example_id" in keys or isinstance(record.get("id"), int)
    return keys >= _OWN and named and keys.isdisjoint(_OF_PRIME_RL)


def _metadata(folder: str, links: str) -> dict[str, Any]:
    return as_dict(read_json(file_of(folder, METADATA, links)))


def _has_metadata(path: Path, link_root: str) -> bool:
    """Return whether a path holds a `results.jsonl` with results, beside metadata that name an environment."""
    folder = path.parent if is_one_file(path) else path
    links = link_root or str(folder)
    rows = file_of(str(folder), RESULTS, links)
    if rows is None or _metadata(str(folder), links).keys().isdisjoint(("env_id", "env")):
        return False
    return any(map(_is_result, look(rows).objects))


def _is_trace(record: Record) -> bool:
    is_alone = isinstance(record.get("nodes"), list) and "agent" in record
    return is_alone or (is_episode(record) and not record.keys().isdisjoint(("env", "task", "run")))


def _is_of_traces(place: Location) -> bool:
    return any(map(_is_trace, look(place).objects))
