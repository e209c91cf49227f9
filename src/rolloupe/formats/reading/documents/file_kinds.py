"""Formats whose runs hold files of several kinds: the ending of a file says what reads it."""

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from typing import Any

from rolloupe.formats.base import NO_ANNOTATIONS, Annotations, Format
from rolloupe.model import Locator, Problem, RunInfo, Sample, SampleRow, Scanned, Source, Texts
from rolloupe.tokens import SampleTokens


class ByEnding(Format):
    """A format that leaves its files to other readers."""

    @abstractmethod
    def reader_of(self, source: Source) -> Format:
        """Return what reads a file."""

    def scan(self, run: RunInfo, source: Source, start: int, stop: int) -> Iterator[Scanned]:
        """See `Format`."""
        return self.reader_of(source).scan(run, source, start, stop)

    def load(self, run: RunInfo, source: Source, locator: Locator) -> Sample:
        """See `Format`."""
        return self.reader_of(source).load(run, source, locator)

    def load_texts(self, run: RunInfo, source: Source, locator: Locator) -> Texts | None:
        """See `Format`."""
        return self.reader_of(source).load_texts(run, source, locator)

    def raw(self, source: Source, locator: Locator) -> bytes:
        """See `Format`."""
        return self.reader_of(source).raw(source, locator)

    def record_at(self, run: RunInfo, source: Source, locator: Locator) -> tuple[dict[str, Any], SampleRow] | None:
        """See `Format`."""
        return self.reader_of(source).record_at(run, source, locator)

    def token_arrays(
        self, run: RunInfo, source: Source, places: Sequence[Locator], annotations: Annotations = NO_ANNOTATIONS
    ) -> Iterator[SampleTokens | Problem]:
        """See `Format`."""
        return self.reader_of(source).token_arrays(run, source, places, annotations)

    def samples_at(self, run: RunInfo, source: Source, places: Sequence[Locator]) -> Iterator[Sample | Problem]:
        """See `Format`."""
        return self.reader_of(source).samples_at(run, source, places)
