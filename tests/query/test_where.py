"""Conditions as a person types them."""

import math
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rolloupe import query
from rolloupe.errors import BadQuery
from rolloupe.query import Condition, SampleQuery
from rolloupe.query.where import conditions
from tests.index.support import lines, opened, row


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("reward < 0.1", [("reward", "<", 0.1)]),
        ("reward<0.1 and response_tokens>=4000", [("reward", "<", 0.1), ("response_tokens", ">=", 4000)]),
        ("a == 1 AND b <> 2 and c != -3.5e2", [("a", "=", 1), ("b", "!=", 2), ("c", "!=", -350.0)]),
        ("status = truncated", [("status", "=", "truncated")]),
        ("\"my metric\" > 1 and uid = 'it''s'", [("my metric", ">", 1), ("uid", "=", "it's")]),
        ("group = '7'", [("group", "=", "7")]),
        ("reward/acc <= .5", [("reward/acc", "<=", 0.5)]),
        ("x = inf and y = -Infinity", [("x", "=", math.inf), ("y", "=", -math.inf)]),
        ("x = 99999999999999999999", [("x", "=", 1e20)]),
        ("and = and and and = and", [("and", "=", "and"), ("and", "=", "and")]),
        ("", []),
        ("  \n", []),
    ],
)
def test_what_can_be_read(text: str, expected: list[tuple[str, str, float | str]]) -> None:
    assert conditions(text) == tuple(Condition(*one) for one in expected)


def test_nan_is_a_number() -> None:
    (condition,) = conditions("reward = NaN")
    assert isinstance(condition.value, float) and math.isnan(condition.value)


@pytest.mark.parametrize(
    ("text", "place", "wanted"),
    [
        ("reward", 7, "one of"),
        ("reward <", 9, "a value"),
        ("reward < < 3", 10, "a value"),
        ("< 3", 1, "the name of a column"),
        ("reward < 3 or x = 1", 12, "expected and"),
        ("reward < 3 and", 15, "the name of a column"),
        ("reward < 3 x = 1", 12, "expected and"),
        ("reward = 'open", 10, "quotes closed"),
        ("reward ! 3", 8, "quotes closed"),
    ],
)
def test_what_cannot_be_read_says_where_and_what_was_expected(text: str, place: int, wanted: str) -> None:
    with pytest.raises(BadQuery, match=f"at character {place} expected.*") as raised:
        conditions(text)
    assert wanted in str(raised.value)


def test_endless_conditions_are_refused() -> None:
    with pytest.raises(BadQuery, match="at most"):
        conditions("a = 1 and " * 1000)


@given(st.text(max_size=60))
def test_anything_is_read_or_refused(text: str) -> None:
    try:
        found = conditions(text)
    except BadQuery:
        return
    assert all(one.operator in ("=", "!=", "<", "<=", ">", ">=") for one in found)


@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=30), st.text(max_size=30))
def test_in_quotes_every_name_and_value_can_be_said(column: str, value: str) -> None:
    quoted = '"' + column.replace('"', '""') + "\" = '" + value.replace("'", "''") + "'"
    assert conditions(quoted) == (Condition(column, "=", value),)


def found(tmp_path: Path, where: str) -> list[str]:
    rewards = [1.0, math.nan, None, math.inf, -1.0]
    train = tmp_path / "run" / "rollout_result" / "train"
    train.mkdir(parents=True)
    (train / "0.jsonl").write_bytes(
        lines([row(0, i, reward=reward, group_index=0) for i, reward in enumerate(rewards)])
    )
    with opened(tmp_path / "run", tmp_path / "index") as library:
        return [s.key.index for s in query.samples(library.runs[0], SampleQuery(where=conditions(where))).samples]


@pytest.mark.parametrize(
    ("where", "expected"),
    [
        ("reward > 0.5", ["0", "3"]),
        ("reward >= 1", ["0", "3"]),
        ("reward < 2", ["0", "4"]),
        ("reward != 1", ["1", "3", "4"]),
        ("reward = nan", ["1"]),
        ("reward = inf", ["3"]),
        ("index = 3 and group = 0", ["3"]),
        ("group = 5", []),
        ("status = completed and step = 0 and turns > 0", ["0", "1", "2", "3", "4"]),
        ("step < 99999999999999999999", ["0", "1", "2", "3", "4"]),
    ],
)
def test_what_conditions_mean(tmp_path: Path, where: str, expected: list[str]) -> None:
    assert found(tmp_path, where) == expected


def test_a_word_is_no_number(tmp_path: Path) -> None:
    with pytest.raises(BadQuery, match="reward holds numbers, and 'much' is none"):
        found(tmp_path, "reward > much")
