"""The rollouts and validation samples of verl: a file of JSON lines for each step.

Source: verl's `_dump_generations`, and `_write_generations` of the trainers from 0.8 on. Only verl's configuration
names the folders. Before the trainer of June 2026, it stores no group: its rows are interleaved, so that the samples of
a prompt follow each other.
"""

import os
import re
from collections.abc import Sequence
from functools import lru_cache
from itertools import takewhile
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from rolloupe.formats.generic.keys import Roles
from rolloupe.formats.generic.row_columns import sample_columns
from rolloupe.formats.generic.rows import NamedRows
from rolloupe.formats.reading import files, jsonl, peek
from rolloupe.formats.reading import value_parsers as parsers
from rolloupe.formats.reading.record_blocks import RecordBlock
from rolloupe.formats.reading.records import Record
from rolloupe.formats.reading.trainer_files import read_text
from rolloupe.model import Location, Locator, RunInfo, RunPart, Sample, SampleColumns, SampleRow, Source
from rolloupe.storage import is_file

OWN = ("input", "output", "score")
MAX_CONFIG_BYTES = 2**20

_STEP = re.compile(r"(?:(?:global_?)?steps?_?)?[0-9]{1,15}", re.IGNORECASE)


class Verl(NamedRows, jsonl.PromptRuns):
    """Rollouts of verl."""

    name = "verl"
    title = "verl"
    suffixes = (".jsonl",)

    def parts(self, folder: Path, links: str) -> list[RunPart]:  # noqa: ARG002
        word = _eval_word(folder.parent if files.is_one_file(folder) else folder)
        return [RunPart(str(folder), f"eval/{word}" if word else None)]

    def locations(self, folder: str, links: str) -> list[Location]:
        return [entry.location for entry in _of_steps(folder, links)] or super().locations(folder, links)

    def fits_any(self, locations: Sequence[Location]) -> bool:
        """See `RecordFormat`: a file whose name has no step fits only if a person names it and its rows have steps."""
        first, *_ = locations
        is_named = _STEP.fullmatch(files.stem(os.path.basename(first.path))) is not None
        required = {*OWN} if is_named else {*OWN, "step"}
        fits = any(record.keys() >= required and "rollout_id" not in record for record in peek.first_records(locations))
        return fits and (is_named or first.path == first.root)

    def reason(self, locations: Sequence[Location]) -> str:
        groups = "no group is stored: equal prompts that follow each other are inferred to be one"
        if any("uid" in record for record in peek.first_records(locations)):
            groups = "groups are the beginnings of uid"
        reason = f"{files.file_count(locations)} named by a step, rows have input, output and score; {groups}"
        folder = os.path.dirname(locations[0].path)
        listed = [] if locations[0].path == locations[0].root else _of_steps(folder, locations[0].root)
        if not _eval_word(Path(folder)) and len(_overwritten(listed)) not in (0, len(listed)):
            reason += (
                "; train and validation were written into this one folder, and the files with the prompts of step 0 "
                "are evaluations, which took the place of the rollouts of their steps"
            )
        return reason

    def joined(self, runs: list[RunInfo]) -> list[RunInfo]:
        """See `Format`: a validation folder is a part of the run beside it."""
        joined = {run.root: run for run in runs}
        # The runs that are not evaluations, by their parent folder and subject.
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
                joined[host.root] = replace(joined[host.root], parts=parts, reason=reason)
                del joined[run.root]
        return list(joined.values())

    def sources(self, run: RunInfo) -> list[Source]:
        sources = super().sources(run)
        folders = [part.path for part in run.parts if part.split is None and not is_file(part.path)]
        evals = {path for folder in folders for path in _overwritten(_of_steps(folder, files.links_of(run)))}
        split = "eval/validation"
        return [replace(source, split=split, depends=split) if source.path in evals else source for source in sources]

    def source(self, run: RunInfo, part: RunPart, location: Location) -> Source:
        return replace(super().source(run, part, location), depends=part.split or "")

    def roles(self, record: Record) -> Roles:
        """See `NamedRows`: only verl's own names count, since other columns may have any."""
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

    def columns(self, run: RunInfo, source: Source, block: RecordBlock) -> SampleColumns | None:  # noqa: ARG002
        samples = sample_columns(self, source, block)
        if samples is not None:
            samples.tags = {key: values for key, values in samples.tags.items() if key != "request_id"}
        return samples

    def sample(self, record: Record, row: SampleRow, locator: Locator) -> Sample:
        sample = super().sample(record, row, locator)
        if name := parsers.name(sample.extra.pop("request_id", None)):
            sample.facts = {"request_id": name}
        return sample

    def config(self, run: RunInfo) -> dict[str, Any]:
        from rolloupe.formats.reading.yaml_values import yaml_settings

        folder = Path(files.folder_of(run))
        for above in (folder, *list(folder.parents)[:2]):
            for place in (above / ".hydra", above):
                settings = yaml_settings(
                    read_text(files.file_of(str(place), "config.yaml", str(above)), MAX_CONFIG_BYTES)
                )
                if "actor_rollout_ref" in settings or "actor" in settings:
                    return settings
        return {}


def _of_steps(folder: str, link_root: str) -> list[files.FolderEntry]:
    listed = [
        entry for entry in files.files(folder, link_root, Verl.suffixes) if _STEP.fullmatch(files.stem(entry.name))
    ]
    return sorted(listed, key=lambda entry: parsers.step_in(files.stem(entry.name)) or 0)


def _eval_word(folder: Path) -> str:
    """Return the word for an evaluation in the name of a folder, or of the folder above, if the name says nothing."""
    for place in (folder, folder.parent):
        words = files.words_in(place.name)
        if word := next((word for word in words if word in files.EVAL_WORDS), ""):
            return word
        if not files.NEUTRAL_WORDS.issuperset(words):
            return ""
    return ""


def _subject(folder: str) -> tuple[str, ...]:
    """Return the words that a train folder and its validation folder share."""
    path = Path(folder)
    return (str(path.parent), *(w for w in files.words_in(path.name) if w not in files.SILENT_WORDS))


def _overwritten(listed: list[files.FolderEntry]) -> set[str]:
    """Return the paths of evaluations in a folder of rollouts.

    verl writes step 0 only for evaluations, whose files have the same prompts, equally often, at every step.
    """
    first = next((entry for entry in listed if parsers.step_in(files.stem(entry.name)) == 0), None)
    if first is None:
        return set()
    asked = _beginning(first)
    return {entry.path for entry in listed if entry is first or (asked and _beginning(entry) == asked)}


@lru_cache(maxsize=20_000)
def _first_prompts(location: Location, inode: int) -> tuple[str, int]:  # noqa: ARG001
    """Return the first prompt of a file and how often it follows itself at its beginning. Raises `LookupError`."""
    prompts = [parsers.joined(record.get("input")) for record in peek.look(location).objects]
    if not prompts:
        raise LookupError
    return parsers.digest(prompts[0]), sum(1 for _ in takewhile(prompts[0].__eq__, prompts))


def _beginning(entry: files.FolderEntry) -> tuple[str, int] | None:
    try:
        return _first_prompts(entry.location, entry.inode)
    except LookupError:  # an empty file is examined again
        return None
