"""Two processes write to the files of a run while it is read: of every format, nothing raises and nothing is made up.

Both append lines; both write into a database, which has a write-ahead log; any other file is replaced by one and
written in two halves by the other. Whatever a scan yields meanwhile is as in the run, or a problem.
"""

import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from rolloupe.errors import SourceChanged
from rolloupe.formats import by_name, discover
from rolloupe.formats.reading.stream import open_binary
from rolloupe.formats.reading.trackers.sqlite import is_database
from rolloupe.model import Problem, RunInfo, SampleRow, Scanned, Source
from tests.formats.examples import EXAMPLES, LINES, WHOLE, sample_sources
from tests.formats.support import load
from tests.thoroughness import amount

ONE_A_SCAN = [*{type(by_name(name)).scan: name for name in LINES}.values()]
"""One format of JSON lines for each way to scan them."""

ROUNDS = amount(4, 100)
"""How often a file is read while it is written."""

APPEND = """
import sys
path, lines = sys.argv[1], open(sys.argv[2], "rb").read().splitlines(keepends=True)
for _ in range(int(sys.argv[3])):
    for line in lines:
        with open(path, "ab", buffering=0) as file:
            file.write(line)
"""
REPLACE = """
import os, sys, time
path, whole, mine = sys.argv[1], open(sys.argv[2], "rb").read(), sys.argv[3] + str(os.getpid())
print(flush=True)
while True:
    for data in (whole, whole[:len(whole) // 2], whole[:-1], b""):
        with open(mine, "wb") as file:
            file.write(data)
        os.replace(mine, path)
        time.sleep(0.001)
"""
REWRITE = """
import sys, time
path, whole = sys.argv[1], open(sys.argv[2], "rb").read()
print(flush=True)
while True:
    with open(path, "wb", buffering=0) as file:
        file.write(whole[:len(whole) // 2])
        time.sleep(0.002)
        file.write(whole[len(whole) // 2:])
    time.sleep(0.002)
"""
TRANSACT = """
import sqlite3, sys, time
database = sqlite3.connect(sys.argv[1], timeout=20, isolation_level=None)
database.execute("PRAGMA journal_mode = WAL")
database.execute("CREATE TABLE IF NOT EXISTS noise (data BLOB)")
print(flush=True)
while True:
    database.execute("BEGIN IMMEDIATE")
    database.executemany("INSERT INTO noise VALUES (randomblob(5000))", [()] * 20)
    database.execute("DELETE FROM noise WHERE rowid % 3 = 0")
    database.execute("COMMIT")
    if database.execute("SELECT count(*) FROM noise").fetchone()[0] > 200:
        database.execute("DELETE FROM noise")
        database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    time.sleep(0.005)
"""


@contextmanager
def writing(*programs: list[str]) -> Iterator[list["subprocess.Popen[str]"]]:
    """Processes that write, each once it has begun; those that have not ended by then are ended."""
    started = [
        subprocess.Popen([sys.executable, "-S", "-c", *one], stdout=subprocess.PIPE, text=True) for one in programs
    ]
    try:
        for one in started:
            assert one.stdout
            one.stdout.readline()
        yield started
    finally:
        for one in started:
            one.kill()
            one.communicate()


def run_in(folder: Path, name: str) -> RunInfo:
    """The run in a copy of a format's example."""
    example = EXAMPLES[name]
    place = folder / Path(example.root).name
    (shutil.copytree if Path(example.root).is_dir() else shutil.copyfile)(example.root, place)
    (run,) = discover([place]).runs
    return run


def scan(run: RunInfo, source: Source) -> list[Scanned]:
    """What a scan yields now."""
    return list(by_name(run.format).scan(run, source, 0, 2**62))


def facts(item: SampleRow) -> tuple[object, ...]:
    """What a row says, but for its place."""
    return str(item.key), repr(item.reward), item.prompt, item.response, item.uid


@pytest.mark.parametrize("name", ONE_A_SCAN)
def test_lines_that_two_processes_append_are_all_read(name: str, tmp_path: Path) -> None:
    run = run_in(tmp_path, name)
    source = sample_sources(run)[0]
    path, lines, times = Path(source.path), tmp_path / "lines to append", 5
    with open_binary(source.location) as file:
        lines.write_bytes(b"".join(file.readline().rstrip(b"\n") + b"\n" for _ in range(3)).replace(b"\n\n", b"\n"))
    if not path.name.endswith(".jsonl"):
        path.unlink()
        path = path.with_suffix("")
    path.write_bytes(lines.read_bytes())
    (run,) = [one for one in discover([Path(run.root)]).runs if one.format == name]
    source = next(one for one in sample_sources(run) if one.path == str(path))
    before = scan(run, source)
    programs = [[APPEND, str(path), str(lines), str(times)]] * 2
    with writing(*programs) as started:
        while any(one.poll() is None for one in started):
            found = scan(run, source)
            assert repr(found[: len(before)]) == repr(before)
            assert not [one for one in found if isinstance(one, Problem) and not one.transient]
        assert [one.wait() for one in started] == [0, 0]
    rows = scan(run, source)
    assert not [one for one in rows if isinstance(one, Problem)]
    assert len(rows) == len(before) * (1 + 2 * times) and before


def check(run: RunInfo, source: Source, expected: set[tuple[object, ...]]) -> bool:
    """Read a source now, and some of its samples; return whether all of its rows were there."""
    reader = by_name(run.format)
    now = [one for one in reader.sources(run) if one.name == source.name]
    found = [item for one in now for item in scan(run, one)]
    rows = [item for item in found if isinstance(item, SampleRow)]
    for item in found:
        if isinstance(item, Problem):
            assert item.reason and "defect" not in item.reason and " failed: " not in item.reason, item.reason
    assert {facts(item) for item in rows} <= expected
    for item in rows[:: max(1, len(rows) // 3)]:
        with suppress(SourceChanged):
            assert load(reader, run, now[0], item).key == item.key
    return {facts(item) for item in rows} == expected


@pytest.mark.parametrize("name", WHOLE)
def test_a_file_that_two_processes_write_is_read_as_it_was_or_is_a_problem(name: str, tmp_path: Path) -> None:
    run = run_in(tmp_path, name)
    source = min(sample_sources(run), key=lambda one: Path(one.path).stat().st_size)
    before = scan(run, source)
    expected = {facts(item) for item in before if isinstance(item, SampleRow)}
    whole = tmp_path / "whole"
    shutil.copyfile(source.path, whole)
    if is_database(source.location):
        with writing(*[[TRANSACT, source.path]] * 2):
            assert [check(run, source, expected) for _ in range(ROUNDS)].count(True), "a database always has its rows"
        return
    replace, rewrite = [REPLACE, source.path, str(whole), str(tmp_path / "new")], [REWRITE, source.path, str(whole)]
    with writing(replace, rewrite):
        for _ in range(ROUNDS):
            check(run, source, expected)
    shutil.copyfile(whole, source.path)
    assert repr(scan(run, source)) == repr(before) and expected
