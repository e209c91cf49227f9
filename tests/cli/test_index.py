"""`rolloupe index`."""

from pathlib import Path

import pytest

from tests.cli.support import rolloupe


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


@pytest.mark.parametrize(("said", "code"), [("1GB", 0), ("20 GiB", 0), ("0", 0), ("many", 2), ("-1", 2), ("5XB", 2)])
def test_a_size_is_read_as_people_write_it(run: Path, said: str, code: int) -> None:
    assert rolloupe("index", run, f"--index-budget={said}").code == code
