"""`rolloupe index`."""

import random
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.cli.support import Done, command, rolloupe, row, write_run
from tests.disks import on_small_disk
from tests.thoroughness import each, slow_unless


def test_all_of_a_run_is_indexed(run: Path, tmp_path: Path) -> None:
    done = rolloupe("index", run, "--index-dir", tmp_path / "index", "--processes", "1")
    assert (done.code, done.err) == (0, "")
    assert "relax" in done.out and "10" in done.out and str(tmp_path / "index") in done.out
    assert len(list((tmp_path / "index").rglob("*.text.parquet"))) == 3
    again = rolloupe("index", run, "--index-dir", tmp_path / "index")
    assert again.code == 0


def test_where_there_is_no_run(tmp_path: Path) -> None:
    assert rolloupe("index", tmp_path).code == 1
    assert rolloupe("index", tmp_path / "missing").code == 3


@each(("said", "code"), [("1GB", 0), ("20 GiB", 0), ("0", 0), ("many", 2), ("-1", 2), ("5XB", 2)])
def test_a_size_is_read_as_people_write_it(run: Path, said: str, code: int) -> None:
    assert rolloupe("index", run, f"--index-budget={said}").code == code


@pytest.fixture(scope="module")
def big(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of six steps whose texts do not get smaller when they are compressed."""
    drawn = random.Random(3)
    steps = {step: [row(i, response=drawn.randbytes(20_000).hex()) for i in range(8)] for step in range(6)}
    return write_run(tmp_path_factory.mktemp("big") / "run", steps)


def on_disk(size_bytes: int, place: Path, *words: str | Path) -> Done:
    """Run a command line in a process of its own, with a small disk at a place where its index lies."""
    line = on_small_disk(size_bytes, place, command(*words, "--index-dir", place / "index"))
    done = subprocess.run(line, capture_output=True, text=True, check=False)
    return Done(done.returncode, done.stdout, done.stderr)


ASKED = (
    ("query", "RUN", "--json"),
    ("query", "RUN", "--step", "99"),
    ("query", "RUN", "--sort", "response_length"),
    ("search", "RUN", "ff"),
    ("ls", "RUN"),
    ("steps", "RUN"),
    ("doctor", "RUN"),
    ("show", "RUN", "train/0/0/0"),
)


@pytest.mark.parametrize("words", [slow_unless(words[0] in ("search", "doctor"), words) for words in ASKED])
def test_a_command_that_answers_from_an_incomplete_index_ends_with_3(
    big: Path, tmp_path: Path, words: tuple[str, ...]
) -> None:
    own = [big if word == "RUN" else word for word in words]
    done = on_disk(24_000, tmp_path / "disk", *own)
    assert done.code == 3, done
    assert "of the index could not be made" in done.err
    assert "train/" in done.err and "No space left" in done.err, "it says which, and why"
    assert "Next:" in done.err and "--index-dir" in done.err
    assert "Traceback" not in done.err and "No sample matches" not in done.err


def test_a_run_whose_index_is_incomplete_is_not_converted(big: Path, tmp_path: Path) -> None:
    done = on_disk(24_000, tmp_path / "disk", "convert", big, tmp_path / "out", "--to", "native")
    assert done.code == 3 and "No space left" in done.err
    assert not (tmp_path / "out").exists()


def test_a_run_that_was_not_asked_for_may_be_incomplete(tmp_path: Path) -> None:
    for name in ("one", "other"):
        write_run(tmp_path / "runs" / name, {0: [row(0)]})
    place = ("--index-dir", tmp_path / "index")
    assert rolloupe("index", tmp_path / "runs" / "other", *place).code == 0
    (own,) = (tmp_path / "index").glob("v*/*")
    shutil.rmtree(own)
    own.write_text("no folder")
    assert rolloupe("query", tmp_path / "runs", "--run", "one", *place).code == 0
    done = rolloupe("query", tmp_path / "runs", *place)
    assert done.code == 3 and "other" in done.err


def test_bytes_of_a_file_need_no_index(big: Path, tmp_path: Path) -> None:
    done = on_disk(24_000, tmp_path / "disk", "show", big, "train/0.jsonl:0-10", "--bytes")
    assert (done.code, len(done.out)) == (0, 10), done


@pytest.mark.slow
def test_an_index_that_lacks_texts_is_incomplete_for_index_alone(big: Path, tmp_path: Path) -> None:
    done = on_disk(300_000, tmp_path / "disk", "index", big)
    assert done.code == 3 and "48" in done.out, done
    assert "texts of part 0" in done.err and "No space left" in done.err and "Next:" in done.err
    done = on_disk(300_000, tmp_path / "disk", "query", big, "--json")
    assert done.code == 0 and len(done.lines) == 48 and done.err == ""
    done = on_disk(300_000, tmp_path / "disk", "search", big, "ff", "--json")
    assert done.code == 0 and len(done.lines) == 48 and done.err == ""


@pytest.mark.slow
def test_once_there_is_room_the_rest_is_indexed(big: Path, tmp_path: Path) -> None:
    assert on_disk(24_000, tmp_path / "disk", "index", big).code == 3
    done = on_disk(8_000_000, tmp_path / "disk", "index", big)
    assert (done.code, done.err) == (0, "")


def test_shards_are_indexed_one_by_one(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", {step: [row(0), row(1)] for step in range(5)})
    place = (run, "--index-dir", tmp_path / "index")
    first = rolloupe("index", *place, "--shard", "1/2")
    assert first.code == 0 and "Shard 1 of 2 is indexed; others are not." in first.out, first
    second = rolloupe("index", *place, "--shard", "2/2")
    assert second.code == 0 and "the index is complete" in second.out, second
    for wrong in ("0/2", "3/2", "1", "1/0", "a/b", "1/2/3"):
        assert rolloupe("index", *place, "--shard", wrong).code == 2
