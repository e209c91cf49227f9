"""One sample of a run: read whole, its record, its group, its prompt at other steps."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from rolloupe.api.arguments import key_of
from rolloupe.api.results import Rows, shown
from rolloupe.api.runs_base import Asked
from rolloupe.model import Sample, SampleKey, Texts

if TYPE_CHECKING:
    from rolloupe.query import Recurrence


class RawRecord(NamedTuple):
    """The record of a sample as it stands in its file: `data` is bytes `start` to `stop` of `path`."""

    path: str
    start: int
    stop: int
    data: bytes


class OfOne(Asked):
    """What a run answers of one sample, and of what stands beside it."""

    def sample(self, id: str | SampleKey) -> Sample:
        """One sample, whole, read from its file: turns, token series, every field.

        Where two of a step are asked for in turn, the step is looked up once.

        Raises `NotFound`, `BadQuery` for what is no id, `SourceChanged` where the file was rewritten since.
        """
        return shown(self._reader()(key_of(id)))

    def texts(self, id: str | SampleKey) -> Texts:
        """The whole texts of one sample: prompt, response, label and the reference's response; quicker than `sample`.

        Raises as `sample` does.
        """
        return self._reader().texts(key_of(id))

    def whole(self, step: int, split: str | None = None) -> Iterator[Sample]:
        """The samples of a step, whole, one after another: all that the step's means count.

        What annotations say of a sample is in its `row`. Raises `SourceChanged` where a file was rewritten meanwhile.
        """
        from rolloupe import query

        return query.whole(self._ready(), split or self._first_split(), step)

    def raw(self, id: str | SampleKey) -> RawRecord:
        """The record of a sample, as it stands in its file. Raises as `sample` does."""
        from rolloupe import query

        run = self._ready()
        locator, data = query.raw(run, key_of(id))
        source = run.source(locator.source)
        path = source.path if source else locator.source
        return RawRecord(path, locator.start, locator.start + locator.length, data)

    def read(self, file: str, start: int, stop: int) -> bytes:
        """Bytes `start` to `stop` of one of the run's files, such as those that a `Problem` names.

        Raises `NotFound` where the run has no such file, `SourceChanged` where it cannot be read any more.
        """
        from rolloupe import query

        return query.read(self._ready(), file, start, stop - start)

    def group_of(self, id: str | SampleKey) -> list[SampleKey]:
        """The samples of a sample's group, in order, itself included."""
        from rolloupe import query

        return query.neighbours(self._ready(), key_of(id))

    def has(self, id: str | SampleKey) -> bool:
        """Tell whether there is such a sample, without reading it. Raises `BadQuery` for what is no id."""
        key = key_of(id)
        return any(other.shared == key.shared for other in self.group_of(key))

    def same_prompt(self, id: str | SampleKey) -> "Rows[Recurrence]":
        """Where the prompt of a sample was answered, at this step and all others: how answers to it changed.

        An entry for each split and step: `key` of the first sample, `groups`, `samples`, `discarded`, `reward`,
        `response_tokens`. Samples that were not trained on count, too. Prompts are the same to the letter; where there
        is none the group's name tells them apart.
        """
        from rolloupe import query

        run = self._ready()
        return Rows(query.recurring(run, query.problem_of(run, key_of(id))))
