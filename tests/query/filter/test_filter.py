"""Conditions as a person types them."""

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rolloupe import query
from rolloupe.errors import BadQuery
from rolloupe.index import OpenRun
from rolloupe.query import SampleQuery
from rolloupe.query.filter.parser import (
    Among,
    And,
    Condition,
    Filter,
    HasToken,
    Missing,
    Not,
    Or,
    conditions,
    leaves,
    place_of,
    quoted,
)
from tests.index.support import lines, opened, row
from tests.thoroughness import each

A, B, C, IS = (Condition(name, "=", value) for name, value in (("a", 1), ("b", 2), ("c", 3), ("is", 3)))
NOT_7 = Not(Condition("b", "contains", "7"))


@each(
    ("text", "expected"),
    [
        ("reward < 0.1", [("reward", "<", 0.1)]),
        ("reward<0.1 and response_tokens>=4000", [("reward", "<", 0.1), ("response_tokens", ">=", 4000)]),
        ("a == 1 AND b <> 2 and c != -3.5e2", [("a", "=", 1), ("b", "!=", 2), ("c", "!=", -350.0, "-3.5e2")]),
        ("status = truncated", [("status", "=", "truncated")]),
        ("\"my metric\" > 1 and uid = 'it''s'", [("my metric", ">", 1), ("uid", "=", "it's")]),
        ("group = '7'", [("group", "=", "7")]),
        ("reward/acc <= .5", [("reward/acc", "<=", 0.5, ".5")]),
        ("x = inf and y = -Infinity", [("x", "=", math.inf), ("y", "=", -math.inf, "-Infinity")]),
        ("x = 99999999999999999999", [("x", "=", 1e20, "99999999999999999999")]),
        ("and = and and and = and", [("and", "=", "and"), ("and", "=", "and")]),
        ("", []),
        ("  \n", []),
    ],
)
def test_what_can_be_read(text: str, expected: list[tuple[Any, ...]]) -> None:
    assert conditions(text) == tuple(Condition(*one) for one in expected)


@each(
    ("text", "expected"),
    [
        ('token "Wait"', HasToken("Wait")),
        ("Token wait", HasToken("wait")),
        ("not token ' so'", Not(HasToken(" so"))),
        ('token """" and reward = 1', And((HasToken('"'), Condition("reward", "=", 1)))),
        ("token 'and' or token 7", Or((HasToken("and"), HasToken("7")))),
        ("token = 7", Condition("token", "=", 7)),
        ("token in (a, b)", Among("token", ("a", "b"))),
        ("token is null and token not contains x", And((Missing("token"), Not(Condition("token", "contains", "x"))))),
    ],
)
def test_a_text_after_the_word_token_is_a_token(text: str, expected: Filter) -> None:
    assert conditions(text) == (expected.of if isinstance(expected, And) else (expected,))


def test_nan_is_a_number() -> None:
    (condition,) = conditions("reward = NaN")
    assert isinstance(condition, Condition) and isinstance(condition.value, float) and math.isnan(condition.value)


@each(
    ("text", "place", "wanted"),
    [
        ("reward", 7, "one of"),
        ("reward <", 9, "a value"),
        ("reward < < 3", 10, "a value"),
        ("< 3", 1, "the name of a column"),
        ("reward < 3 nor x = 1", 12, "expected `and` or `or`, found"),
        ("reward in 3", 11, "`(`"),
        ("reward in (3", 13, "`)`"),
        ("(reward < 3", 12, "`)`"),
        ("reward < 3)", 11, "expected `and` or `or`, found"),
        ("status is x", 11, "`null`"),
        ("status not = 1", 12, "expected `contains` or `in`, found"),
        ("not", 4, "the name of a column"),
        ("status contains (", 17, "a text"),
        ("reward < 3 and", 15, "the name of a column"),
        ("reward < 3 x = 1", 12, "expected `and` or `or`, found"),
        ("reward = 'open", 10, "quotes closed"),
        ("reward ! 3", 8, "quotes closed"),
    ],
)
def test_what_cannot_be_read_says_where_and_what_was_expected(text: str, place: int, wanted: str) -> None:
    with pytest.raises(BadQuery, match=f"at character {place} expected.*") as raised:
        conditions(text)
    assert wanted in str(raised.value) and raised.value.place == place - 1


@each(
    ("text", "expected"),
    [
        ("a = 1 or b = 2 and c = 3", (Or((A, And((B, C)))),)),
        ("(a = 1 or b = 2) AND c = 3", (Or((A, B)), C)),
        ("a = 1 and (b = 2 and c = 3)", (A, B, C)),
        ("not a = 1 and b = 2", (Not(A), B)),
        ("not (a = 1 or b = 2)", (Not(Or((A, B))),)),
        ("not not a = 1", (Not(Not(A)),)),
        ("a in (1, x, '2')", (Among("a", (1, "x", "2")),)),
        ("a not in(1)", (Not(Among("a", (1,))),)),
        ("a is null or b Is Not Null", (Or((Missing("a"), Not(Missing("b")))),)),
        ("a contains 'x y' and b not contains 7", (Condition("a", "contains", "x y"), NOT_7)),
        ("in = 1 or not = 2 or is = 3", (Or((Condition("in", "=", 1), Condition("not", "=", 2), IS)),)),
    ],
)
def test_how_conditions_are_joined(text: str, expected: tuple[Filter, ...]) -> None:
    assert conditions(text) == expected


@each("text", ["(" * 1000 + "a = 1" + ")" * 1000, "not " * 900 + "a = 1"])
def test_what_is_nested_without_end_is_refused(text: str) -> None:
    with pytest.raises(BadQuery, match="levels deep"):
        conditions(text)


def test_endless_conditions_are_refused() -> None:
    with pytest.raises(BadQuery, match="at most"):
        conditions("a = 1 and " * 1000)


@given(st.text(max_size=60))
def test_anything_is_read_or_refused(text: str) -> None:
    try:
        found = conditions(text)
    except BadQuery:
        return
    assert all(isinstance(one, HasToken) or isinstance(one.column, str) for one in leaves(found))


@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=30), st.text(max_size=30))
def test_in_quotes_every_name_and_value_can_be_said(column: str, value: str) -> None:
    quoted = '"' + column.replace('"', '""') + "\" = '" + value.replace("'", "''") + "'"
    assert conditions(quoted) == (Condition(column, "=", value),)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OpenRun]:
    """Five samples, with rewards of each kind."""
    rewards = [1.0, math.nan, None, math.inf, -1.0]
    more: list[dict[str, object]] = [{"kl": 0.5}, {"kl": 2.0}, {}, {"kl": 3.0}, {}]
    notes = ["Too Long", None, "b", None, "007"]
    folder = tmp_path_factory.mktemp("filtered")
    train = folder / "run" / "rollout_result" / "train"
    train.mkdir(parents=True)
    (train / "0.jsonl").write_bytes(
        lines(
            [
                row(0, i, reward={"score": reward, "note": notes[i]}, group_index=0, **more[i])
                for i, reward in enumerate(rewards)
            ]
        )
    )
    with opened(folder / "run", folder / "index") as library:
        yield library.runs[0]


def found(run: OpenRun, where: str) -> list[str]:
    return [sample.key.index for sample in query.samples(run, SampleQuery(where=conditions(where))).samples]


@each(
    ("where", "expected"),
    [
        ("reward > 0.5", ["0", "3"]),
        ("reward >= 1", ["0", "3"]),
        ("reward < 2", ["0", "4"]),
        ("reward != 1", ["1", "2", "3", "4"]),
        ("not reward = 1", ["1", "2", "3", "4"]),
        ("not reward < 2", ["1", "2", "3"]),
        ("not (reward < 2 or kl > 2.5)", ["1", "2"]),
        ("reward is null", ["2"]),
        ("reward is not null and kl is null", ["4"]),
        ("reward in (1, -1, nan)", ["0", "1", "4"]),
        ("reward not in (1, -1)", ["1", "2", "3"]),
        ("reward > kl", ["0", "3"]),
        ("reward != kl and kl > 0", ["0", "1", "3"]),
        ("note contains 'too l'", ["0"]),
        ("note not contains too", ["1", "2", "3", "4"]),
        ("note != b", ["0", "1", "3", "4"]),
        ("note is null", ["1", "3"]),
        ("note = 007", ["4"]),
        ("note = 7", []),
        ("note in (7, 007, x)", ["4"]),
        ("env is null", ["0", "1", "2", "3", "4"]),
        ("index in (1, 3) or reward = -1", ["1", "3", "4"]),
        ("status in (completed, 'x')", ["0", "1", "2", "3", "4"]),
        ("reward = nan", ["1"]),
        ("reward >= nan", ["1"]),
        ("reward < nan", []),
        ("reward > nan", []),
        ("reward = inf", ["3"]),
        ("index = 3 and group = 0", ["3"]),
        ("group = 5", []),
        ("status = completed and step = 0 and turns > 0", ["0", "1", "2", "3", "4"]),
        ("step < 99999999999999999999", ["0", "1", "2", "3", "4"]),
    ],
)
def test_what_conditions_mean(run: OpenRun, where: str, expected: list[str]) -> None:
    assert found(run, where) == expected


@each(
    ("name", "told"),
    [
        ("rewrd", "no column 'rewrd'; is it 'reward'? there are: split, "),
        ("masked", "is it 'masked_share'? there are"),
        ("lenght", "is it 'response_tokens'? there are"),
        ("token_count", "is it 'total_tokens' or 'prompt_tokens' or 'response_tokens'? there are"),
        ("notes", "is it 'note'"),
        ("xyzzy", "no column 'xyzzy'; there are"),
    ],
)
def test_an_unknown_column_is_answered_with_the_nearest_ones(run: OpenRun, name: str, told: str) -> None:
    with pytest.raises(BadQuery) as raised:
        found(run, f"{name} = 1")
    assert told in str(raised.value)


@pytest.mark.parametrize("own", [False, True])
def test_lengths_go_by_the_names_that_trainers_give_them(tmp_path: Path, own: bool) -> None:
    """Unless a sample metric is called so."""
    train = tmp_path / "run" / "rollout_result" / "train"
    train.mkdir(parents=True)
    counts = [{"prompt_length": 1, "response_length": 10 * n, "total_length": 1 + 10 * n} for n in range(4)]
    more = [{"length": -n, "completion_tokens": -n} if own and n != 3 else {} for n in range(4)]
    (train / "0.jsonl").write_bytes(lines([row(0, n, **counts[n], **more[n]) for n in range(4)]))
    with opened(tmp_path / "run", tmp_path / "index") as library:

        def indices(where: str, sort: str = "index") -> list[str]:
            asked = SampleQuery(where=conditions(where), sort=sort, descending=sort != "index")
            return [one.key.index for one in query.samples(library.runs[0], asked).samples]

        for name in ("response_tokens", "response_length", "response_token_count"):
            assert indices(f"{name} > 15") == ["2", "3"]
            assert indices("", name) == ["3", "2", "1", "0"]
        for name in ("length", "completion_tokens"):
            assert indices(f"{name} > 15") == ([] if own else ["2", "3"])
            assert indices("", name) == (["0", "1", "2", "3"] if own else ["3", "2", "1", "0"])
        assert indices("prompt_length = 1 and total_length > response_length") == ["0", "1", "2", "3"]
        names = query.without_aliases(library.runs[0], ["response_length", "length", "reward"])
        assert names == ["response_tokens", "length" if own else "response_tokens", "reward"]
        values = [query.value_of(item, names[1]) for item in query.samples(library.runs[0], SampleQuery()).samples]
        assert values == ([0, -1, -2, None] if own else [0, 10, 20, 30])


def test_a_word_is_no_number(run: OpenRun) -> None:
    with pytest.raises(BadQuery, match="reward is numeric; 'much' is neither a number nor a numeric column"):
        found(run, "reward > much")


def test_the_place_of_a_column_in_a_filter_is_told() -> None:
    assert place_of("reward < 1 and (nope = 1)", "nope") == 16
    assert place_of("reward < much", "much") == 9
    assert place_of("status = nope", "reward") is None


@given(st.text(max_size=20))
def test_what_is_quoted_is_read_as_that_text(text: str) -> None:
    if text.strip() and "\x00" not in text:
        (one,) = conditions(f"x = {quoted(text)} and {quoted(text)} = x")[:1]
        assert one == Condition("x", "=", text)
