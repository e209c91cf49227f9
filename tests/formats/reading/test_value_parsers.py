"""Single fields: numbers, names, steps in names, rewards."""

import math

import pytest
from hypothesis import given

from rolloupe.formats.reading import value_parsers as parsers
from tests.formats.support import values


@given(values)
def test_no_value_is_too_odd_to_be_read(value: object) -> None:
    for name in ("number", "integer", "count", "name", "tag", "reward", "status"):
        getattr(parsers, name)(value)
    assert isinstance(parsers.as_text(value), str)
    assert repr(parsers.showable(value)) == repr(value)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (3, 3), (3.0, 3), ("3", 3), (" -3 ", -3), (True, None), (3.5, None), (math.inf, None), ("x", None),
        (2**63, None), ("²", None), ("", None), ("9" * 19, None), (None, None),
    ],
)  # fmt: skip
def test_integers(value: object, expected: int | None) -> None:
    assert parsers.integer(value) == expected


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (0, "0"),
        (2.0, "2"),
        (2.5, "2.5"),
        ("a/b", "a/b"),
        ("", None),
        (False, None),
        ([], None),
        (10**300, parsers.digest(str(10**300))),
    ],
)
def test_names(value: object, expected: str | None) -> None:
    assert parsers.name(value) == expected


def test_a_reason_that_is_cut_off_says_so() -> None:
    assert [parsers.reason(one) for one in (None, 3, "", "x" * 200)] == [None, None, "", "x" * 200]
    assert parsers.reason("x" * 201) == "x" * 199 + "…"


@pytest.mark.parametrize(
    ("name", "step"),
    [
        ("12", 12), ("global_step_12_evals", 12), ("train_data_step12", 12), ("gen_12", 12),
        ("step=5", 5), ("gen 2", 2), ("completions_00004", 4), ("rollout_dump_data.step_3", 3), ("rank_0", None),
        ("seed-3", None), ("train.part_3", None), ("cb7a1799", None), ("data", None), ("x_446655440000", None),
    ],
)  # fmt: skip
def test_steps_in_the_names_of_files(name: str, step: int | None) -> None:
    assert parsers.step_in(name) == step


@pytest.mark.parametrize(
    ("name", "step"), [("12", 12), ("global_step_12_evals", 12), ("run_3", None), ("seed_3", None)]
)
def test_steps_in_the_names_of_folders(name: str, step: int | None) -> None:
    assert parsers.step_of_folder(name) == step


def test_parts_of_a_reward() -> None:
    found = parsers.reward({"score": 0.5, "acc": True, "bench": "aime", "judge": "x" * 100})
    assert found == parsers.Reward(0.5, {"reward.score": 0.5, "reward.acc": 1.0}, {"bench": "aime"}, whole=False)


def test_what_is_nested_too_deeply_is_named_in_its_place() -> None:
    deep: list[object] = []
    for _ in range(5000):
        deep = [deep]
    assert parsers.showable({"a": deep}) == parsers.TOO_DEEP
    assert parsers.as_text(deep) == parsers.TOO_DEEP
