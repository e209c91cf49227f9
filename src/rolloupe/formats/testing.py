"""Tests of the contract of formats: subclass `FormatContract` in a test module and point it to an example.

    class TestMine(FormatContract):
        format = "mine"
        example = Path(__file__).parent / "data" / "run"

pytest collects the methods by their names; nothing here imports it. Tests use copies of the example,
which should be small: a few files with some dozens of samples, without repeated ids.
"""

import json
import os
import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from itertools import pairwise, product
from operator import attrgetter
from pathlib import Path
from typing import Any, ClassVar

from rolloupe.demo import RUNS, demo_run
from rolloupe.errors import NotRecognised, SourceChanged
from rolloupe.formats.base import Format
from rolloupe.formats.discovery import discover
from rolloupe.formats.reading.files import JSONL, listing_once
from rolloupe.formats.registry import by_name
from rolloupe.model import Annotation, Locator, Problem, Reading, RunInfo, Sample, SampleRow, Scanned, Source

MAX_LOADED = 60
"""Number of samples of an example to load, spread over all of them."""
MAX_CUTS = 60
"""Number of cuts through a file: at the places where records begin, and next to them."""
MAX_VALUES = 200
"""Number of values of records to replace by one of a wrong type."""
MAX_DAMAGES = 10
"""Number of places at which a file is cut off, and at which it is overwritten."""
WRONG: tuple[Any, ...] = (None, True, -1, 2**70, 1.5e308, float("nan"), "", "\ud800", "x" * 2000, [], [[1]], {"a": {}})
"""Values of many types: each is wrong for some key."""
ASKED = (
    "metrics", "config", "checkpoints", "code_diff", "files", "trainer_files", "losses", "step_states", "times_s",
    "ending", "logtrees", "reports",
)  # fmt: skip
"""Facts that a format may know about a run beyond its samples."""

_opened: list[str] | None = None
_is_hooked = False


class FormatContract:
    """Tests of one format on one example of its runs."""

    format: ClassVar[str]
    """The format's name."""
    example: ClassVar[Path]
    """A folder that holds one run and nothing else, or one file."""

    def run_at(self, folder: Path) -> RunInfo:
        """The run in a copy of the example."""
        (run,) = discover([self.copy(folder)]).runs
        return run

    def copy(self, folder: Path) -> Path:
        """A copy of the example in a folder, under the name of the example."""
        goal = folder / self.example.name
        (shutil.copytree if self.example.is_dir() else shutil.copyfile)(self.example, goal)
        return goal

    @property
    def reader(self) -> Format:
        """The format."""
        return by_name(self.format)

    def test_it_is_registered_under_a_name_and_a_title(self) -> None:
        """`--format` and the addresses of runs accept the name."""
        assert self.reader.name == self.format and self.format.isidentifier() and self.format.islower()
        assert self.reader.title.strip()

    def test_its_run_is_found(self, tmp_path: Path) -> None:
        """Discovery finds one run of this format, with a reason, below the path that was named."""
        place = self.copy(tmp_path)
        (run,) = discover([tmp_path]).runs
        assert (run.format, Path(run.root).is_relative_to(tmp_path)) == (self.format, True)
        assert run.reason and run.name and run.parts
        names = [source.name for source in self.reader.sources(run)]
        runs = discover([place], Reading(format=self.format)).runs
        assert names in [[source.name for source in self.reader.sources(other)] for other in runs]

    def test_nothing_else_is_found(self, tmp_path: Path) -> None:
        """Neither files of no format nor runs of other formats become runs of this one."""
        for name, data in {"a.txt": b"hello", "b.jsonl": b'{"a": 1}\n', "c.json": b"{}", "d.parquet": b"PAR1"}.items():
            (tmp_path / name).write_bytes(data)
        (tmp_path / "empty").mkdir()
        for path in (tmp_path, *tmp_path.iterdir()):
            assert self.reader.detect(path) == []
        for run in discover([RUNS]).runs:
            bundled = demo_run(run.root)
            assert bundled is not None and run.format == bundled.format

    def test_a_person_who_names_it_where_it_reads_nothing_gets_an_answer(self, tmp_path: Path) -> None:
        """`--format` on a folder without files of this format is an error that says so."""
        (tmp_path / "a.pt").write_bytes(b"\x80\x04.")
        reason = _raised(NotRecognised, lambda: discover([tmp_path], Reading(format=self.format)))
        assert self.format in reason

    def test_nothing_is_written_into_the_run(self, tmp_path: Path) -> None:
        """No method of a format changes the files of the run."""
        run = self.run_at(tmp_path)
        before = _tree(tmp_path)
        for source, row in _rows(self.reader, run):
            self.reader.load(run, source, _locator(source, row))
        for name in ASKED:
            getattr(self.reader, name)(run)
        assert _tree(tmp_path) == before

    def test_sources_are_cheap(self, tmp_path: Path) -> None:
        """Every poll asks for the sources: the second answer opens none of them if nothing changed."""
        run = self.run_at(tmp_path)
        first = self.reader.sources(run)
        with _opening() as opened:
            assert self.reader.sources(run) == first
        assert {source.path for source in first}.isdisjoint(opened)
        names = [source.name for source in first]
        assert len(set(names)) == len(names) and all(Path(source.path).is_file() for source in first)

    def test_new_files_may_be_listed_alone(self, tmp_path: Path) -> None:
        """With `sources_by_name`, a listing that lacks all other files has the same source for each file."""
        run = self.run_at(tmp_path)
        every = self.reader.sources(run) if self.reader.sources_by_name else []
        for source in every:
            others = {other.path for other in every if other != source}
            with listing_once(is_hidden=lambda folder, name: os.path.join(folder, name) in others):  # noqa: B023 - at once
                assert source.depends or source in self.reader.sources(run)

    def test_scans_are_pure(self, tmp_path: Path) -> None:
        """Two scans yield the same, rows have unique ids and places, and no problem occurs."""
        run = self.run_at(tmp_path)
        rows: list[tuple[Source, SampleRow]] = []
        for source in self.reader.sources(run):
            found = _scan(self.reader, run, source)
            assert repr(found) == repr(_scan(self.reader, run, source))
            for item in found:
                assert isinstance(item, SampleRow | Annotation) and isinstance(item, Annotation) == source.annotates
            rows += [(source, item) for item in found if isinstance(item, SampleRow)]
        assert rows, "the example holds no sample"
        assert len({str(row.key) for _, row in rows}) == len(rows)
        assert len({(source.name, row.start, row.part) for source, row in rows}) == len(rows)

    def test_scans_of_parts_are_the_scan_of_the_whole(self, tmp_path: Path) -> None:
        """Wherever a file is cut, each record belongs to the part in which it begins."""
        run = self.run_at(tmp_path)
        for source in self.reader.sources(run):
            items = _scan(self.reader, run, source)
            whole = repr(items)
            begins = {item.start for item in items if not isinstance(item, Problem)}
            places = sorted({place + near for place in begins for near in (-1, 0, 1) if place + near > 0})
            chosen = places[:: max(1, len(places) // MAX_CUTS)]
            few = ([place] for place in chosen[:: max(1, len(chosen) // 4)])
            for cuts in [chosen, *few] if self.reader.splittable else [[1]]:
                edges = [0, *cuts, 2**62]
                parts = [item for a, b in pairwise(edges) for item in self.reader.scan(run, source, a, b)]
                assert repr(parts) == whole, f"{source.name}, cut at {cuts}"

    def test_loading_agrees_with_scanning(self, tmp_path: Path) -> None:
        """A loaded sample has the id, the place, the numbers and the texts of its row."""
        run = self.run_at(tmp_path)
        for source, row in _rows(self.reader, run):
            locator = _locator(source, row)
            sample = self.reader.load(run, source, locator)
            assert (sample.key, sample.locator) == (row.key, locator)
            assert repr(_facts(sample.row)) == repr(_facts(row))
            assert (bool(sample.prompt_text), sample.response_text) == (bool(row.prompt), row.response)
            texts = self.reader.load_texts(run, source, locator)
            assert texts is None or (texts.key, texts.prompt, texts.response) == (row.key, row.prompt, row.response)
            assert self.reader.raw(source, locator)
            (again,) = self.reader.samples_at(run, source, [locator])
            assert isinstance(again, Sample) and (again.key, again.label) == (sample.key, sample.label)
            assert (again.prompt_text, again.response_text) == (sample.prompt_text, sample.response_text)
            assert repr(again.turns) == repr(sample.turns)
            _check_sendable(sample)

    def test_a_file_that_was_replaced_is_noticed(self, tmp_path: Path) -> None:
        """A locator of a file that has changed or is gone raises `SourceChanged`."""
        run = self.run_at(tmp_path)
        for source, row in _rows(self.reader, run, 3):
            path = Path(source.path)
            original = path.read_bytes()
            for data in (b"", b"\n" * len(original), b"x" * len(original), None):
                if data is None:
                    path.unlink()
                else:
                    path.write_bytes(data)
                load = partial(self.reader.load, run, source, _locator(source, row))
                assert source.path in _raised(SourceChanged, load)
            path.write_bytes(original)

    def test_damage_never_raises(self, tmp_path: Path) -> None:
        """Files that are cut off, overwritten or empty yield rows and problems, and the problems name the damage."""
        run = self.run_at(tmp_path)
        for source in self.reader.sources(run):
            path = Path(source.path)
            original = path.read_bytes()
            for data in _damaged(original):
                path.write_bytes(data)
                _check_items(self.reader, run, source)
            path.write_bytes(original)

    def test_an_unfinished_file_keeps_what_stands_before(self, tmp_path: Path) -> None:
        """In JSON lines, the rows before the last line stay, and the last is a row or a transient problem."""
        run = self.run_at(tmp_path)
        for source in self._lines(run):
            path = Path(source.path)
            whole = _scan(self.reader, run, source)
            original = path.read_bytes()
            last = original.rstrip(b"\n").rfind(b"\n") + 1
            path.write_bytes(original[: (last + len(original)) // 2])
            found = _scan(self.reader, run, source)
            before = [item for item in whole if item.start is not None and item.start < last]
            assert repr(found[: len(before)]) == repr(before)
            assert all(isinstance(item, Problem) and item.transient for item in found[len(before) :])
            path.write_bytes(original)

    def test_values_of_wrong_types_never_raise(self, tmp_path: Path) -> None:
        """In JSON lines, a value of any type under any key costs at most its own line."""
        run = self.run_at(tmp_path)
        for source in self._lines(run):
            path = Path(source.path)
            path.write_text("".join(f"{json.dumps(record)}\n" for record in _mutants(path)), encoding="utf-8")
            for item in _check_items(self.reader, run, source):
                if isinstance(item, SampleRow):
                    _check_sendable(self.reader.load(run, source, _locator(source, item)))

    def _lines(self, run: RunInfo) -> list[Source]:
        return [source for source in self.reader.sources(run) if source.path.endswith(JSONL)]


def _scan(reader: Format, run: RunInfo, source: Source) -> list[Scanned]:
    return list(reader.scan(run, source, 0, 2**62))


def _rows(reader: Format, run: RunInfo, count: int | None = None) -> list[tuple[Source, SampleRow]]:
    """Some rows of a run with their sources, spread over all of it."""
    found = [(source, item) for source in reader.sources(run) for item in _scan(reader, run, source)]
    rows = [(source, item) for source, item in found if isinstance(item, SampleRow)]
    return rows[:: max(1, len(rows) // (count or MAX_LOADED))]


def _locator(source: Source, row: SampleRow) -> Locator:
    return Locator(source=source.name, start=row.start, length=row.length, part=row.part)


_facts = attrgetter("key", "ordinal", "start", "length", "part", "reward", "status", "uid", "prompt", "response")


def _check_items(reader: Format, run: RunInfo, source: Source) -> list[Scanned]:
    found = _scan(reader, run, source)
    for item in found:
        if isinstance(item, Problem):
            assert item.reason and "defect" not in item.reason and " failed: " not in item.reason, item.reason
        elif isinstance(item, SampleRow):
            assert abs(item.step) < 2**63 and abs(item.ordinal) < 2**63
            for text in (str(item.key), item.prompt, item.response, *item.metrics, *item.tags.values()):
                text.encode("utf-8")
    return found


def _check_sendable(sample: Sample) -> None:
    """Check that all texts of a sample are UTF-8, and that its turns have parts with text."""
    repr(sample).encode("utf-8")
    json.dumps(sample.extra, ensure_ascii=False).encode("utf-8")
    for turn in sample.turns:
        assert turn.role
        for part in turn.parts:
            part.text.encode("utf-8")


def _raised(kind: type[Exception], call: Callable[[], object]) -> str:
    try:
        call()
    except kind as error:
        return str(error)
    raise AssertionError(f"no {kind.__name__} was raised")


def _damaged(data: bytes) -> Iterator[bytes]:
    places = [len(data) * part // MAX_DAMAGES for part in range(MAX_DAMAGES)]
    yield from (data[:at] for at in (*places, len(data) - 1))
    yield from (data[:at] + b"\xff\x00\xfe" + data[at + 3 :] for at in places)
    yield from (data + b"\n\x00garbage", b"\n" * 9 + data)


def _mutants(path: Path) -> list[dict[str, Any]]:
    """The first records of a file, each with one value of a wrong type, at the top or one level below."""
    with path.open(encoding="utf-8") as file:
        records = [json.loads(line) for _, line in zip(range(4), file, strict=False)]
    found: list[dict[str, Any]] = []
    for record in records:
        for (key, value), wrong in product(record.items(), WRONG):
            inner = value if isinstance(value, dict) else {}
            changed = [wrong, *(inner | {name: wrong} for name in inner)]
            changed += [[*value, wrong]] if isinstance(value, list) else []
            found += [record | {key: other} for other in changed]
    return found[:: max(1, len(found) // MAX_VALUES)]


def _tree(folder: Path) -> list[tuple[str, int, int]]:
    return sorted((str(path), path.stat().st_size, path.stat().st_mtime_ns) for path in folder.rglob("*"))


@contextmanager
def _opening() -> Iterator[list[str]]:
    """Collect the paths that this process opens."""
    global _opened, _is_hooked  # noqa: PLW0603 - an audit hook stays for ever, so there is one
    if not _is_hooked:
        sys.addaudithook(_audited)
        _is_hooked = True
    _opened = []
    try:
        yield _opened
    finally:
        _opened = None


def _audited(event: str, arguments: tuple[Any, ...]) -> None:
    if _opened is not None and event == "open" and isinstance(arguments[0], str | bytes):
        _opened.append(os.fsdecode(arguments[0]))
