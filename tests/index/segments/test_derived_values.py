"""Derived metrics in the index: computed behind the numbers, each by its own version, and asked for like any column."""

from pathlib import Path

import pytest

from rolloupe import Recorder, query
from rolloupe.derive import METRICS, DerivedMetric, SampleBatch, SampleView, Value
from rolloupe.errors import SourceChanged
from rolloupe.index import OpenRun
from rolloupe.index.segments import derived_values, segment, texts
from rolloupe.index.segments.derived_values import ABOUT, derived_of
from rolloupe.index.segments.texts import text_of
from rolloupe.query import SampleQuery
from rolloupe.query.filter.parser import conditions
from rolloupe.query.run.completion import complete
from tests.cli.support import rolloupe
from tests.index.support import eventually, lines, opened, relax_run, row, settled

LOOP = "go on and on "


def write(folder: Path, steps: int = 2, samples: int = 8) -> Path:
    """A run whose sample `n` has `n` tool calls, and a loop where `n` is odd; sample 7 was discarded."""
    train = relax_run(folder, steps=0)
    for step in range(steps):
        rows = [
            row(step, n, response=f"a {n} " + "<tool_call>{}</tool_call>" * n + LOOP * (9 * (n % 2)))
            for n in range(samples)
        ]
        (train / f"{step}.jsonl").write_bytes(lines(rows))
    return train


def ids(run: OpenRun, where: str = "", sort: str = "index", *, descending: bool = False) -> list[str]:
    asked = SampleQuery(where=conditions(where), sort=sort, descending=descending)
    return [f"{item.key.step}/{item.key.index}" for item in query.samples(run, asked).samples]


def states(index_dir: Path) -> dict[str, tuple[int, int]]:
    """Which file each name of the index stands for now."""
    return {path.name: (path.stat().st_ino, path.stat().st_mtime_ns) for path in index_dir.rglob("*.*")}


@pytest.mark.parametrize("packed", [False, True])
def test_derived_metrics_filter_sort_group_and_chart(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, packed: bool
) -> None:
    from rolloupe.index import compaction
    from rolloupe.index.segments import pack

    if packed:
        for name, value in (("SIZES", (4, 2)), ("PLAN_S", 0.0), ("YOUNG_S", 0.0)):
            monkeypatch.setattr(compaction, name, value)
        monkeypatch.setattr(pack, "WORTH", 1)
    write(tmp_path / "run", steps=5)
    with settled(tmp_path / "run", tmp_path / "index") as library:
        run = library.runs[0]
        assert any(s.pack is not None and s.pack.derived for s in run.snapshot().segments) is packed
        assert ids(run, "derived.tool_calls >= 6 and step <= 1") == ["0/6", "0/7", "1/6", "1/7"]
        assert ids(run, "derived.repeated_4grams > 0.5 and derived.tool_calls < 4 and step = 4") == ["4/1", "4/3"]
        assert ids(run, "step = 3", "derived.tool_calls", descending=True)[:2] == ["3/7", "3/6"]
        assert ids(run, sort="derived.tool_calls")[:5] == ["0/0", "1/0", "2/0", "3/0", "4/0"]
        by_length = SampleQuery(limit=3, sort="derived.characters")
        page = query.samples(run, by_length, columns=["derived.characters", "reward", "acc"])
        assert page.pending == 0
        assert all(item.values == [item.response_chars, item.reward, None] for item in page.samples)
        whole = query.samples(run, by_length).samples
        assert all(item.derived == {"characters": item.response_chars} for item in whole)
        (group, *_) = query.groups_page(run, SampleQuery(), ["derived.tool_calls"]).groups
        assert (group.means, group.cells) == ([1.5], [[0.0, 1.0, 2.0, 3.0]])
        points = query.series(run, "derived.tool_calls")
        assert [(p.step, p.stats.mean, p.stats.max) for p in points] == [(step, 3.5, 7.0) for step in range(5)]
        table = query.table(run, SampleQuery())
        assert table["derived.tool_calls"].to_pylist() == [float(n) for n in range(8)] * 5
        (column,) = [c for c in query.catalogue(run).columns if c.name == "derived.tool_calls"]
        assert (column.source, column.low, column.high, column.label) == ("derived", 0.0, 7.0, "Tool calls")
        assert "derived.tool_calls" in [one.text for one in complete(run, SampleQuery(), "derived.t").found]


def test_a_trainers_own_metric_of_the_same_name_stays_reachable(tmp_path: Path) -> None:
    with Recorder(tmp_path / "run", code=None) as recorder:
        for n in range(3):
            response, metrics = "<tool_call>{}</tool_call>" * n, {"derived.tool_calls": -1.0}
            recorder.sample(step=1, group="g", prompt="p", response=response, reward=n, uid=f"u{n}", metrics=metrics)
    with settled(tmp_path / "run", tmp_path / "index") as library:
        run = library.runs[0]
        assert len(ids(run, "metric.derived.tool_calls = -1")) == 3
        assert len(ids(run, "derived.tool_calls = 2")) == 1
        names = [one.name for one in query.catalogue(run).columns]
        assert len({*names}) == len(names) and {"metric.derived.tool_calls", "derived.tool_calls"} <= {*names}


def test_what_is_not_computed_yet_is_missing_and_counted(tmp_path: Path) -> None:
    train = write(tmp_path / "run", steps=2)
    with settled(tmp_path / "run", tmp_path / "index", follow=True) as library:
        run = library.runs[0]
        run.catalog.underive([s.path for s in run.snapshot().segments if s.path.exists()][:1])
        for where in ("derived.tool_calls >= 6", "tool_calls >= 6"):
            assert query.samples(run, SampleQuery(where=conditions(where))).pending == 8 and len(ids(run, where)) == 2
        assert query.samples(run, SampleQuery(sort="tool_calls")).pending == 8
        assert ids(run, sort="derived.tool_calls", descending=True)[0].endswith("/7")
        (train / "2.jsonl").write_bytes(lines([row(2, 0, response="<tool_call>{}</tool_call>")]))
        eventually(lambda: ids(run, "step = 2 and derived.tool_calls = 1") == ["2/0"])


def test_a_file_of_derived_metrics_that_is_gone_is_made_again(tmp_path: Path) -> None:
    write(tmp_path / "run")
    with settled(tmp_path / "run", tmp_path / "index", follow=True) as library:
        run = library.runs[0]
        lost = run.snapshot().segments[0]
        derived_of(lost.path).unlink()
        with pytest.raises(SourceChanged):
            ids(run, "derived.tool_calls >= 6")
        eventually(lambda: ids(run, "derived.tool_calls >= 6") == ["0/6", "0/7", "1/6", "1/7"])


def shouting(version: int, asked: list[str]) -> DerivedMetric:
    def of_sample(sample: SampleView) -> Value:
        asked.append(sample.row.index)
        return float(version)

    return DerivedMetric("shouting", version, "Shouting", of_sample=of_sample)


def test_one_more_metric_computes_its_own_values_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path / "run")
    with settled(tmp_path / "run", tmp_path / "index"):
        pass
    before = states(tmp_path / "index")
    others: list[str] = []
    counting = METRICS["tool_calls"]._replace(of_batch=None, of_sample=lambda s: others.append(s.row.index))
    for version in (1, 2):
        asked: list[str] = []
        monkeypatch.setitem(METRICS, "shouting", shouting(version, asked))
        monkeypatch.setitem(METRICS, "tool_calls", counting)
        with settled(tmp_path / "run", tmp_path / "index") as library:
            run = library.runs[0]
            assert len(asked) == 16 and others == []
            assert len(ids(run, f"derived.shouting = {version}")) == 16
            assert ids(run, "derived.tool_calls = 5") == ["0/5", "1/5"]
            assert [p.stats.mean for p in query.series(run, "derived.shouting")] == [version, version]
            assert [p.stats.mean for p in query.series(run, "derived.tool_calls")] == [3.5, 3.5]
    after = states(tmp_path / "index")
    assert {name for name in before if before[name] != after[name]} == {n for n in before if ".derived." in n}


def fails(batch: SampleBatch) -> list[Value]:
    raise KeyError(len(batch))


def test_a_metric_that_raises_costs_no_other_and_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    broken = DerivedMetric("broken", 1, "Broken", of_sample=lambda sample: 1 / (int(sample.row.index) - 5))
    monkeypatch.setitem(METRICS, "broken", broken)
    monkeypatch.setitem(METRICS, "torn", DerivedMetric("torn", 1, "Torn", of_batch=fails))
    write(tmp_path / "run", steps=1)
    place = tmp_path / "run", "--index-dir", tmp_path / "index"
    for _ in range(2):  # a later start names it again
        done = rolloupe("query", "--where", "derived.broken < 0", *place)
        assert done.code == 3
        assert "derived metrics of part 0: derived.broken: ZeroDivisionError" in done.err
        assert "texts of part" not in done.err and "derived.torn: KeyError" in done.err
    done = rolloupe("query", "--where", "derived.tool_calls = 5", "--json", *place)
    assert done.code == 3 and [line["index"] for line in done.lines] == ["5"]
    done = rolloupe("show", tmp_path / "run", done.lines[0]["id"], "--index-dir", tmp_path / "index")
    assert done.code == 0 and "derived.tool_calls" in done.out and "derived.broken" not in done.out
    monkeypatch.setitem(METRICS, "broken", broken._replace(of_sample=lambda sample: -1.0))
    monkeypatch.delitem(METRICS, "torn")
    assert rolloupe("query", "--where", "derived.broken < 0", *place).code == 0


@pytest.mark.parametrize(
    ("module", "name", "is_new"),
    [
        (segment, "NUMBERS", lambda name: name.endswith(".meta") or name.count(".") == 1),
        (texts, "VERSION", lambda name: name.endswith(".text.parquet")),
        (derived_values, "VERSION", lambda name: ".derived." in name),
    ],
)
def test_raising_the_version_of_a_kind_makes_that_kind_alone_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, module: object, name: str, is_new: object
) -> None:
    write(tmp_path / "run")
    with settled(tmp_path / "run", tmp_path / "index"):
        pass
    before = states(tmp_path / "index")
    old = getattr(module, name)
    monkeypatch.setattr(module, name, old + 1 if isinstance(old, int) else old._replace(version=old.version + 1))
    with settled(tmp_path / "run", tmp_path / "index") as library:
        run = library.runs[0]
        assert all(text_of(s.path).exists() for s in run.snapshot().segments)
        assert ids(run, "derived.tool_calls = 5") == ["0/5", "1/5"]
    after = states(tmp_path / "index")
    changed = {one for one in {*before, *after} if before.get(one) != after.get(one)}
    assert changed and all(is_new(one) for one in changed)  # type: ignore[pyrefly:not-callable]


def test_a_torn_file_about_derived_metrics_is_none(tmp_path: Path) -> None:
    write(tmp_path / "run")
    with settled(tmp_path / "run", tmp_path / "index"):
        pass
    for path in (tmp_path / "index").rglob(f"*{ABOUT}"):
        path.write_bytes(path.read_bytes()[:20])
    with opened(tmp_path / "run", tmp_path / "index") as library:
        run = library.runs[0]
        assert run.wait_all(30) and ids(run, "derived.tool_calls = 5") == ["0/5", "1/5"]
