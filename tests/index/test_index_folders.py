"""A shared index that a person may read, but not write to."""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.disks import read_only
from tests.index.support import contents, lines, relax_run, row, settled
from tests.thoroughness import amount

READER = """
import sys
from pathlib import Path
from rolloupe import query
from rolloupe.index import Library
index_dir = sys.argv[1]
for line in sys.stdin:
    path = line.rstrip()
    with Library([path], index_dir=index_dir) as library:
        run = library.runs[0]
        assert run.wait_all(60)
        print(sum(1 for _ in query.every(run, query.SampleQuery(sort="reward"))), len(run.failures(texts=True)))
        print(query.samples(run, query.SampleQuery(sort="derived.characters")).pending)
        files = [path for path in run.catalog.folder.rglob("*.*") if path.is_file()]
        print(sum(path.is_symlink() for path in files), sum(not path.is_symlink() for path in files), flush=True)
"""


@contextmanager
def reader(index_dir: Path, cache: Path) -> Iterator[Callable[[Path], list[list[int]]]]:
    """What a reader answers of a run: samples and failures; samples without derived metrics; links, own files."""
    command = read_only(index_dir, [sys.executable, "-W", "error", "-c", READER, str(index_dir)])
    environ, pipe = {**os.environ, "XDG_CACHE_HOME": str(cache)}, subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True, env=environ) as process:
        assert process.stdin and process.stdout
        asked, answered = process.stdin, process.stdout

        def read(run: Path) -> list[list[int]]:
            print(run, file=asked, flush=True)
            return [[int(word) for word in answered.readline().split()] for _ in range(3)]

        yield read
        asked.close()
        assert process.wait(60) == 0


def test_an_index_that_is_read_only_is_read_and_goes_on_in_the_cache_of_the_reader(tmp_path: Path) -> None:
    train = relax_run(tmp_path / "run", steps=amount(6, 70), samples=4)
    relax_run(tmp_path / "other", steps=2)
    with settled(tmp_path / "run", tmp_path / "index"):
        pass
    before = contents(tmp_path / "index")
    with reader(tmp_path / "index", tmp_path / "cache") as read:
        assert read(tmp_path / "run") == [[4 * amount(6, 70), 0], [0], [len(before), 0]]
        answer = read(tmp_path / "other")
        assert answer[:2] == [[16, 0], [0]] and answer[2][1] > 0, "a run that the index lacks is indexed in the cache"
        assert contents(tmp_path / "index") == before
        (train / "70.jsonl").write_bytes(lines([row(70, i) for i in range(4)]))
        (train / "3.jsonl").write_bytes(lines([row(3, i, reward=9.0) for i in range(8)]))
        for path in (tmp_path / "index").rglob("*.text.parquet"):
            path.unlink()
            break
        answer = read(tmp_path / "run")
    assert answer[:2] == [[4 * amount(6, 70) + 8, 0], [0]] and answer[2][1] > 8, "what is new is indexed apart"
    assert len(contents(tmp_path / "index")) == len(before) - 1
