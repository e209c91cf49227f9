"""What a writer writes its reader reads back equal, whatever the samples hold; and what is not there is said."""

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rolloupe.formats import by_name, discover
from rolloupe.model import Locator, Part, Reading, Sample, SampleKey, SampleRow, TokenSeries, Turn
from rolloupe.record import Recorder
from rolloupe.record.writers import WRITERS, Left, writer_of
from rolloupe.record.writers.comparison import ADDED, AT_FIRST, MAX_WORD_CHARS, OUTSIDE, lost
from rolloupe.record.writers.relax import save_eval_summary_jsonl, save_rollout_result_jsonl
from rolloupe.record.writers.rl_logging_board import save_rollout_jsonl
from tests.formats.support import numbers, only_run, samples, texts, values

LAYOUTS = ("prime_rl", "relax", "rl_logging_board")
DATA = Path(__file__).parents[2] / "data"

clean = texts.map(lambda text: text.encode("utf-16", "surrogatepass").decode("utf-16", "replace"))
plain_texts = st.text("ab <>|\n{}", max_size=20) | clean
floats = st.floats() | st.integers(-3, 3).map(float)
names = st.text("abc_.", min_size=1, max_size=5) | clean
series = st.builds(
    TokenSeries,
    name=st.sampled_from(["logprobs", "values", "loss_mask", "trainer_logprobs", "entropy", "rewards"]) | names,
    values=st.lists(floats, max_size=5), offset=st.integers(0, 3),
)  # fmt: skip
parts = st.builds(
    Part, kind=st.sampled_from(["text", "think", "tool_call", "json", "image", "marker"]), text=plain_texts,
    raw=st.none() | plain_texts,
)  # fmt: skip
turns = st.builds(
    Turn, role=st.sampled_from(["user", "assistant", "tool", "system", "odd role"]), parts=st.lists(parts, max_size=3),
    origin=st.sampled_from(["prompt", "response"]), reward=st.none() | floats, name=plain_texts,
)  # fmt: skip
counts = st.none() | st.integers(0, 10)


@st.composite
def made(draw: st.DrawFn) -> Sample:
    """A sample as a format might load it, of dirty values."""
    row = SampleRow(
        split="train", step=3, group=draw(names), index=draw(names | st.integers(0, 3).map(str)), ordinal=0, start=0,
        length=1, reward=draw(st.none() | floats), advantage=draw(st.none() | floats), turns=draw(st.integers(0, 3)),
        status=draw(st.sampled_from(["completed", "truncated", "error", "unknown"])), status_raw=draw(plain_texts),
        prompt_tokens=draw(counts), response_tokens=draw(counts), total_tokens=draw(counts), env=draw(plain_texts),
        uid=draw(plain_texts), discarded=draw(plain_texts), metrics=draw(st.dictionaries(names, floats, max_size=4)),
        tags=draw(st.dictionaries(names, plain_texts, max_size=2)),
    )  # fmt: skip
    return Sample(
        key=SampleKey("train", 3, row.group, row.index), row=row, locator=Locator(source="s", start=0, length=1),
        turns=draw(st.lists(turns, max_size=3)), prompt_text=draw(plain_texts), response_text=draw(plain_texts),
        label=draw(plain_texts), ref_turns=draw(st.lists(turns, max_size=1)), ref_reward=draw(st.none() | floats),
        token_strings=draw(st.lists(plain_texts, max_size=4)),
        token_ids=draw(st.lists(st.integers(-1, 2**40), max_size=4)),
        series=draw(st.lists(series, max_size=4, unique_by=lambda one: one.name)),
        extra=draw(st.dictionaries(names, values, max_size=3)),
    )  # fmt: skip


def written(layout: str, folder: Path, some: list[Sample], split: str = "train") -> Left:
    writer = writer_of(layout, folder)
    left = writer.write(split, 3, some)
    writer.close()
    return left


def read(layout: str, folder: Path) -> list[Sample]:
    """Every sample that the layout's reader finds, in order, and no problem."""
    found = discover([folder], Reading(format=layout)).runs
    return [sample for run in found for sample in samples(run)]


@pytest.mark.parametrize("layout", LAYOUTS)
@given(some=st.lists(made(), max_size=3))
def test_every_sample_is_there_and_what_it_lost_was_said(
    layout: str, some: list[Sample], tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("run")
    left = written(layout, folder, some)
    whole = left.get("samples without token ids", 0)
    found = read(layout, folder) if whole < len(some) else []
    assert len(found) == len(some) - whole
    assert len({str(sample.key) for sample in found}) == len(found)
    kept = [sample for sample in some if layout != "prime_rl" or sample.token_ids]
    said = {word for word in left if not word.startswith("samples")}
    for sample, its in zip(kept, found, strict=True):
        for word in {word[:MAX_WORD_CHARS] for word in lost(sample, its)} - said:
            # what differs without being said: numbers by place, series that stand under another name, and numbers so
            # large that they come back as tags
            is_large = word.startswith(("field ", "tag ")) and int in map(type, sample.extra.values())
            assert word == "sample number" or word.startswith("token series") or is_large, word


@pytest.mark.parametrize(
    ("layout", "place"),
    [
        ("relax", None), ("rl_logging_board", None), ("prime_rl", "prime_rl/exports/v4_pr2641"),
        ("prime_rl", "prime_rl/mini/v7_head"), ("prime_rl", "prime_rl/mini/v1_pr2551"),
    ],
)  # fmt: skip
def test_files_of_the_layout_itself_lose_nothing(
    layout: str, place: str | None, demo_runs: Path, tmp_path: Path
) -> None:
    ours = {"relax": "relax", "rl_logging_board": "rl_logging_board/gen_train_toy"}
    source = DATA / place if place else demo_runs / "other_formats" / ours[layout]
    theirs = samples(only_run(source))
    writer = writer_of(layout, tmp_path)
    for key in dict.fromkeys((one.row.split, one.row.step) for one in theirs):
        left = writer.write(*key, [one for one in theirs if (one.row.split, one.row.step) == key])
        assert {word for word in left if not word.endswith(ADDED)} == set()
    writer.close()
    mine = {(s.key if layout != "rl_logging_board" else s.key.step, s.prompt_text, s.response_text): s
            for s in samples(only_run(tmp_path))}  # fmt: skip
    assert len(mine) == len(theirs)
    for one in theirs:
        its = mine[one.key if layout != "rl_logging_board" else one.key.step, one.prompt_text, one.response_text]
        assert (its.turns, its.ref_turns, its.token_strings, its.token_ids) == (
            one.turns, one.ref_turns, one.token_strings, one.token_ids
        )  # fmt: skip
        assert (its.extra, its.label, its.row.tags, repr(its.series)) == (
            one.extra, one.label, one.row.tags, repr(one.series)
        )  # fmt: skip
        assert {name: its.row.metrics[name] for name in one.row.metrics} == one.row.metrics


dirty = st.fixed_dictionaries(
    {"prompt": texts, "response": texts, "reward": st.none() | numbers},
    optional={
        "response_tokens": st.lists(texts, max_size=4), "logprobs": st.lists(numbers, max_size=4),
        "values": st.lists(numbers, max_size=4), "token_rewards": st.lists(numbers, max_size=4),
        "ref_reward": numbers, "ground_truth": texts, "note": values,
    },
)  # fmt: skip


def same(a: object, b: object) -> bool:
    return a == b or json.dumps(a) == json.dumps(b)


def replaced(value: str) -> str:
    whole = str(json.loads(json.dumps(value)))
    return whole.encode("utf-16", "surrogatepass").decode("utf-16", "replace").replace("<PAD>", "")


def expected(reward: Any, *, finite: bool) -> float | None:
    if reward is None:
        return None
    try:
        value = float(reward)
    except OverflowError:
        value = math.inf if reward > 0 else -math.inf
    return None if finite and not math.isfinite(value) and isinstance(reward, float) else value


@given(rows=st.lists(dirty, min_size=1, max_size=4))
def test_the_boards_lines_are_read_as_they_were(
    rows: list[dict[str, Any]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("run")
    save_rollout_jsonl(folder, 7, rows)  # arrays of other lengths are left out, their samples not
    found = read("rl_logging_board", folder)
    assert [one.row.step for one in found] == [7] * len(rows)
    for row, one in zip(rows, found, strict=True):
        assert same(one.row.reward, expected(row["reward"], finite=False))
        assert one.prompt_text == replaced(row["prompt"]) and one.response_text == replaced(row["response"])


@given(rows=st.lists(dirty, min_size=1, max_size=4), split=st.sampled_from(["train", "eval"]))
def test_relaxs_rows_are_read_as_they_were(
    rows: list[dict[str, Any]], split: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("run")
    save: Callable[..., None] = save_rollout_result_jsonl if split == "train" else save_eval_summary_jsonl
    save(folder, 7, rows if split == "train" else {"poems": {"samples": rows}}, strict=True)
    found = read("relax", folder)
    assert [(one.row.split, one.row.step, one.row.index) for one in found] == [
        ("train" if split == "train" else "eval/poems", 7, str(n)) for n in range(len(rows))
    ]
    for row, one in zip(rows, found, strict=True):
        assert same(one.row.reward, expected(row["reward"], finite=True))


def test_evaluations_share_a_file_and_are_told_apart(demo_runs: Path, tmp_path: Path) -> None:
    some = [one for one in samples(only_run(demo_runs / "other_formats/relax")) if one.row.step == 0]
    writer = writer_of("relax", tmp_path)
    for split in ("train", "eval/aime24", "eval/gsm8k", "eval/default"):
        writer.write(split, 0, [one for one in some if one.row.split == split])
    writer.close()
    assert sorted(path.name for path in tmp_path.rglob("*.jsonl")) == ["0.jsonl", "0.jsonl"]
    assert {str(one.key) for one in samples(only_run(tmp_path))} == {str(one.key) for one in some}


@pytest.mark.parametrize("split", ["eval/poems", "eval/../up", "eval/a/b", "eval/\x00", "odd"])
def test_an_evaluation_of_the_board_lies_beside_training(demo_runs: Path, tmp_path: Path, split: str) -> None:
    some = samples(only_run(demo_runs / "other_formats/rl_logging_board/gen_train_toy"))[:2]
    writer = writer_of("rl_logging_board", tmp_path / "run")
    writer.write("train", 0, some)
    for one in some:
        one.row.split = split
    left = writer.write(split, 0, some)
    assert ("split" in left) == (split != "eval/poems")
    assert writer.write("eval/more", 0, some)["split"] == 2
    writer.close()
    assert [path.name for path in tmp_path.iterdir()] == ["run"]
    names = sorted(path.name for path in (tmp_path / "run").iterdir())
    first = "eval_poems" if split == "eval/poems" else "eval_0"
    found = discover([tmp_path / "run"]).runs
    if split == "eval/poems":
        assert names == ["eval_more", first, "train_poems"] and len(found) == 2
        (joined,) = [run for run in found if run.name == "train_poems"]
        assert {one.row.split for one in samples(joined)} == {"train", "eval/poems"}
    else:
        assert names[1] == first or names[0] == first


@pytest.mark.parametrize("layout", LAYOUTS)
def test_steps_that_no_file_is_named_after_are_left_out(layout: str, tmp_path: Path, demo_runs: Path) -> None:
    some = samples(only_run(DATA / "prime_rl/mini/v4_pr2641"))
    left = writer_of(layout, tmp_path).write("train", -(2**60), some)
    assert sum(count for word, count in left.items() if word.startswith("samples of steps")) == len(some)
    assert not list(tmp_path.rglob("*.jsonl"))


SOURCES = (
    "prime_rl/exports/v4_pr2641", "prime_rl/mini/v7_head", "prime_rl/traces", "tinker/sync_run", "generic/verl",
)  # fmt: skip


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("place", SOURCES)
def test_what_was_written_is_recognised_as_what_it_is(layout: str, place: str, tmp_path: Path) -> None:
    theirs = [one for one in samples(only_run(DATA / place)) if one.row.split == "train"]
    writer = writer_of(layout, tmp_path)
    whole = 0
    for step in dict.fromkeys(one.row.step for one in theirs):
        left = writer.write("train", step, [one for one in theirs if one.row.step == step])
        whole += left.get("samples without token ids", 0)
    writer.close()
    if whole == len(theirs):
        assert layout == "prime_rl" and list(tmp_path.iterdir()) == []
        return
    run = only_run(tmp_path)
    mine = samples(run)
    # the board's lines without anything of its own are a plain log
    assert (len(mine), whole) == (len(theirs), 0) and run.format in (layout, "generic")
    assert run.format == layout or not {"response_tokens", "ref_response"} & _keys(tmp_path)
    kept = [(one.row.step, one.row.reward) for one in mine]
    assert sorted(kept, key=str) == sorted(((one.row.step, one.row.reward) for one in theirs), key=str)
    assert by_name(run.format).step_states(run) == {}


def _keys(folder: Path) -> set[str]:
    """The keys of all lines below a folder."""
    lines = (line for path in folder.rglob("*.jsonl") for line in path.read_text().splitlines())
    return {key for line in lines for key in json.loads(line)}


def test_no_layout_is_written_under_another_name(tmp_path: Path) -> None:
    for name in WRITERS:
        assert writer_of(name, tmp_path / name).name == name == by_name(name).name


IDS = [5, 6, 7, 8]
OF_RESPONSE = {"logprobs": [-0.1, -0.2], "trainer_logprobs": [-0.1, -0.9], "entropy": [0.1, 0.2]}
OF_ALL = {name: [0.0, 0.0, *found] for name, found in OF_RESPONSE.items()} | {"loss_mask": [0, 0, 1, 1]}


def recorded(folder: Path, given: dict[str, list[float]], **more: Any) -> list[Sample]:
    with Recorder(folder, code=None, strict=True) as recorder:
        recorder.sample(step=3, prompt="p", response="r", reward=1.0, token_ids=IDS, series=given, **more)
    return samples(only_run(folder))


def held_at(sample: Sample) -> dict[str, dict[int, float]]:
    """The values of a sample's series, by the token that they are of."""
    return {
        one.name: {at: round(value, 4) for at, value in enumerate(one.values, one.offset) if value == value}
        for one in sample.series
    }


@pytest.mark.parametrize("given", [OF_RESPONSE, OF_ALL], ids=["of the response", "of all tokens"])
def test_what_the_recorder_holds_of_two_policies_is_compared_as_prime_rl_does(
    given: dict[str, list[float]], tmp_path: Path
) -> None:
    theirs = recorded(tmp_path / "native", given, advantage=-1.0)
    assert written("prime_rl", tmp_path / "out", theirs).keys().isdisjoint({f"token series {name}" for name in given})
    (path,) = (tmp_path / "out").rglob("rank_0.jsonl")
    record = json.loads(path.read_text())
    assert record["inference_logprobs"] == [0.0, 0.0, pytest.approx(-0.1), pytest.approx(-0.2)]
    gap = pytest.approx([0.0, -0.7], abs=1e-6)
    assert (record["log_importance_ratio"][:2], record["log_importance_ratio"][2:]) == ([None, None], gap)
    assert record["importance_ratio"][3] == pytest.approx(math.exp(-0.7), rel=1e-5)
    assert record["mismatch_kl"][3] == pytest.approx(math.exp(-0.7) - 1 + 0.7, rel=1e-5)
    assert record["prob_delta"][3] == pytest.approx(math.exp(-0.9) - math.exp(-0.2), rel=1e-5)
    assert (record["is_masked"], record["is_masked_low"]) == ([None, None, False, True], [None, None, False, True])
    (mine,) = read("prime_rl", tmp_path / "out")
    its, own = held_at(mine), held_at(theirs[0])
    assert {name: its[name] for name in OF_RESPONSE} == {name: own[name] for name in OF_RESPONSE}


def test_what_the_trainer_did_not_sample_is_compared_with_nothing(tmp_path: Path) -> None:
    written("prime_rl", tmp_path / "out", recorded(tmp_path / "native", OF_RESPONSE, tags={"training_mode": "sft"}))
    (mine,) = read("prime_rl", tmp_path / "out")
    assert {"logprobs", "trainer_logprobs"} <= held_at(mine).keys() and "mismatch_kl" not in held_at(mine)


@pytest.mark.parametrize("layout", ["prime_rl", "rl_logging_board"])
def test_a_series_that_begins_elsewhere_is_not_lost(layout: str, tmp_path: Path) -> None:
    theirs = recorded(tmp_path / "native", {"logprobs": [-0.5, -0.25]})
    assert "token series logprobs" not in written(layout, tmp_path / "out", theirs)
    (mine,) = read(layout, tmp_path / "out")
    assert list(held_at(mine)["logprobs"].values()) == [-0.5, -0.25]


@pytest.mark.parametrize("layout", ["prime_rl", "rl_logging_board"])
def test_values_of_the_prompt_that_are_left_out_are_said(layout: str, tmp_path: Path) -> None:
    theirs = recorded(tmp_path / "native", {"logprobs": [-0.1, -0.2, -0.5, -0.25]}, response_tokens=2)
    assert written(layout, tmp_path / "out", theirs)[f"token series logprobs{OUTSIDE}"] == 1
    (mine,) = read(layout, tmp_path / "out")
    assert list(held_at(mine)["logprobs"].values()) == [-0.5, -0.25]


def test_of_a_response_alone_prime_rl_shows_no_first_token(tmp_path: Path) -> None:
    theirs = recorded(tmp_path / "native", {"trainer_logprobs": [-0.1, -0.2, -0.5, -0.25]})
    assert written("prime_rl", tmp_path / "out", theirs)[f"token series trainer_logprobs{AT_FIRST}"] == 1


@pytest.mark.parametrize("advantage", [0.0, -1.5])
def test_an_advantage_comes_back_from_relax(advantage: float, tmp_path: Path) -> None:
    theirs = recorded(tmp_path / "native", {}, advantage=advantage)
    assert "advantage" not in written("relax", tmp_path / "out", theirs)
    assert [one.row.advantage for one in read("relax", tmp_path / "out")] == [advantage]
