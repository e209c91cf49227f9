"""Sample metrics and tags that are called like columns of the index."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from rolloupe import Recorder, query
from rolloupe.errors import BadQuery
from rolloupe.index import OpenRun
from rolloupe.index.segments.columns import FIXED, ColumnRef, resolve
from rolloupe.model import CHARTED, COLUMNS, EXPORTED, KNOWN, LISTED
from rolloupe.query import SampleQuery
from rolloupe.query.filter.parser import conditions
from rolloupe.query.run.completion import complete
from tests.index.support import opened, settled
from tests.thoroughness import amount

INTERNAL = sorted({*FIXED} - {*KNOWN})
TAKEN = sorted(KNOWN)
SAMPLES = 4


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OpenRun]:
    """Metrics and tags with the names of all columns; what the columns hold is something else. One is annotated."""
    folder = tmp_path_factory.mktemp("run")
    names = [*INTERNAL, *TAKEN, "metric.reward"]
    with Recorder(folder, code=None) as recorder:
        for n in range(SAMPLES):
            metrics = dict.fromkeys(names, 100.0 + n) | {"metric.reward": -100.0 - n}
            tags = {name: f"{name} {n}" for name in names}
            recorder.sample(
                step=1, group="g", prompt="p", response="r", reward=-n, uid=f"u{n}", metrics=metrics, tags=tags
            )
        recorder.step_end(1)
        recorder.annotate("u0", metrics={"turns": 99.0})
    with opened(folder, tmp_path_factory.mktemp("index")) as library:
        yield library.runs[0]


def found(run: OpenRun, where: str = "", sort: str = "index") -> list[str]:
    asked = SampleQuery(where=conditions(where), sort=sort, descending=sort != "index")
    return [item.uid for item in query.samples(run, asked).samples]


NAMES = [*INTERNAL, *(f"metric.{name}" for name in [*INTERNAL, *TAKEN])]


def test_metrics_are_asked_for_by_their_names_or_where_those_are_taken_as_exports_call_them(run: OpenRun) -> None:
    for every in (" and ", " or "):  # each has what all have, and no more than any has
        assert found(run, every.join(f"{name} >= 102" for name in NAMES)) == ["u2", "u3"]
    assert found(run, " or ".join(f"{name} is null" for name in NAMES)) == []
    assert found(run, " or ".join(f"{name} = 99" for name in NAMES)) == found(run, "metric.turns = 99") == ["u0"]
    assert found(run, " or ".join(f"{name} = 99" for name in NAMES if name != "metric.turns")) == []
    items = list(query.every(run, SampleQuery()))
    (group,) = query.groups_page(run, SampleQuery(), NAMES).groups
    for name, cells in zip(NAMES, group.cells, strict=True):
        assert cells[1:] == [query.value_of(item, name) for item in items][1:] == [101.0, 102.0, 103.0], name


SORTED = ("metric.turns", *NAMES[:: amount(16, 1)])


@pytest.mark.parametrize("name", SORTED)
def test_a_metric_sorts_and_has_a_curve_by_its_name(run: OpenRun, name: str) -> None:
    assert found(run, sort=name) == ["u3", "u2", "u1", "u0"]
    (point,) = query.series(run, name)
    assert (point.stats.mean, point.stats.max) == (101.25 if name == "metric.turns" else 101.5, 103.0)


def test_tags_are_found_by_their_names(run: OpenRun) -> None:
    names = [*INTERNAL, *TAKEN]
    for every in (" and ", " or "):
        assert found(run, every.join(f"tag.{name} = '{name} 2'" for name in names)) == ["u2"]
    for name in names:
        tagged_alone = resolve(name, (), [name])
        assert tagged_alone is not None
        assert tagged_alone.column == (KNOWN[name].stored if name in KNOWN else f"t.{name}")
    for name in names[:: amount(16, 1)]:
        assert complete(run, SampleQuery(), f"tag.{name} = ").found[0].text == f'"{name} 0"'


def test_columns_that_a_person_knows_keep_their_names(run: OpenRun) -> None:
    last = [*query.every(run, SampleQuery())][-1]
    shown = [query.value_of(last, name) for name in ("reward", "step", "group", "index", "uid", "tag.uid", "nothing")]
    assert shown == [-3.0, 1, "g", "3", "u3", "uid 3", None]
    assert found(run, "reward <= -2 and group = g and index in (2, 3) and uid != u3") == ["u2"]
    assert [point.stats.mean for point in query.series(run, "reward")] == [-1.5]
    assert found(run, sort="reward") == ["u0", "u1", "u2", "u3"]


@pytest.mark.parametrize("series", [{}, {"logprobs": [-0.5, -0.25]}])
def test_a_metric_of_tokens_is_empty_only_in_a_run_without_series(
    series: dict[str, list[float]], tmp_path: Path
) -> None:
    with Recorder(tmp_path / "run", code=None) as recorder:
        recorder.sample(step=0, group="g", index=0, prompt="?", response="ab", reward=1.0, series=series)
    with settled(tmp_path / "run", tmp_path / "index") as library:
        empty = {one.name for one in query.catalogue(library.runs[0], "train").columns if one.is_empty}
    assert ("derived.max_kl" in empty) == (not series) and "derived.characters" not in empty


def test_the_catalogue_offers_metrics_and_tags_that_are_called_like_columns(run: OpenRun) -> None:
    offered = {one.name: one for one in query.catalogue(run, "train").columns}
    assert len(offered) == len(query.catalogue(run, "train").columns)
    for name in TAKEN:
        of_metric, of_tag = offered[f"metric.{name}"], offered[f"tag.{name}"]
        assert (of_metric.kind, of_metric.source, of_tag.kind, of_tag.source) == ("number", "metric", "text", "tag")
        assert (of_metric.low, of_metric.high) == ((None, None) if name == "turns" else (100.0, 103.0))
    assert {"metric.reward", "tag.reward"} <= {*offered}
    assert (offered["reward"].source, offered["reward"].low, offered["reward"].high) == ("fixed", -3.0, 0.0)


def test_every_name_that_is_offered_is_that_of_one_column(run: OpenRun) -> None:
    offered = [one.text for one in complete(run, SampleQuery(), "metric.").found]
    assert {f"metric.{name}" for name in TAKEN} <= {*offered}
    assert found(run, "metric.metric.reward = -102") == ["u2"]
    columns = query.columns(run)
    assert columns[: len(CHARTED)] == [*CHARTED] and len({*columns}) == len(columns)
    assert all(query.has_column(run, name) for name in columns)


def test_internal_columns_are_nobody_s_business() -> None:
    assert [name for name in INTERNAL if resolve(name, (), ())] == []
    assert resolve("metric.reward", ["metric.reward"], ()) == ColumnRef("metric", "metric.reward")
    assert resolve("tag.x", ["x"], ["x"]) == ColumnRef("tag", "x")


def test_what_there_is_not_names_what_there_is(run: OpenRun) -> None:
    with pytest.raises(BadQuery, match=r"is it 'metric.reward'\?"):
        found(run, "metric.rewrd > 1")


def test_the_table_of_columns_is_sound() -> None:
    names, stored = [one.name for one in COLUMNS], [one.stored for one in COLUMNS]
    assert len({*names}) == len(names) and len({*stored}) == len(stored)
    aliases = [alias for one in COLUMNS for alias in one.aliases]
    assert len({*aliases}) == len(aliases) and {*aliases}.isdisjoint(KNOWN)
    assert all(one.is_number for one in COLUMNS if one.name in CHARTED)
    assert all(column.label for column in (*KNOWN.values(), *EXPORTED.values()))
    more = {"id", "values", "columns", "metrics", "tags", "derived", "attempt"}
    assert {*query.SampleItem.__struct_fields__} - more == LISTED.keys()


def test_tables_have_the_columns_that_the_table_of_columns_says(run: OpenRun) -> None:
    assert query.table(run, SampleQuery()).column_names[: len(EXPORTED) + 1] == ["id", *EXPORTED]
