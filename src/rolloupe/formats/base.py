"""The base class of formats: a format turns one framework's files into rows, and one record into a `Sample`.

A format recognises runs (`detect`), lists their files (`sources`), turns a byte range of a file into rows (`scan`) and
a locator into a `Sample` (`load`). A scan is a pure function of the file's bytes and of the bytes of the file in
`Source.texts_from`: two processes that scan the same range yield the same rows.

`docs/adding-a-format.md` shows how to write a format; `rolloupe.formats.testing` checks it. Formats of JSON lines
derive from `rolloupe.formats.reading.jsonl.JsonlFormat`, formats of Parquet files from
`reading.tables.parquet.ParquetFormat`.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, ClassVar, NamedTuple, TypeAlias

from rolloupe import model, tokens
from rolloupe.errors import SourceChanged, defect, words_of
from rolloupe.formats.reading.run_loss import run_loss_of
from rolloupe.formats.reading.stream import open_binary, read_fully
from rolloupe.storage import expect
from rolloupe.tokens import SampleTokens

BUFFER_BYTES = 2**13
"""Most records are shorter than the default buffer."""


Annotations: TypeAlias = Mapping[model.Locator, Sequence[model.Locator]]
"""The places of annotations, oldest first, by the place of their sample."""

NO_ANNOTATIONS: Annotations = MappingProxyType({})


class TranscriptQuery(NamedTuple):
    """A search of logged conversations: `matches` selects them.

    A conversation without `word` never matches. The word is lower case, of ASCII letters and blanks, and matches in any
    case; it is empty if the search has no such word. The search calls `check` repeatedly; `check` raises to end the
    search.
    """

    word: bytes
    matches: Callable[[Sequence[model.Turn]], bool]
    check: Callable[[], None]


class StepReport(NamedTuple):
    """The report that a trainer logged for a step."""

    split: str
    step: int
    search: Callable[[TranscriptQuery], list[model.LoggedTranscript]]
    """Find matching conversations that cannot be tied to one sample with certainty, and other matching texts.

    Raises `UnreadablePath`, and whatever `TranscriptQuery.check` raises.
    """


class Format(ABC):
    """One framework's layout. A subclass implements the abstract methods and overrides what else its layout offers."""

    name: ClassVar[str]
    """A Python identifier: `--format` takes it, and the index and the addresses of runs store it."""
    title: ClassVar[str]
    """The name that people read."""

    @abstractmethod
    def detect(self, path: Path, *, forced: bool = False, link_root: str = "") -> list[model.RunInfo]:
        """Return the runs *at* `path` (a folder or one file); look no deeper than the layout needs.

        With `forced`, a person named this format: only the names that it requires must match, not the contents.
        Links may lead to places below `link_root` (empty: below `path`), and the runs record that.
        """

    def _run_at(
        self, path: Path, reason: str, links: str, name: str = "", parts: tuple[model.RunPart, ...] = ()
    ) -> model.RunInfo:
        """Return the run at a path. By default, it has the name of its folder or file, which is its only part."""
        parts = parts or (model.RunPart(str(path)),)
        return model.RunInfo(
            name=name or path.name, root=str(path), format=self.name, reason=reason, parts=parts, link_root=links
        )

    @abstractmethod
    def sources(self, run: model.RunInfo) -> list[model.Source]:
        """List the files that hold the run's samples now, and the files that hold their annotations.

        Cheap: called on every poll. If two files hold annotations of a sample, the file with the later name wins
        (numbers compare by size).
        """

    @abstractmethod
    def scan(self, run: model.RunInfo, source: model.Source, start: int, stop: int) -> Iterator[model.Scanned]:
        """Yield the rows, annotations and problems of the records that begin in `[start, stop)`, in file order.

        A scan that starts inside a record skips it; a record that begins before `stop` is read to its end. An
        unfinished last record yields a row if it can be read, else a transient problem.
        """

    def scan_columns(
        self, run: model.RunInfo, source: model.Source, start: int, stop: int
    ) -> Iterator[model.Scanned | model.SampleColumns]:
        """Scan as `scan` does, but yield samples many at once where that is quicker: the same, in the same order."""
        return self.scan(run, source, start, stop)

    @abstractmethod
    def load(self, run: model.RunInfo, source: model.Source, locator: model.Locator) -> model.Sample:
        """Read the one sample at `locator` in full. Raises `SourceChanged` if the file no longer holds it."""

    # How to read files. Everything from here on is optional.

    splittable: ClassVar[bool] = False
    """True if `scan` may begin at any byte (JSON lines); False if it must scan the whole file."""
    sources_by_name: ClassVar[bool] = False
    """True if each source without `depends` follows from the name of its own file: the index then lists only the new
    files of a large folder."""
    endings: ClassVar[tuple[str, ...]] = ()
    """Suffixes of binary files of this format, such as `.parquet`; discovery asks no other format about them."""
    takes_single_files: ClassVar[bool] = False
    """True if single files of a folder are whole runs of this format: other formats may take the other files."""
    has_samples: ClassVar[bool] = True
    """False if its runs hold metrics alone."""
    takes_field_map: ClassVar[bool] = False
    """True if a person may map the keys of its rows (`--map`, `Reading.fields`)."""

    decodes_ids: ClassVar[bool] = False
    """True if its records hold token ids and no text, so that rows depend on `RunInfo.tokenizer`."""

    def tokenizers(self, run: model.RunInfo) -> list[model.Location | str]:
        """Return candidates for the run's tokenizer, best first: files of the run, and names of models in its files."""
        return []

    def raw(self, source: model.Source, locator: model.Locator) -> bytes:
        """Return the bytes of the record at `locator`, as stored. Raises `SourceChanged`."""
        return self.read(source, locator.start, locator.length)

    def read(self, source: model.Source, start: int, length: int) -> bytes:
        """Return uncompressed bytes of a file from `start` on, fewer at its end. Raises `SourceChanged`."""
        try:
            with open_binary(source.location, BUFFER_BYTES) as file:
                expect(file, [(start, start + length)])
                file.seek(start)
                return read_fully(file, length)
        except OSError as error:
            raise changed(source, start, error.strerror or str(error)) from None

    def load_texts(self, run: model.RunInfo, source: model.Source, locator: model.Locator) -> model.Texts | None:
        """Read the texts of a sample if that is faster than `load`; else return None. Raises what `load` raises."""
        return None

    def failure(self, error: Exception) -> str:
        """Return the problem's reason for a record on which this code itself failed."""
        is_ours = type(self).__module__.startswith("rolloupe.")
        return defect(error) if is_ours else f"the format {self.name} failed: {words_of(error)}"

    # Which runs exist.

    def run_around(self, path: Path) -> Path | None:
        """Return the run around this folder or file; None if the place is not inside a run."""
        return None

    def joined(self, runs: list[model.RunInfo]) -> list[model.RunInfo]:
        """Join those detected runs of this format that are parts of one run."""
        return runs

    # What the files hold about samples and steps beyond rows.

    annotates_by_place: ClassVar[bool] = False
    """True if `load_annotated` needs the places of a sample's annotations."""

    def load_annotated(
        self, run: model.RunInfo, source: model.Source, locator: model.Locator, annotations: Sequence[model.Locator]
    ) -> model.Sample:
        """Load a sample with its annotations. `annotations` are their places, oldest first. See `load`."""
        return self.load(run, source, locator)

    series_are_annotated: ClassVar[bool] = False
    """True if scans do not see which annotations hold token series: any may."""

    def token_arrays(
        self,
        run: model.RunInfo,
        source: model.Source,
        places: Sequence[model.Locator],
        annotations: Annotations = NO_ANNOTATIONS,
    ) -> Iterator[SampleTokens | model.Problem]:
        """Yield the tokens of each sample at `places`, which are in file order, or the problem that prevents it.

        These are the tokens that `load_annotated` returns. Override it if they can be read faster.
        """
        for place in places:
            try:
                yield tokens.tokens_of(self.load_annotated(run, source, place, annotations.get(place, ())))
            except Exception as error:  # must not cost the samples after it
                yield no_sample(source, place, error)

    def samples_at(
        self, run: model.RunInfo, source: model.Source, places: Sequence[model.Locator]
    ) -> Iterator[model.Sample | model.Problem]:
        """Yield each sample at `places`, which are in file order, or the problem that prevents it.

        Token series and annotations may be missing. Override it if they can be read faster than by loading each.
        """
        for place in places:
            try:
                yield self.load(run, source, place)
            except Exception as error:  # must not cost the samples after it
                yield no_sample(source, place, error)

    def record_at(
        self, run: model.RunInfo, source: model.Source, locator: model.Locator
    ) -> tuple[dict[str, Any], model.SampleRow] | None:
        """Return the record of a sample, whose keys `--group-by` takes, and its row. Raises as `load`.

        None if the format stores groups, or has no keys to choose from.
        """
        return None

    def step_states(self, run: model.RunInfo) -> dict[tuple[str, int], str]:
        """Return `being written` or `incomplete` for each split and step that is not finished."""
        return {}

    def times_s(self, run: model.RunInfo) -> list[float]:
        """Return when steps were written, in seconds since the epoch, unordered. Reads a bounded amount."""
        return []

    def ending(self, run: model.RunInfo) -> str:
        """Return `ended`, `open` if the end marker is still missing, or empty if the layout has no such marker.

        Must be cheap: called every few seconds.
        """
        return ""

    def losses(self, run: model.RunInfo) -> list[model.Problem]:
        """Return the data that, by the run's own reports, was never written. Cheap: called on every poll."""
        return []

    # Trainer files: read on request, within bounds; damaged files are read up to the damage.

    def trainer_files(self, run: model.RunInfo) -> list[model.Source]:
        """List the JSON files without samples: damage in them is a problem of the run. Called on every poll."""
        return []

    def metrics(self, run: model.RunInfo) -> list[model.MetricRow]:
        """Return the trainer's metrics: one row for each step, later values win; rows without a step come last."""
        return []

    def config(self, run: model.RunInfo) -> dict[str, Any]:
        """Return the run's configuration."""
        return {}

    def loss(self, run: model.RunInfo) -> model.RunLoss | None:
        """Return the loss that trained the run; None if its configuration names no loss that Rolloupe knows."""
        return run_loss_of(self.config(run))

    def checkpoints(self, run: model.RunInfo) -> list[model.Checkpoint]:
        """Return the checkpoints in the order of their creation."""
        return []

    def code_diff(self, run: model.RunInfo) -> str:
        """Return the diff of the run's code against its repository."""
        return ""

    def files(self, run: model.RunInfo) -> list[model.RunFile]:
        """Return the files of the run's folder; empty if only the files with samples are known."""
        return []

    # Reports: a trainer's log of a step, as an outline.

    def logtrees(self, run: model.RunInfo) -> list[tuple[str, int]]:
        """Return the splits and steps that have a logged outline."""
        return []

    def logtree(self, run: model.RunInfo, split: str, step: int) -> model.LogNode | None:
        """Return the logged outline of a step, or None."""
        return None

    def conversations(self, run: model.RunInfo, split: str, step: int) -> list[model.LoggedTranscript]:
        """Return the conversations of a step's outline that cannot be tied to one sample with certainty."""
        return []

    def all_conversations(self, run: model.RunInfo, split: str, step: int) -> list[model.LoggedTranscript]:
        """Return all conversations of a step's outline; those that a sample shows carry its id."""
        return self.conversations(run, split, step)

    def reports(self, run: model.RunInfo) -> list[StepReport]:
        """List the searchable reports, after one look at the folders of the run."""
        return []

    def report_files(self, run: model.RunInfo, split: str, step: int) -> dict[str, bytes]:
        """Return the files logged for a step, by kind: `tree` (JSON), `page` (HTML). Unreadable files are left out."""
        return {}


def no_sample(source: model.Source, place: model.Locator, error: Exception) -> model.Problem:
    """Return the problem of a sample that could not be read."""
    reason = f"the sample could not be read: {words_of(error)}"
    return model.Problem(source=source.name, reason=reason, start=place.start, stop=place.start + place.length)


def changed(source: model.Source, start: int, reason: str) -> SourceChanged:
    """Return the error for a record that moved or disappeared."""
    return SourceChanged(f"{source.path} no longer holds a record at byte {start}: {reason}. Next: reload the step")
