"""Lists sorted by a number: the order is what DuckDB would say, and any page of it is at hand."""

import math
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from numpy.typing import NDArray

from rolloupe import query
from rolloupe.index import OpenRun, StepKey
from rolloupe.query import Condition, SampleQuery
from rolloupe.query.engine.compile import number_of
from rolloupe.query.samples import listing as listed_module
from rolloupe.query.samples import rows
from rolloupe.query.samples.listing import BySql, by_step, listed, order_of, sortable, sorted_places, top_steps
from rolloupe.record import Recorder
from tests.index.support import lines, opened, row
from tests.thoroughness import amount, slow_unless

ODD = [None, math.nan, math.inf, -math.inf, 0.0, -0.0, 1.0, 1.0 + 2**-52, 1e300, -1e300, 5e-324]


def rank(value: float | None, *, descending: bool) -> tuple[int, float, float]:
    """Where a value belongs: finite ones first, then minus infinity, infinity and NaN, and the missing last."""
    way = -1 if descending else 1
    if value is None:
        return (2, 0, 0)
    if math.isfinite(value):
        return (0, way * value, 0)
    return (1, way * (2 if math.isnan(value) else 1 if value > 0 else 0), 0)


@given(st.lists(st.one_of(st.sampled_from(ODD), st.floats(), st.integers(-3, 3).map(float))), st.booleans())
def test_numbers_stand_in_order_and_equal_ones_as_they_came(values: list[float | None], descending: bool) -> None:
    missing = np.array([value is None for value in values], bool)
    numbers: NDArray[np.float64] = np.array([0.0 if value is None else value for value in values], np.float64)
    words = sortable(numbers, missing if missing.any() else None, descending=descending)
    places = sorted_places(words).tolist()
    assert places == sorted(range(len(values)), key=lambda n: (*rank(values[n], descending=descending), n))


def test_many_close_numbers_stand_in_order() -> None:
    rng = np.random.default_rng(0)
    values = np.array([1.0 + n * 2.0**-52 for n in rng.integers(0, 50, 5000).tolist()], np.float64)
    places = sorted_places(sortable(values, None, descending=False))
    assert places.tolist() == np.argsort(values, kind="stable").tolist()


@given(st.lists(st.tuples(st.integers(0, 2), st.integers(-2, 2), st.integers(0, 9))))
def test_rows_stand_by_split_step_and_file(rows: list[tuple[int, int, int]]) -> None:
    splits, steps, files = (
        (np.array(column, int) for column in zip(*rows, strict=True)) if rows else ([np.empty(0)] * 3)
    )
    places = by_step(files, steps, splits)
    found = list(range(len(rows))) if places is None else places.tolist()
    assert [rows[n] for n in found] == sorted(rows)


def ranks(folder: Path, steps: int, count: int) -> None:
    """Two ranks that write each step to a file of their own; rewards often equal, missing or not finite."""
    rng = random.Random(1)
    for step in range(steps):
        for part in range(2):
            rewards = [rng.choice([0.0, 0.5, 1.0, rng.random(), math.nan, None]) for _ in range(count)]
            rows = [row(step, part * count + i, reward=reward) for i, reward in enumerate(rewards)]
            path = folder / f"rollout_result/train/{step * 2 + part}.jsonl"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(lines(rows))


def keys(run: OpenRun, asked: SampleQuery, size: int) -> list[str]:
    """The ids of a list, read page by page."""
    total = query.samples(run, replace(asked, limit=0)).total
    pages = [query.samples(run, replace(asked, offset=at, limit=size)) for at in range(0, total, size)]
    return [str(item.key) for page in pages for item in page.samples]


@pytest.fixture(scope="module")
def ranked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OpenRun]:
    """A run of some steps, each in two files."""
    folder = tmp_path_factory.mktemp("ranked")
    ranks(folder / "run", amount(3, 6), 9)
    with opened(folder / "run", folder / "index") as library:
        yield library.runs[0]


SORTS = ("reward", "index", "step", "response_tokens", "status")
ORDERS = [(sort, descending, where) for sort in SORTS for descending in (False, True)
          for where in ((), (Condition("reward", ">", 0.2),))]  # fmt: skip


@pytest.mark.parametrize(
    ("sort", "descending", "where"), [slow_unless(n % 8 in (0, 7), *order) for n, order in enumerate(ORDERS)]
)
def test_pages_put_together_are_the_list(
    ranked: OpenRun, sort: str, descending: bool, where: tuple[Condition, ...]
) -> None:
    wanted = SampleQuery(sort=sort, descending=descending, where=where)
    ids = keys(ranked, wanted, amount(20, 7))
    assert len(ids) == len(set(ids)) == query.samples(ranked, wanted).total
    assert ids == [str(item.key) for item in query.samples(ranked, wanted).samples]
    values = {str(item.key): item for item in query.every(ranked, wanted)}
    assert list(values) == ids
    if sort == "reward":
        rewards = [values[key].reward for key in ids]
        assert [repr(r) for r in rewards] == [
            repr(r) for r in sorted(rewards, key=lambda r: rank(r, descending=descending))
        ]
    for at in (0, len(ids) // 2, len(ids) - 1):
        around = query.samples(ranked, replace(wanted, limit=5), values[ids[at]].key)
        assert around.offset == at // 5 * 5 and ids[at] in [str(item.key) for item in around.samples]


def test_a_list_is_as_duckdb_sorts_it(tmp_path: Path) -> None:
    ranks(tmp_path / "run", 5, 12)
    with opened(tmp_path / "run", tmp_path / "index") as library:
        run = library.runs[0]
        for descending in (False, True):
            asked = SampleQuery(sort="reward", descending=descending)
            snapshot = run.snapshot()
            own, theirs = listed(run, snapshot, asked), BySql(run, snapshot, asked)
            mine, duckdbs = (
                [item.reward for item in rows.items_of(rows.list_rows(run, snapshot, one.page(run, 0, 500)))]
                for one in (own, theirs)
            )
            assert repr(mine) == repr(duckdbs)


def recorded(folder: Path, steps: int) -> Path:
    """A run whose steps have few rewards in common; of every third some samples were not trained on."""
    rng = random.Random(2)
    with Recorder(folder, code=None) as recorder:
        for step in range(steps):
            for index in range(6):
                reward = rng.choice([1.0, 0.0, rng.random(), math.nan, rng.random() - 1, None])
                why = "stale" if step % 3 == 0 and index % 2 else ""
                recorder.sample(
                    step=step, group=index // 2, index=index, prompt="?", response="!", reward=reward,
                    metrics={"length": rng.randrange(50) / 7} if step % 4 else {}, discarded=why,
                )  # fmt: skip
            recorder.step_end(step)
    return folder


@pytest.mark.parametrize("trained", [None, True, False])
@pytest.mark.parametrize("sort", ["reward", "length"])
def test_the_top_of_a_list_is_told_from_few_steps(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, sort: str, trained: bool | None
) -> None:
    few: list[int] = []

    def counted(*given: Any) -> list[StepKey] | None:
        found = top_steps(*given)
        few.append(40 if found is None else len(found))
        return found

    monkeypatch.setattr(listed_module, "top_steps", counted)
    with opened(recorded(tmp_path / "run", 40), tmp_path / "index") as library:
        run = library.runs[0]
        snapshot = run.snapshot()
        for descending in (False, True):
            asked = SampleQuery(sort=sort, descending=descending, trained=trained)
            number = number_of(snapshot, sort)
            assert number is not None
            whole = order_of(run, snapshot, asked, number)
            own = listed(run, snapshot, asked)
            assert own.total == whole.total > 0
            for offset, limit in ((0, 1), (0, 4), (2, 3), (3, 9), (0, 60), (5, 200), (whole.total - 2, 9)):
                mine, all_of_it = own.page(run, offset, limit), whole.page(run, offset, limit)
                assert [(p.source, row) for p, row in mine] == [(p.source, row) for p, row in all_of_it]
    assert (trained is False) == (few == []) and (trained is None or min(few, default=0) < 10)


def test_equal_values_at_the_top_are_told_from_the_first_steps(tmp_path: Path) -> None:
    for step in range(30):
        path = tmp_path / f"run/rollout_result/train/{step}.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(lines([row(step, i, reward=float(i % 2)) for i in range(4)]))
    with opened(tmp_path / "run", tmp_path / "index") as library:
        snapshot = library.runs[0].snapshot()
        keys_of = sorted(snapshot.steps)
        asked = SampleQuery(sort="reward", descending=True)
        assert top_steps(snapshot, asked, keys_of, 5) == keys_of[:5]
        assert top_steps(snapshot, asked, keys_of, 31) is None
