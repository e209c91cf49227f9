"""Pages of groups, the catalogue of columns, and what completes a filter."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from rolloupe import query
from rolloupe.errors import BadQuery
from rolloupe.index import OpenRun
from rolloupe.model import SampleKey
from rolloupe.query import SampleQuery
from rolloupe.query.filter.parser import conditions
from rolloupe.query.run.completion import complete
from tests.index.support import lines, opened, row
from tests.thoroughness import each

STEPS, GROUPS, SIZE = 3, 4, 4


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OpenRun]:
    """Three steps of four groups of four samples, the later the group the greater its mean reward."""
    folder = tmp_path_factory.mktemp("run")
    train = folder / "run" / "rollout_result" / "train"
    train.mkdir(parents=True)
    for step in range(STEPS):
        rows = [
            row(step, i, reward={"score": float(i % 4 < i // 4), "bench": "math" if i % 3 else 'code "x"'}, length=i)
            for i in range(GROUPS * SIZE)
        ]
        (train / f"{step}.jsonl").write_bytes(lines(rows))
    with opened(folder / "run", folder / "index") as library:
        yield library.runs[0]


def step(number: int, **more: object) -> SampleQuery:
    return SampleQuery(**{"splits": ("train",), "step_min": number, "step_max": number, **more})  # type: ignore[pyrefly:bad-argument-type]


def test_a_page_of_groups_has_their_samples_and_the_columns_asked_for(run: OpenRun) -> None:
    page = query.groups_page(run, step(1, offset=1, limit=2), ["reward", "length", "bench"])
    assert (page.total, page.samples, page.offset, page.stamp > 0) == (4, 16, 1, True)
    assert [(one.key, one.samples, one.first) for one in page.groups] == [
        (("train", 1, "1"), 4, 4),
        (("train", 1, "2"), 4, 8),
    ]
    first = page.groups[0]
    assert [key.index for key in first.members] == ["4", "5", "6", "7"]
    assert first.cells[:2] == [[1.0, 0.0, 0.0, 0.0], [4.0, 5.0, 6.0, 7.0]] and first.means == [0.25, 5.5, None]
    assert (first.prompt, first.reward.mean) == ("Question 1?", 0.25)


def test_means_of_the_largest_numbers_are_numbers(tmp_path: Path) -> None:
    """Whose sum is none; the mean of others has the same digits as ever."""
    train = tmp_path / "run" / "rollout_result" / "train"
    train.mkdir(parents=True)
    given = [1e308, 1e308, -1e308, -1e308, 0.1, 0.2, 1e-12, 3e-12]
    rows = [row(0, n, group_index=n // 2, reward=value, own=value) for n, value in enumerate(given)]
    (train / "0.jsonl").write_bytes(lines(rows))
    expected = [1e308, -1e308, (0.1 + 0.2) / 2, 2e-12]
    with opened(tmp_path / "run", tmp_path / "index") as library:
        page = query.groups_page(library.runs[0], step(0), ["own"])
        assert [one.reward.mean for one in page.groups] == expected == [one.means[0] for one in page.groups]
        assert [one.reward.mean for one in query.groups(library.runs[0], "train", 0)] == expected
        ordered = query.groups_page(library.runs[0], step(0, sort="reward", descending=True))
        assert [one.reward.mean for one in ordered.groups] == sorted(expected, reverse=True)


@each("scope", [(1, 1), (None, None)])
def test_groups_of_any_scope_in_any_order_stand_as_their_firsts_say(
    run: OpenRun, scope: tuple[int | None, int | None]
) -> None:
    for sort in ("index", "reward", "length", "bench"):
        for descending in (False, True):
            wanted = SampleQuery(
                splits=("train",), step_min=scope[0], step_max=scope[1], sort=sort, descending=descending
            )
            page = query.groups_page(run, wanted)
            assert page.total == len(page.groups) == GROUPS * (1 if scope == (1, 1) else STEPS)
            ends = [0]
            for group in page.groups:
                assert group.first == ends[-1]
                ends.append(group.first + group.samples)
            assert ends[-1] == page.samples
            if sort != "bench":
                keys: list[Any] = [
                    (one.key[1], int(one.key[2])) if sort == "index" else
                    one.reward.mean if sort == "reward" else int(one.key[2])
                    for one in page.groups
                ]  # fmt: skip
                assert keys == sorted(keys, reverse=descending)


@each("descending", [False, True])
@each("steps", [(1, 1), (0, 2)])
def test_the_samples_of_a_group_stand_by_what_the_groups_are_sorted_by(
    run: OpenRun, steps: tuple[int, int], descending: bool
) -> None:
    wanted = SampleQuery(splits=("train",), step_min=steps[0], step_max=steps[1], descending=descending)
    for sort in ("reward", "length", "bench"):
        for group in query.groups_page(run, replace(wanted, sort=sort), [sort, "index"]).groups:
            values, indices = group.cells
            assert values == sorted(values, reverse=descending)  # type: ignore[pyrefly:no-matching-overload]
            assert [key.index for key in group.members] == indices
            for value in set(values):  # equal ones stand as the files do
                same = [int(str(one)) for one, its in zip(indices, values, strict=True) if its == value]
                assert same == sorted(same)
    in_order = query.groups_page(run, replace(wanted, sort="index", descending=descending), ["index"]).groups
    assert all(group.cells[0] == sorted(group.cells[0], key=lambda one: int(str(one))) for group in in_order)


def test_what_has_no_value_stands_last_in_its_group(tmp_path: Path) -> None:
    train = tmp_path / "run" / "rollout_result" / "train"
    train.mkdir(parents=True)
    rewards = (None, 1.0, float("nan"), 3.0, float("inf"), 2.0)
    (train / "0.jsonl").write_bytes(
        lines([row(0, n, reward=reward, group_index=0) for n, reward in enumerate(rewards)])
    )
    with opened(tmp_path / "run", tmp_path / "index") as library:
        for descending, first in ((False, ["1", "5", "3"]), (True, ["3", "5", "1"])):
            wanted = step(0, sort="reward", descending=descending)
            (group,) = query.groups_page(library.runs[0], wanted).groups
            assert [key.index for key in group.members][:3] == first
            assert group.members[-1].index == "0"


def test_the_page_around_a_sample_has_its_group(run: OpenRun) -> None:
    wanted = SampleQuery(splits=("train",), limit=5)
    page = query.groups_page(run, wanted, around=SampleKey("train", 1, "3", "13"))
    assert page.offset == 5 and ("train", 1, "3") in [group.key for group in page.groups]
    assert query.groups_page(run, wanted, around=SampleKey("train", 1, "9", "13")).offset == 0


def test_a_filter_leaves_the_samples_that_fulfil_it(run: OpenRun) -> None:
    page = query.groups_page(run, step(0, where=conditions("reward > 0 and length != 12")))
    assert [(one.key[2], one.samples) for one in page.groups] == [("1", 1), ("2", 2), ("3", 2)]
    assert (page.total, page.samples, query.in_scope(run, step(0, where=conditions("reward > 0")))) == (3, 5, 16)
    assert query.groups_page(run, step(0, where=conditions("reward > 5"))).groups == []
    with pytest.raises(BadQuery, match="no column"):
        query.groups_page(run, step(0), ["nope"])


def test_earlier_attempts_are_members_with_ids_of_their_own(tmp_path: Path) -> None:
    train = tmp_path / "run" / "rollout_result" / "train"
    train.mkdir(parents=True)
    (train / "0.jsonl").write_bytes(lines([row(0, 0), row(0, 0), row(0, 1)]))
    with opened(tmp_path / "run", tmp_path / "index") as library:
        (group,) = query.groups_page(library.runs[0], step(0)).groups
        assert [str(key) for key in group.members] == ["train/0/0/0~1", "train/0/0/0", "train/0/0/1"]


def test_the_catalogue_names_columns_with_their_ranges(run: OpenRun) -> None:
    found = query.catalogue(run, "train")
    known = {one.name: one for one in found.columns}
    assert found.group_size == SIZE
    assert (known["length"].source, known["length"].low, known["length"].high) == ("metric", 0, 15)
    assert (known["bench"].kind, known["bench"].source) == ("text", "tag")
    assert known["status"].kind == "text" and "total_tokens" not in known


def said(run: OpenRun, text: str) -> list[str]:
    found = complete(run, step(1), text)
    return [text[: found.start] + one.text for one in found.found]


def test_completion_knows_what_comes_next(run: OpenRun) -> None:
    assert said(run, "")[0] == "reward"
    assert said(run, "res")[:2] == ["response_tokens", "response_chars"]
    assert "reward <" in said(run, "reward ") and "bench contains" in said(run, "bench c")
    assert said(run, "bench = ") == ["bench = math", 'bench = "code ""x"""']
    assert said(run, 'bench = "co') == ['bench = "code ""x"""']
    assert said(run, "not (bench in (math, c") == ['not (bench in (math, "code ""x"""']
    assert said(run, "not (bench in (math) ") == [
        "not (bench in (math) and",
        "not (bench in (math) or",
        "not (bench in (math) )",
    ]
    assert said(run, "bench is n") == ["bench is null", "bench is not null"]
    assert said(run, "reward < 1 a") == ["reward < 1 and"]
    assert said(run, "reward < 1 and le") == ["reward < 1 and length"]
    assert said(run, "reward = ") == ["reward = 0", "reward = 1"]
    for text in ("reward < < ", "nope ", "nope = ", ")", "reward = 1 )", "'", "x in x"):
        assert said(run, text) == [] or text == "'"
