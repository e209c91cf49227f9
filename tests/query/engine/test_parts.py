"""A question about a large run in parts: the answer is the same, and others see how far it is."""

from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rolloupe import query
from rolloupe.index import OpenRun
from rolloupe.query import Condition, Progress, SampleQuery
from rolloupe.query.engine import compile as compiling
from rolloupe.query.samples import groups, listing
from tests.index.support import lines, opened, row

STEPS = 12


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OpenRun]:
    """Files of two and a half steps, so that parts and files begin at different steps; evaluations beside them."""
    folder = tmp_path_factory.mktemp("parts")
    rows = [
        row(step, i, reward=(i * 7 + step) % 10 / 10, group_index=i // 2) for step in range(STEPS) for i in range(8)
    ]
    for kind, some in {"train": rows, "eval": rows[::3]}.items():
        place = folder / "run/rollout_result" / kind
        place.mkdir(parents=True)
        for number, at in enumerate(range(0, len(some), 20)):
            (place / f"{number}.jsonl").write_bytes(lines(some[at : at + 20]))
    with opened(folder / "run", folder / "index") as library:
        yield library.runs[0]


def forget() -> None:
    """Make all lists anew."""
    for kept in (listing.listings, listing.step_listings, groups.kept_heads):
        kept.clear()


steps = st.one_of(st.none(), st.integers(-1, STEPS + 1))


@settings(max_examples=30)
@given(low=steps, high=steps, size=st.integers(1, 60), splits=st.sampled_from([(), ("train",), ("eval",)]))
def test_each_step_belongs_to_one_part(
    run: OpenRun, low: int | None, high: int | None, size: int, splits: tuple[str, ...]
) -> None:
    snapshot = run.snapshot()
    whole = query.SampleQuery(splits=splits, step_min=low, step_max=high)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(compiling, "PART_ROWS", size)
        patch.setattr(compiling, "FILE_ROWS", 3)
        some = list(compiling.parts_of(snapshot, whole))
    held = [piece.source for piece in snapshot.holding(splits, low, high)]
    assert {p.source for one in some for p in snapshot.holding(splits, one.step_min, one.step_max)} == {*held}
    bounds = [bound for one in some for bound in (one.step_min, one.step_max)]
    assert (bounds[0], bounds[-1]) == (low, high)
    for end, begin in zip(bounds[1:-1:2], bounds[2::2], strict=True):
        assert end is not None and begin == end + 1


@pytest.mark.parametrize("splits", [(), ("train",)])
@pytest.mark.parametrize("descending", [False, True])
def test_lists_in_parts_are_the_lists(
    run: OpenRun, monkeypatch: pytest.MonkeyPatch, splits: tuple[str, ...], descending: bool
) -> None:
    asked = SampleQuery(splits=splits, where=(Condition("reward", ">", 0.45),), descending=descending)
    forget()
    whole = query.samples(run, asked), query.groups_page(run, asked)
    monkeypatch.setattr(compiling, "PART_ROWS", 20)
    monkeypatch.setattr(compiling, "FILE_ROWS", 0)
    forget()
    progress, seen, own = Progress(), list[tuple[int, int]](), compiling.count_found

    def count(found: int) -> None:
        own(found)
        seen.append((progress.done, progress.found))

    for module in (groups, listing):
        monkeypatch.setattr(module, "count_found", count)
    with query.watched(progress):
        assert query.samples(run, asked) == whole[0]
        assert progress.done == progress.of == query.in_scope(run, asked) and progress.found == whole[0].total > 0
        assert len(seen) > 3 and seen == sorted(seen) and seen[0][0] == 0
        page = query.groups_page(run, asked)
    assert (page.total, page.samples) == whole[1][:2]
    named, wanted = ([(*group[:3], group.members) for group in one.groups] for one in (page, whole[1]))
    assert named == wanted, "means may differ in the last digit"
