"""The rollouts and validation samples of verl: a file of JSON lines a step.

Source: verl's `_dump_generations`, and `_write_generations` of the trainers from 0.8 on. verl names the folders nowhere
but in its configuration, and stores no group before the trainer of June 2026: its rows are interleaved, so that the
samples of a prompt follow each other.
"""

import os
import re
from functools import lru_cache
from itertools import takewhile
from pathlib import Path
from typing import Any

import msgspec

from rolloupe.formats.generic.keys import Roles
from rolloupe.formats.generic.rows import NamedRows
from rolloupe.formats.reading import value_parsers as parsers
from rolloupe.formats.reading.files import (
    EVAL_WORDS,
    NEUTRAL_WORDS,
    SILENT_WORDS,
    FolderEntry,
    alone,
    file_count,
    file_of,
    files,
    folder_of,
    is_one_file,
    links_of,
    stem,
    words_in,
)
from rolloupe.formats.reading.jsonl import PromptRuns
from rolloupe.formats.reading.peek import first_records, look
from rolloupe.formats.reading.records import Record
from rolloupe.formats.reading.trainer_files import read_text
from rolloupe.model import Location, Locator, RunInfo, RunPart, Sample, SampleRow, Source
from rolloupe.storage import is_below, is_file

OWN = ("input", "output", "score")
SUFFIX = (".jsonl",)
MAX_CONFIG_BYTES = 2**20

_STEP = re.compile(r"(?:(?:global_?)?steps?_?)?[0-9]{1,15}", re.IGNORECASE)


class Verl(NamedRows, PromptRuns):
    """Rollouts of verl."""

    name = "verl"
    title = "verl"

    def detect(self, path: Path, *, forced: bool = False, link_root: str = "") -> list[RunInfo]:
        links = link_root or str(path.resolve())
        one_file = is_one_file(path)
        listed = [] if one_file else _of_steps(str(path), links)
        places = [alone(path)] if one_file else [entry.location for entry in listed]
        if forced and not places:
            places = [entry.location for entry in files(str(path), links, SUFFIX)]
        records = first_records(places)
        named = bool(listed) or _STEP.fullmatch(stem(path.name)) is not None
        required = OWN if named else (*OWN, "step")
        fits = any(all(key in record for key in required) and "rollout_id" not in record for record in records)
        if not places or not (forced or fits):
            return []
        groups = "no group is stored: equal prompts that follow each other are inferred to be one"
        if any("uid" in record for record in records):
            groups = "groups are the beginnings of uid"
        reason = f"{file_count(places)} named by a step, rows have input, output and score; {groups}"
        if not (one_file or _eval_word(path)) and len(_overwritten(listed)) not in (0, len(listed)):
            reason += (
                "; train and validation were written into this one folder, and the files with the prompts of step 0 "
                "are evaluations, which took the place of the rollouts of their steps"
            )
        folder = path.parent if one_file else path
        part = RunPart(str(path), f"eval/{word}" if (word := _eval_word(folder)) else None)
        if one_file:
            return [self._run_at(path, reason, "", stem(path.name), (part,))]
        telling = (place.name for place in (path, *path.parents) if not SILENT_WORDS.issuperset(words_in(place.name)))
        return [self._run_at(path, reason, links, next(filter(None, telling), path.name), (part,))]

    def joined(self, runs: list[RunInfo]) -> list[RunInfo]:
        """See `Format`: a validation folder is a part of the run beside it."""
        joined = {run.root: run for run in runs}
        # The runs that are no evaluations, by the folder around each, and by its subject.
        trained: dict[str | tuple[str, ...], list[RunInfo]] = {}
        for run in runs:
            if run.parts[0].split is None:
                for key in (os.path.dirname(run.root), _subject(run.root)):
                    trained.setdefault(key, []).append(run)
        for run in runs:
            if run.parts[0].split is None or is_file(run.root):
                continue
            beside, alike = (trained.get(key, []) for key in (os.path.dirname(run.root), _subject(run.root)))
            host = alike[0] if alike else beside[0] if len(beside) == 1 else None
            if host is not None:
                reason = f"{joined[host.root].reason}; {Path(run.root).name} beside it is its evaluation"
                parts = (*joined[host.root].parts, *run.parts)
                joined[host.root] = msgspec.structs.replace(joined[host.root], parts=parts, reason=reason)
                del joined[run.root]
        return list(joined.values())

    def sources(self, run: RunInfo) -> list[Source]:
        """A part beside the run's own folder is named after its folder."""
        sources = []
        for part in run.parts:
            if is_file(part.path):
                place = Location(part.path, links_of(run))
                sources.append(_source(place, Path(part.path).name, part.split))
                continue
            links = links_of(run) if is_below(part.path, links_of(run)) else part.path
            prefix = "" if part.path == run.root else f"{Path(part.path).name}/"
            listed = _of_steps(part.path, links) or (files(part.path, links, SUFFIX) if run.reading.format else [])
            evals = _overwritten(listed) if part.split is None else set()
            sources += [
                _source(entry.location, prefix + entry.name, "eval/validation" if entry.path in evals else part.split)
                for entry in listed
            ]
        return sources

    def roles(self, record: Record) -> Roles:
        """See `NamedRows`: verl's own names, whatever other columns are called."""
        usual = super().roles(record)
        prompt, response, score, step = (key if key in record else None for key in ("input", "output", "score", "step"))
        label = "gts" if "gts" in record else usual.label
        return usual._replace(
            prompt=prompt, response=response, score=score, step=step, messages=None, group=None, label=label
        )

    def stores_group(self, record: Record) -> bool:
        return isinstance(record.get("uid"), str) or self.known_roles(record).group is not None

    def prepared(self, run: RunInfo, record: Record) -> Record:  # noqa: ARG002
        score = record.get("score")
        return record | {"score": parsers.number_in(score)} if isinstance(score, str) else record

    def row(self, source: Source, record: Record, start: int, length: int) -> SampleRow:
        row = super().row(source, record, start, length)
        row.tags = {key: value for key, value in row.tags.items() if key != "request_id"}
        return row

    def sample(self, record: Record, row: SampleRow, locator: Locator) -> Sample:
        sample = super().sample(record, row, locator)
        if name := parsers.name(sample.extra.pop("request_id", None)):
            sample.facts = {"request_id": name}
        return sample

    def config(self, run: RunInfo) -> dict[str, Any]:
        from rolloupe.formats.reading.yaml_values import yaml_settings

        folder = Path(folder_of(run))
        for above in (folder, *list(folder.parents)[:2]):
            for place in (above / ".hydra", above):
                settings = yaml_settings(read_text(file_of(str(place), "config.yaml", str(above)), MAX_CONFIG_BYTES))
                if "actor_rollout_ref" in settings or "actor" in settings:
                    return settings
        return {}


def _of_steps(folder: str, link_root: str) -> list[FolderEntry]:
    """List the files named by a step, in the order of steps."""
    listed = [entry for entry in files(folder, link_root, SUFFIX) if _STEP.fullmatch(stem(entry.name))]
    return sorted(listed, key=lambda entry: parsers.step_in(stem(entry.name)) or 0)


def _source(place: Location, name: str, split: str | None) -> Source:
    step = parsers.step_in(stem(Path(place.path).name))
    return Source(path=place.path, name=name, root=place.root, split=split, step=step, depends=split or "")


def _eval_word(folder: Path) -> str:
    """Return the word for an evaluation in the name of a folder, or of that above one without a telling name."""
    for place in (folder, folder.parent):
        words = words_in(place.name)
        if word := next((word for word in words if word in EVAL_WORDS), ""):
            return word
        if not NEUTRAL_WORDS.issuperset(words):
            return ""
    return ""


def _subject(folder: str) -> tuple[str, ...]:
    """Return the words that a train folder and its validation folder share."""
    path = Path(folder)
    return (str(path.parent), *(w for w in words_in(path.name) if w not in SILENT_WORDS))


def _overwritten(listed: list[FolderEntry]) -> set[str]:
    """Return the paths of evaluations in a folder of rollouts.

    verl writes step 0 only of an evaluation, whose files have the same prompts, each as often, at every step.
    """
    first = next((entry for entry in listed if parsers.step_in(stem(entry.name)) == 0), None)
    if first is None:
        return set()
    asked = _beginning(first)
    return {entry.path for entry in listed if entry is first or (asked and _beginning(entry) == asked)}


@lru_cache(maxsize=20_000)
def _first_prompts(location: Location, inode: int) -> tuple[str, int]:  # noqa: ARG001
    """Return the first prompt of a file and how often it follows itself at its beginning. Raises `LookupError`."""
    prompts = [parsers.joined(record.get("input")) for record in look(location).objects]
    if not prompts:
        raise LookupError
    return parsers.digest(prompts[0]), sum(1 for _ in takewhile(prompts[0].__eq__, prompts))


def _beginning(entry: FolderEntry) -> tuple[str, int] | None:
    try:
        return _first_prompts(entry.location, entry.inode)
    except LookupError:  # an empty file is looked at again
        return None
