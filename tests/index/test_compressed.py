"""Compressed sources in the index: the same samples, part by part in bounded memory, and followed while they grow."""

import gzip
from pathlib import Path
from typing import BinaryIO

import pytest

from rolloupe import query
from rolloupe.formats.reading import stream as contents
from rolloupe.formats.reading.codecs import Decoder
from rolloupe.index import OpenRun
from rolloupe.index.execution import OwnWork
from rolloupe.index.segments import parts as grid
from rolloupe.query import SampleQuery
from tests.formats.reading.test_stream import ENDINGS, cut, pack, seekable
from tests.index.support import eventually, lines, opened, relax_run, row, row_count, settled, tails_of
from tests.thoroughness import amount

by_ending = pytest.mark.parametrize("ending", ENDINGS)


def sealed(train: Path, ending: str) -> None:
    for path in train.glob("*.jsonl"):
        path.with_name(path.name + ending).write_bytes(pack(path.read_bytes(), ending))
        path.unlink()


def found_in(run: OpenRun) -> list[tuple[str, float | None]]:
    return [(str(item.key), item.reward) for item in query.every(run, SampleQuery())]


def large(count: int = 30) -> bytes:
    return lines([row(0, i, response="x" * (i * 37 % 1500)) for i in range(count)])


@by_ending
def test_the_index_of_a_compressed_run_is_that_of_the_plain_one(tmp_path: Path, ending: str) -> None:
    train = relax_run(tmp_path / "run")
    with opened(tmp_path / "run", tmp_path / "index") as library:
        plain = found_in(library.runs[0])
    sealed(train, ending)
    with settled(tmp_path / "run", tmp_path / "index") as library:
        run = library.runs[0]
        assert found_in(run) == plain
        assert not run.problems()
        assert run.progress().done_bytes == run.progress().total_bytes == sum(p.stat().st_size for p in train.iterdir())
        sample = query.sample(run, query.every(run, SampleQuery()).__iter__().__next__().key)
        assert sample.response_text == "Answer 0"


@pytest.mark.parametrize("kind", [".gz", ".zst", "members", "frames", "table"])
def test_a_source_over_several_parts_has_every_line_once(
    tmp_path: Path, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(grid, "GRID_BYTES", 2000)
    train = tmp_path / "run" / "rollout_result" / "train"
    train.mkdir(parents=True)
    ending = ".gz" if kind in (".gz", "members") else ".zst"
    pieces = [large()] if kind == ending else cut(large(), list(range(0, len(large()), 1111)))
    packed = seekable(pieces) if kind == "table" else b"".join(pack(piece, ending) for piece in pieces)
    (train / f"0.jsonl{ending}").write_bytes(packed)
    with settled(tmp_path / "run", tmp_path / "index") as library:
        run = library.runs[0]
        assert [item.key.index for item in query.every(run, SampleQuery())] == [str(i) for i in range(30)]
        assert len(run.snapshot().segments) > 8
        order = [s.meta.part for s in run.snapshot().segments]
        assert order == sorted(order, reverse=kind == "table")
        progress = run.progress()
        assert progress.done_bytes == progress.total_bytes == len(packed)
    with opened(tmp_path / "run", tmp_path / "index") as library:
        assert row_count(library.runs[0]) == 30


ROWS = amount(13, 40)
"""Three at a time behind the first."""


@by_ending
def test_appended_members_show_within_a_second_and_end_in_segments(
    tmp_path: Path, ending: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(grid, "GRID_BYTES", 2000)
    train = tmp_path / "run" / "rollout_result" / "train"
    train.mkdir(parents=True)
    path = train / f"0.jsonl{ending}"
    path.write_bytes(pack(lines([row(0, 0)]), ending))
    with opened(tmp_path / "run", tmp_path / "index", follow=True) as library:
        run = library.runs[0]
        for number in range(1, ROWS, 3):
            with path.open("ab") as file:
                file.write(pack(lines([row(0, number + i) for i in range(3)]), ending))
            assert eventually(lambda count=number + 3: row_count(run) == count) < 20.0
        assert [item.key.index for item in query.every(run, SampleQuery())] == [str(i) for i in range(ROWS)]
        eventually(lambda: not tails_of(run), within_s=10)
        assert row_count(run) == ROWS
        assert not run.problems()


def test_a_member_that_is_being_written_shows_as_far_as_it_goes(tmp_path: Path) -> None:
    train = tmp_path / "run" / "rollout_result" / "train"
    train.mkdir(parents=True)
    with gzip.open(train / "0.jsonl.gz", "wb") as writer:
        writer.write(lines([row(0, i) for i in range(8)]))
        writer.flush()
        with opened(tmp_path / "run", tmp_path / "index", follow=True) as library:
            run = library.runs[0]
            assert (row_count(run), run.problem_count()) == (8, 1)
            assert "still being written" in run.problems()[0].reason
            writer.write(lines([row(0, 8)]))
            writer.flush()
            eventually(lambda: row_count(run) == 9 and run.problem_count() == 1)
            writer.close()
            eventually(lambda: row_count(run) == 9 and run.problem_count() == 0)


@by_ending
def test_damage_is_one_problem_however_the_file_is_cut_into_parts(
    tmp_path: Path, ending: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(grid, "GRID_BYTES", 700)
    train = tmp_path / "run" / "rollout_result" / "train"
    train.mkdir(parents=True)
    first, second = cut(large(), [10_000])
    (train / f"0.jsonl{ending}").write_bytes(pack(first, ending) + b"\xff" * 5 + pack(second, ending))
    with opened(tmp_path / "run", tmp_path / "index", follow=True) as library:
        run = library.runs[0]
        assert row_count(run) == first.count(b"\n")
        assert run.problem_count() == 1
        with (train / f"0.jsonl{ending}").open("ab") as file:
            file.write(pack(second, ending))
        eventually(lambda: run.progress().total_bytes == (train / f"0.jsonl{ending}").stat().st_size)
        assert run.problem_count() == 1


@by_ending
def test_a_file_that_is_sealed_while_it_is_open_keeps_its_ids(tmp_path: Path, ending: str) -> None:
    train = relax_run(tmp_path / "run", steps=2)
    with opened(tmp_path / "run", tmp_path / "index", follow=True) as library:
        run = library.runs[0]
        before = found_in(run)
        temporary = train / f"0.jsonl{ending}.tmp"
        temporary.write_bytes(pack((train / "0.jsonl").read_bytes(), ending))
        temporary.rename(train / f"0.jsonl{ending}")
        assert row_count(run) == 16
        (train / "0.jsonl").unlink()
        eventually(
            lambda: (
                run.sources.get(f"0.jsonl{ending}") is not None or run.sources.get(f"train/0.jsonl{ending}") is not None
            )
        )
        eventually(lambda: row_count(run) == 16)
        assert found_in(run) == before


@by_ending
def test_a_compressed_file_written_again_is_scanned_again(tmp_path: Path, ending: str) -> None:
    train = relax_run(tmp_path / "run", steps=1)
    sealed(train, ending)
    with opened(tmp_path / "run", tmp_path / "index", follow=True) as library:
        run = library.runs[0]
        (train / f"0.jsonl{ending}").write_bytes(pack(lines([row(0, i, reward=5.0) for i in range(20)]), ending))
        eventually(lambda: row_count(run) == 20)
        assert query.steps(run, "train")[0].reward.mean == 5.0


def test_parts_are_scanned_without_decoding_the_stream_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(grid, "GRID_BYTES", 2**19)
    train = tmp_path / "run" / "rollout_result" / "train"
    train.mkdir(parents=True)
    data = lines([row(0, i, response=f"{i:06d}" * 300) for i in range(3000)])
    (train / "0.jsonl.zst").write_bytes(pack(data, ".zst"))
    monkeypatch.setattr(contents, "CACHED_BLOCKS", 2)
    pulled: list[int] = []
    pull = Decoder.pull

    def counted(self: Decoder, file: BinaryIO) -> bytes:
        piece = pull(self, file)
        pulled.append(len(piece))
        return piece

    monkeypatch.setattr(Decoder, "pull", counted)
    with settled(tmp_path / "run", tmp_path / "index", own_work=OwnWork(scanned_bytes=2**40)) as library:
        assert row_count(library.runs[0]) == 3000
    assert sum(pulled) < 2.5 * len(data)  # once for the numbers, once for the texts
