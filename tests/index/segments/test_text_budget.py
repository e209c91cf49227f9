"""Where room is short, the oldest texts go."""

import os
from pathlib import Path

import pytest

from rolloupe.index import Library
from rolloupe.index.segments import kinds
from rolloupe.index.segments.kinds import Budget
from rolloupe.index.segments.texts import TEXT, text_of
from tests.index.support import eventually, lines, opened, relax_run, row, row_count, settled


def texts(index_dir: Path) -> list[Path]:
    """The texts there are."""
    return sorted(index_dir.rglob(f"*{TEXT}"))


def size(index_dir: Path) -> int:
    """Bytes of an index."""
    return sum(path.stat().st_size for path in index_dir.rglob("*.*") if path.is_file())


def with_derived(path: Path) -> int:
    """Bytes of a text and of its features, and of the derived metrics beside it, which always stay."""
    base = path.name.split(".")[0]
    beside = [*path.parent.glob(f"{base}.derived.*"), *path.parent.glob(f"{base}.*.features.parquet")]
    return path.stat().st_size + sum(one.stat().st_size for one in beside)


def test_texts_of_the_newest_steps_stay(tmp_path: Path) -> None:
    relax_run(tmp_path / "run", steps=10)
    with settled(tmp_path / "run", tmp_path / "whole"):
        pass
    one_text = with_derived(texts(tmp_path / "whole")[0])
    limit = size(tmp_path / "whole") - 6 * one_text
    for _ in range(2):  # the second time nothing is written only to be removed
        with opened(tmp_path / "run", tmp_path / "index", budget_bytes=limit) as library:
            run = library.runs[0]
            assert run.wait_all(30) and row_count(run) == 80
            held = {text_of(s.path) for s in run.snapshot().segments if max(k.step for k in s.meta.step_stats) > 6}
        kept = texts(tmp_path / "index")
        assert 2 <= len(kept) <= 5
        assert set(kept) <= held | set(kept) and len(held & set(kept)) >= 2


def test_a_new_step_takes_the_room_of_the_oldest(tmp_path: Path) -> None:
    train = relax_run(tmp_path / "run", steps=3)
    with settled(tmp_path / "run", tmp_path / "whole"):
        pass
    scalars = size(tmp_path / "whole") - sum(map(with_derived, texts(tmp_path / "whole")))
    limit = size(tmp_path / "whole") + scalars // 3 - 200
    with settled(tmp_path / "run", tmp_path / "index", budget_bytes=limit, follow=True):
        before = texts(tmp_path / "index")
        (train / "9.jsonl").write_bytes(lines([row(9, i) for i in range(8)]))
        os.utime(train / "9.jsonl", (1, 1))
        eventually(lambda: bool(set(texts(tmp_path / "index")) - set(before)))
        assert len(set(before) - set(texts(tmp_path / "index"))) >= 1


def test_texts_of_runs_that_are_not_open_go_first(tmp_path: Path) -> None:
    relax_run(tmp_path / "old", steps=3)
    relax_run(tmp_path / "new", steps=3)
    for name, place in (("old", "whole"), ("new", "whole"), ("old", "index")):
        with Library([tmp_path / name], index_dir=tmp_path / place) as library:
            assert library.runs[0].wait_all(30)
    limit = size(tmp_path / "whole") - with_derived(texts(tmp_path / "whole")[0])
    with settled(tmp_path / "new", tmp_path / "index", budget_bytes=limit) as library:
        folder = library.runs[0].catalog.folder
    assert len(texts(folder)) == 3 and len(texts(tmp_path / "index")) < 6


def test_a_budget_that_nothing_fits_into_leaves_the_numbers(tmp_path: Path) -> None:
    relax_run(tmp_path / "run", steps=3)
    with opened(tmp_path / "run", tmp_path / "index", budget_bytes=0) as library:
        assert library.runs[0].wait_all(30) and row_count(library.runs[0]) == 24
    assert texts(tmp_path / "index") == []


def test_without_a_limit_nothing_is_looked_at(tmp_path: Path) -> None:
    assert Budget(tmp_path / "missing", None).has_room(tmp_path, lambda: [(0, tmp_path / "x")], 1)


def test_where_nothing_fits_the_texts_of_a_run_are_looked_through_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each of 20,000 segments would otherwise cost a walk through the files of all."""
    monkeypatch.setattr(kinds, "LOOK_S", 1e9)
    (tmp_path / "numbers.parquet").write_bytes(b"1")
    budget, asked = Budget(tmp_path, 1), list[int]()

    def has_room(run: str, age: int) -> bool:
        def texts() -> list[tuple[int, Path]]:
            asked.append(age)
            return [(2, tmp_path / "numbers.parquet")]

        return budget.has_room(tmp_path / run, texts, age)

    assert not any(has_room("a", age) for age in (2, 1, 1, 0)) and asked == [2]
    assert not has_room("b", 1) and asked == [2, 1]  # another run has other texts
    assert has_room("a", 3)  # older ones make way for a newer one
