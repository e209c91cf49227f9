"""The conversations of miles where they lie alone: lines of `trajectory/`, without the dumps that they belong to."""

from pathlib import Path
from typing import ClassVar

from rolloupe.formats.reading import fields
from rolloupe.formats.reading.files import alone, files, is_one_file, links_of, plain_name, stem
from rolloupe.formats.reading.jsonl import JsonlFormat
from rolloupe.formats.reading.peek import look_into
from rolloupe.formats.reading.records import Record
from rolloupe.formats.trainers.own_names import OwnNames
from rolloupe.model import Location, RunInfo, RunPart, Source
from rolloupe.storage import is_file

LINES = ".jsonl"

_KEYS = {"sample_index", "group_index", "status", "reward", "prompt", "messages"}


class Conversations(OwnNames, JsonlFormat):
    """Lines of `trajectory/`, as samples."""

    name = "miles"
    title = "miles"
    names: ClassVar[dict[str, str]] = {
        "messages": "messages", "score": "reward", "group": "group_index", "status_key": "status",
    }  # fmt: skip

    def fits(self, record: Record) -> bool:
        """See `RecordFormat`."""
        return record.keys() >= _KEYS and "response" not in record  # of Relax

    def detect(self, path: Path, *, forced: bool = False, link_root: str = "") -> list[RunInfo]:  # noqa: ARG002
        """See `Format`."""
        links = "" if is_one_file(path) else link_root or str(path.resolve())
        listed = [alone(path)] if is_one_file(path) else [one.location for one in files(str(path), links)]
        listed = [one for one in listed if plain_name(one.path).endswith(LINES)]
        records = [record for _, seen in look_into(listed) for record in seen.objects]
        if not records or not all(map(self.fits, records)):
            return []
        count = "one file" if len(listed) == 1 else f"{len(listed)} files"
        reason = f"{count} of conversations of miles, without its dumps"
        name = stem(path.name) if is_one_file(path) else path.name
        return [
            RunInfo(
                name=name, root=str(path), format=self.name, reason=reason, parts=(RunPart(str(path)),),
                link_root=links,
            )
        ]  # fmt: skip

    def sources(self, run: RunInfo) -> list[Source]:
        """See `Format`."""
        listed = [one.location for one in files(run.root, links_of(run))]
        return [_source(one) for one in ([Location(run.root, links_of(run))] if is_file(run.root) else listed)]


def _source(place: Location) -> Source:
    name = Path(place.path).name
    split = "eval/default" if name.startswith("eval_") else "train"
    return Source(path=place.path, name=name, root=place.root, split=split, step=fields.step_in(stem(name)))


CONVERSATIONS_ALONE = Conversations()
