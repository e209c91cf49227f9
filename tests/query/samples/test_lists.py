"""Lists, pages, order, conditions, and one sample whole."""

import math
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from rolloupe import query
from rolloupe.errors import BadQuery, NotFound, SourceChanged
from rolloupe.index import OpenRun
from rolloupe.lru import Lru
from rolloupe.model import SampleKey
from rolloupe.query import Condition, SampleQuery
from rolloupe.query.engine import database
from rolloupe.query.filter.parser import conditions
from rolloupe.query.sample import load
from rolloupe.query.samples import pages
from tests.index.support import eventually, lines, opened, relax_run, row, tails_of
from tests.thoroughness import each

ONE_STEP = SampleQuery(splits=("train",), step_min=0, step_max=0)


def step_of(tmp_path: Path, rows: list[dict[str, object]]) -> Path:
    train = tmp_path / "run" / "rollout_result" / "train"
    train.mkdir(parents=True)
    (train / "0.jsonl").write_bytes(lines(rows))
    return tmp_path / "run"


def test_by_index_the_samples_of_a_group_stand_together(tmp_path: Path) -> None:
    rows = [row(0, i, group_index=[5, 2, 5, 2][i]) for i in range(4)]
    with opened(step_of(tmp_path, rows), tmp_path / "index") as library:
        page = query.samples(library.runs[0], ONE_STEP)
        assert [(s.key.group, s.key.index) for s in page.samples] == [("5", "0"), ("5", "2"), ("2", "1"), ("2", "3")]
        groups = query.groups(library.runs[0], "train", 0)
        assert [(g.group, g.samples, g.first) for g in groups] == [("5", 2, 0), ("2", 2, 2)]


def test_index_order_is_by_number_not_by_letters(tmp_path: Path) -> None:
    rows = [row(0, i, group_index=0) for i in range(12)]
    with opened(step_of(tmp_path, rows), tmp_path / "index") as library:
        page = query.samples(library.runs[0], ONE_STEP)
        assert [s.key.index for s in page.samples] == [str(i) for i in range(12)]


def test_the_names_of_relax_filter_and_sort_by_number(tmp_path: Path) -> None:
    rows = [row(0, i, group_index=i // 4) for i in range(12)]
    with opened(step_of(tmp_path, rows), tmp_path / "index") as library:
        typed = "sample_index >= 2 and group_index < 3 and rollout_id = 0"
        page = query.samples(
            library.runs[0], replace(ONE_STEP, sort="sample_index", descending=True, where=conditions(typed))
        )
        assert [s.key.index for s in page.samples] == [str(i) for i in range(11, 1, -1)]


def test_a_sample_tells_how_its_response_begins_and_ends(tmp_path: Path) -> None:
    long = "I begin. " + "word " * 400 + "\n\n so it is  \ud83d\ude00 42.<|im_end|>\n"
    texts = [long, "x" * 240, "y" * 241, "", "short\nand all of it"]
    with opened(
        step_of(tmp_path, [row(0, i, response=text) for i, text in enumerate(texts)]), tmp_path / "index"
    ) as library:
        begun = [(one.response, one.response_end) for one in query.samples(library.runs[0], ONE_STEP).samples]
        assert begun[0][0].startswith("I begin. word") and begun[0][1].endswith("word so it is 😀 42.<|im_end|>")
        assert begun[1:] == [("x" * 240, ""), ("y" * 240, "y" * 160), ("", ""), ("short and all of it", "")]
        assert "response_end" not in query.table(library.runs[0], ONE_STEP).column_names


def test_sorting_puts_what_has_no_finite_value_last_either_way(tmp_path: Path) -> None:
    rewards = [1.0, math.nan, None, -2.0, math.inf]
    rows = [row(0, i, reward=reward) for i, reward in enumerate(rewards)]
    with opened(step_of(tmp_path, rows), tmp_path / "index") as library:
        for descending, first in ((False, ["3", "0"]), (True, ["0", "3"])):
            wanted = SampleQuery(splits=("train",), step_min=0, step_max=0, sort="reward", descending=descending)
            found = [s.key.index for s in query.samples(library.runs[0], wanted).samples]
            assert found[:2] == first and found[-1] == "2"
        stats = query.steps(library.runs[0], "train")[0].reward
        assert (stats.count, stats.mean, stats.min, stats.max, stats.excluded) == (2, -0.5, -2.0, 1.0, 3)


def test_conditions_are_bound_and_counted(tmp_path: Path) -> None:
    with opened(step_of(tmp_path, [row(0, i) for i in range(8)]), tmp_path / "index") as library:
        run = library.runs[0]
        wanted = SampleQuery(where=(Condition("reward", ">", 0.5), Condition("response_tokens", "<", 14)), limit=1)
        page = query.samples(run, wanted)
        assert (page.total, [s.key.index for s in page.samples]) == (2, ["1"])
        with pytest.raises(BadQuery, match="no column"):
            query.samples(run, SampleQuery(where=(Condition("reward; DROP", "=", 1),)))
        with pytest.raises(BadQuery, match="operator"):
            query.samples(run, SampleQuery(where=(Condition("reward", "= 1 OR 1 =", 1),)))
        with pytest.raises(BadQuery):
            query.samples(run, SampleQuery(where=(Condition("reward", "<", "many"),)))


def test_the_page_around_a_sample_holds_it(tmp_path: Path) -> None:
    with opened(step_of(tmp_path, [row(0, i) for i in range(40)]), tmp_path / "index") as library:
        wanted = SampleQuery(splits=("train",), step_min=0, step_max=0, limit=10)
        page = query.samples(library.runs[0], wanted, around=SampleKey("train", 0, "6", "27"))
        assert page.offset == 20 and "27" in [s.key.index for s in page.samples]


def test_names_that_differ_only_in_case_stay_apart(tmp_path: Path) -> None:
    hostile = {"Acc": 1.0, "acc": 2.0, "ACC": 3.0, 'a"b; --': 4.0, "ünï": 5.0}
    with opened(step_of(tmp_path, [row(0, 0, reward={"score": 1.0, **hostile})]), tmp_path / "index") as library:
        metrics = query.samples(library.runs[0], ONE_STEP).samples[0].metrics
        for name, value in hostile.items():
            assert metrics[f"reward.{name}"] == value
            wanted = SampleQuery(where=(Condition(f"reward.{name}", "=", value),))
            assert query.samples(library.runs[0], wanted).total == 1


def test_of_a_large_group_only_the_sample_that_is_read_becomes_an_object(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with opened(step_of(tmp_path, [row(0, n, group_index=0) for n in range(300)]), tmp_path / "index") as library:
        run = library.runs[0]
        keys = query.neighbours(run, SampleKey("train", 0, "0", "7"))
        made: list[str] = []
        made_of = load.row_of

        def counted(record: tuple[Any, ...]) -> load.GroupRow:
            made.append(record[0])
            return made_of(record)

        monkeypatch.setattr(load, "row_of", counted)
        found, group = query.sample_and_group(run, keys[7])
        assert (found.key, made) == (keys[7], ["7"])
        assert list(group) == keys and group[3:9] == keys[3:9] and group[-1] == keys[-1]
        assert [group.index(key) for key in keys[::50]] == list(range(0, 300, 50))
        assert keys[7] in group and not {replace(keys[7], attempt=1), replace(keys[7], index="x"), "x"} & {*group}
        with pytest.raises(ValueError, match="not in the group"):
            group.index(keys[7], 8)
        for gone in (replace(keys[0], index="x"), replace(keys[0], attempt=2), replace(keys[0], step=9)):
            with pytest.raises(NotFound):
                query.sample_and_group(run, gone)


def test_a_sample_is_read_without_the_others_of_its_group(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [row(0, n // 2, response=f"attempt {n}") for n in range(4)]
    with opened(step_of(tmp_path, rows), tmp_path / "index") as library:
        run = library.runs[0]
        keys = [SampleKey("train", 0, "0", "1", attempt) for attempt in (0, 1, 2)]
        wanted = [query.sample_and_group(run, key)[0].row.response for key in keys]

        def large(*_: object) -> None:
            raise AssertionError("the whole group was asked for")

        monkeypatch.setattr(load, "group_members", large)
        monkeypatch.setattr(database, "table", large)
        assert (
            [query.sample(run, key).row.response for key in keys] == wanted == ["attempt 3", "attempt 2", "attempt 3"]
        )
        assert b"attempt 2" in query.raw(run, keys[1])[1]
        for gone in (replace(keys[0], index="2"), replace(keys[0], attempt=3)):
            with pytest.raises(NotFound):
                query.sample(run, gone)


def test_samples_that_share_a_key_are_all_reachable(tmp_path: Path) -> None:
    rows = [row(0, 0, response=f"attempt {n}") for n in range(3)]
    with opened(step_of(tmp_path, rows), tmp_path / "index") as library:
        run = library.runs[0]
        ids = [str(s.key) for s in query.every(run, SampleQuery())]
        assert ids == ["train/0/0/0~1", "train/0/0/0~2", "train/0/0/0"]
        texts = [query.sample(run, SampleKey.parse(i)).response_text for i in ids]
        assert texts == ["attempt 0", "attempt 1", "attempt 2"]
        assert [str(k) for k in query.neighbours(run, SampleKey.parse(ids[0]))] == ids
        with pytest.raises(NotFound):
            query.sample(run, SampleKey.parse("train/0/0/0~4"))


def test_every_sample_comes_once_whatever_the_pages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pages, "MAX_PAGE", 7)
    monkeypatch.setattr(pages, "MIN_PAGE", 7)
    relax_run(tmp_path / "run", steps=4, samples=10)
    with opened(tmp_path / "run", tmp_path / "index") as library:
        run = library.runs[0]
        for wanted in (SampleQuery(), SampleQuery(sort="reward"), SampleQuery(descending=True)):
            assert len({s.key for s in query.every(run, wanted)}) == 40
        assert len(list(query.every(run, SampleQuery(offset=15, limit=10)))) == 10


def test_a_file_rewritten_under_a_locator_is_told(tmp_path: Path) -> None:
    path = step_of(tmp_path, [row(0, i) for i in range(4)])
    with opened(path, tmp_path / "index") as library:
        file = path / "rollout_result" / "train" / "0.jsonl"
        file.write_bytes(b"\n" * 30 + lines([row(0, i) for i in range(4)]))
        with pytest.raises(SourceChanged):
            query.sample(library.runs[0], SampleKey("train", 0, "0", "2"))


def test_an_unknown_sample_is_not_found(tmp_path: Path) -> None:
    with opened(step_of(tmp_path, [row(0, 0)]), tmp_path / "index") as library:
        for text in ("train/0/0/9", "train/1/0/0", "eval/0/0/0", f"train/{10**30}/0/0", "train/0/'; --/0"):
            with pytest.raises(NotFound):
                query.sample(library.runs[0], SampleKey.parse(text))


def test_a_tail_in_memory_is_queried_like_a_segment(tmp_path: Path) -> None:
    path = step_of(tmp_path, [row(0, i) for i in range(4)])
    with opened(path, tmp_path / "index", follow=True) as library:
        run = library.runs[0]
        with (path / "rollout_result" / "train" / "0.jsonl").open("ab") as file:
            file.write(lines([row(0, 4, extra_metric=2.5)]))
        eventually(lambda: bool(tails_of(run)))
        page = query.samples(run, ONE_STEP)
        assert page.total == 5 and page.samples[-1].metrics["extra_metric"] == 2.5
        assert query.sample(run, page.samples[-1].key).response_text == "Answer 4"
        assert query.splits(run)[0].groups == 2


def test_a_metric_that_only_other_steps_have_is_absent(tmp_path: Path) -> None:
    train = relax_run(tmp_path / "run", steps=1)
    (train / "1.jsonl").write_bytes(lines([row(1, 0, reward={"score": 1.0, "acc": 0.5, "bench": "toy"})]))
    with opened(tmp_path / "run", tmp_path / "index") as library:
        run = library.runs[0]
        assert [s.metrics for s in query.samples(run, ONE_STEP).samples] == [{}] * 8
        wanted = SampleQuery(splits=("train",), step_min=0, step_max=0, sort="reward.acc")
        assert query.samples(run, wanted).total == 8
        last = list(query.every(run, SampleQuery()))[-1]
        assert (last.metrics["reward.acc"], last.tags["bench"]) == (0.5, "toy")


@pytest.mark.slow
def test_a_run_whose_samples_have_many_metrics(tmp_path: Path) -> None:
    train = tmp_path / "run/rollout_result/train"
    train.mkdir(parents=True)
    for step in range(6):
        wide = {f"metric {step} {n}": n for n in range(500)}
        (train / f"{step}.jsonl").write_bytes(lines([row(step, i, **wide) for i in range(40)]))
    with opened(tmp_path / "run", tmp_path / "index") as library:
        run = library.runs[0]
        listed = list(query.every(run, SampleQuery(sort="reward", limit=150)))
        assert len(listed) == 150 and all(len(item.metrics) == 500 for item in listed)
        wanted = SampleQuery(where=(Condition("metric 3 499", ">", 1),), limit=1000)
        assert query.samples(run, wanted).total == 40


def test_a_query_that_needs_too_much_memory_is_refused_in_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(database, "MEMORY_LIMIT", "1MB")
    monkeypatch.setattr(database, "databases", Lru(1))
    rows = [row(0, i, response="x" * 200, prompt=f"{i} " * 100) for i in range(6_000)]
    with opened(step_of(tmp_path, rows), tmp_path / "index") as library, pytest.raises(BadQuery, match="memory"):
        query.samples(library.runs[0], SampleQuery(sort="reward", limit=6_000))


def test_samples_that_share_a_key_over_several_files_have_ids_of_their_own(tmp_path: Path) -> None:
    folder = tmp_path / "run/token_exports"
    folder.mkdir(parents=True)
    numbers = {"rank": 0, "micro_step": 0, "micro_sequence_idx": 0, "export_sequence_idx": 0, "step": 1}
    for rank in range(3):
        record = {**numbers, "token_ids": [1, 2], "loss_mask": [False, True], "rewards": [None, float(rank)]}
        (folder / f"rank_{rank}.jsonl").write_bytes(lines([record]))
    with opened(tmp_path / "run", tmp_path / "index") as library:
        run = library.runs[0]
        for sort in ("index", "reward"):
            ids = [str(item.key) for item in query.every(run, SampleQuery(sort=sort))]
            assert len(set(ids)) == 3 and sum("~" not in one for one in ids) == 1
            for item in query.every(run, SampleQuery(sort=sort)):
                assert query.sample(run, item.key).row.reward == item.reward
        last = query.samples(run, SampleQuery(limit=1), around=SampleKey.parse(ids[-1]))
        assert [str(item.key) for item in last.samples] == [ids[-1]]


@each("text", ["train/0/0/0~-1", "train/0/0/0~0", "train/0_0/0/0", "train/ 0/0/0", "train/٠/0/0"])
def test_a_sample_has_one_id_alone(text: str) -> None:
    with pytest.raises(ValueError, match="expected split/step/group/index"):
        SampleKey.parse(text)


def test_a_metric_that_is_called_like_a_word_can_be_sorted_around(tmp_path: Path) -> None:
    rows = [row(0, i, metric=i, source=i, uid=i) for i in range(3)]
    with opened(step_of(tmp_path, rows), tmp_path / "index") as library:
        for sort in ("status", "source", "uid", "split"):
            assert len(query.samples(library.runs[0], SampleQuery(sort=sort)).samples) == 3


def test_a_split_that_does_not_exist_is_told_with_those_that_do(tmp_path: Path) -> None:
    relax_run(tmp_path / "run", steps=1)
    folder = tmp_path / "run/rollout_result/eval"
    folder.mkdir()
    (folder / "0.jsonl").write_bytes(lines([row(0, i, dataset=name) for i in range(2) for name in ("a", "b")]))
    with opened(tmp_path / "run", tmp_path / "index") as library:
        run = library.runs[0]
        with pytest.raises(NotFound, match="there are: train, eval/a, eval/b"):
            list(query.every(run, SampleQuery(splits=("evall",))))
        assert {item.key.split for item in query.every(run, SampleQuery(splits=("eval",)))} == {"eval/a", "eval/b"}
        assert query.samples(run, SampleQuery(splits=("eval",))).total == 4


def test_many_small_steps_are_listed_in_few_questions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    relax_run(tmp_path / "run", steps=60, samples=2)
    asked: list[database.Question] = []
    ask = database.ask

    def counted(run: OpenRun, question: database.Question) -> list[tuple[Any, ...]]:
        asked.append(question)
        return ask(run, question)

    monkeypatch.setattr(database, "ask", counted)
    with opened(tmp_path / "run", tmp_path / "index") as library:
        listed = [item.key for item in query.every(library.runs[0], SampleQuery())]
    assert [key.step for key in listed] == [step for step in range(60) for _ in range(2)]
    assert len(asked) < 10
