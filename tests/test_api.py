"""The Python face: `rolloupe.open` and what can be asked."""

import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import rolloupe
from rolloupe import BadQuery, Condition, NotFound, NotRecognised, Run, Runs, SampleQuery, UnreadablePath
from tests.index.support import eventually, lines, relax_run, row
from tests.thoroughness import each

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def one(demo_runs: Path) -> Iterator[Runs]:
    with rolloupe.open(demo_runs / "other_formats/relax") as runs:
        yield runs


@pytest.fixture(scope="module")
def many(demo_runs: Path, demo_index: Path) -> Iterator[Runs]:
    with rolloupe.open(demo_runs, index_dir=demo_index) as runs:
        yield runs


def test_the_public_names_are_a_list() -> None:
    assert rolloupe.__all__ == [
        "BadQuery", "Condition", "NotFound", "NotRecognised", "Problem", "Recorder", "RolloupeError", "Run", "Runs",
        "Sample", "SampleItem", "SampleKey", "SampleQuery", "SourceChanged", "UnreadablePath", "__version__",
        "compare", "compare_curves", "compare_rewards", "errors", "open",
    ]  # fmt: skip
    assert set(rolloupe.__all__) <= set(dir(rolloupe))


def test_a_name_that_there_is_not() -> None:
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        rolloupe.nothing  # noqa: B018


def test_naming_what_is_light_loads_nothing_heavy() -> None:
    code = "import rolloupe, sys; rolloupe.Run; rolloupe.open; print('duckdb' in sys.modules, 'pyarrow' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False False\n"


def test_the_runs_are_a_sequence(many: Runs) -> None:
    assert [run.id for run in many] == [run.id for run in many.runs]
    assert sorted(run.id for run in many) == [
        "agent_airline",
        "code_codeforces",
        "eval_poem_task",
        "gen_train_toy",
        "images_circles",
        "long_reasoning",
        "math_llama3b",
        "relax",
        "tiny-grpo-conv",
        "tiny_grpo",
        "trl",
        "verl_math",
    ]
    assert (len(many), many[0], many[:2]) == (12, many.runs[0], many.runs[:2])
    assert many.run("verl_math").format == "verl"
    assert many.runs[0] in many
    assert repr(many.run("relax")).startswith("<Run 'relax' (relax) at ")
    assert "relax" in repr(many)


def test_the_only_run_answers_directly(one: Runs) -> None:
    assert one.only() is one.runs[0]
    assert one.steps() == one.runs[0].steps()
    assert [step.step for step in one.steps()] == [0, 1, 2]


def test_of_several_runs_none_answers_and_all_are_named(many: Runs) -> None:
    with pytest.raises(NotFound, match=r"there are 12 runs; .*eval_poem_task.*verl_math"):
        many.steps()
    with pytest.raises(NotFound, match="no run 'other'"):
        many.run("other")


def test_where_there_is_no_run_it_says_why(tmp_path: Path) -> None:
    (tmp_path / "weights.pt").touch()
    with rolloupe.open(tmp_path) as runs:
        assert not runs
        with pytest.raises(NotFound, match=r"no run was found; .*empty: 0 bytes\. Next: "):
            runs.steps()


def test_splits_steps_groups(one: Runs) -> None:
    assert [(s.name, s.steps, s.groups, s.samples) for s in one.splits()] == [
        ("train", 3, 12, 48), ("eval/aime24", 3, 3, 12), ("eval/gsm8k", 3, 6, 18),
    ]  # fmt: skip
    assert [step.reward.mean for step in one.steps("train")] == [0.5, 0.625, 0.65625]
    assert {step.split for step in one.steps("eval/gsm8k")} == {"eval/gsm8k"}
    assert [(g.group, g.samples) for g in one.groups(0)] == [("0", 4), ("1", 4), ("2", 4), ("3", 4)]
    assert len(one.groups(1, "eval/gsm8k")) == 2
    with pytest.raises(NotFound, match="its splits: "):
        one.steps("other")
    with pytest.raises(NotFound, match="no samples at step 9"):
        one.groups(9)


def test_without_a_train_split_the_first_is_meant(tmp_path: Path) -> None:
    folder = tmp_path / "rollout_result" / "eval"
    folder.mkdir(parents=True)
    (folder / "5.jsonl").write_bytes(lines([row(5, i, dataset="gsm8k") for i in range(3)]))
    with rolloupe.open(tmp_path) as runs:
        assert [(s.split, s.step) for s in runs.steps()] == [("eval/gsm8k", 5)]


def test_a_run_without_samples_has_no_steps(tmp_path: Path) -> None:
    train = relax_run(tmp_path, steps=1)
    (train / "0.jsonl").write_bytes(b"damaged\n")
    with rolloupe.open(tmp_path, format="relax") as runs:
        assert (runs.splits(), runs.steps(), list(runs.samples())) == ([], [], [])
        assert (runs.problem_count(), [p.source for p in runs.problems()]) == (1, ["train/0.jsonl"])
        with pytest.raises(NotFound):
            runs.groups(0)


def test_samples_come_one_after_another(one: Runs) -> None:
    found = one.samples()
    assert str(next(found).key) == "train/0/0/0"
    assert len(list(found)) == 77


def test_samples_are_narrowed(one: Runs) -> None:
    better = sum(1 for s in one.samples(split="train") if s.reward is not None and s.reward > 0.5)
    cases: list[tuple[dict[str, Any], int]] = [
        ({"split": "train"}, 48),
        ({"step": 1}, 26),
        ({"steps": (1, None)}, 52),
        ({"steps": (0, 0), "group": "2"}, 6),
        ({"where": "split = train and reward > 0.5"}, better),
        ({"where": [Condition("reward", ">", 0.5), Condition("split", "=", "train")]}, better),
        ({"limit": 5, "offset": 76}, 2),
    ]
    for options, count in cases:
        assert len(list(one.samples(**options))) == count > 0, options


def test_a_query_and_single_arguments_ask_the_same(one: Runs) -> None:
    query = SampleQuery(splits=("train",), step_min=1, sort="response_tokens", descending=True, limit=7)
    single = one.samples(split="train", steps=(1, None), sort="response_tokens", descending=True, limit=7)
    assert list(one.samples(query)) == list(single)
    assert one.total(query) == 32


@each(
    ("options", "said"),
    [
        ({"query": SampleQuery(), "step": 1}, "not both"),
        ({"step": 1, "steps": (1, 2)}, "exclude each other"),
        ({"limit": -1}, "negative"),
        ({"where": "reward <"}, "at character 9"),
        ({"sort": "nothing"}, "no column 'nothing'"),
    ],
)
def test_what_cannot_be_asked(one: Runs, options: dict[str, object], said: str) -> None:
    with pytest.raises(BadQuery, match=said):
        list(one.samples(**options))  # type: ignore[pyrefly:bad-argument-type]


def test_a_column_that_is_not_there_is_pointed_at(one: Runs) -> None:
    where = "reward > 0 and rewrd < 1"
    asked: list[Callable[[], object]] = [
        lambda: next(one.samples(where=where)),
        lambda: one.samples(where=where).arrow(),
        lambda: repr(one.samples(where=where)),
        lambda: one.search("a", where=where),
    ]
    for ask in asked:
        with pytest.raises(BadQuery, match="is it 'reward'") as raised:
            ask()
        assert (raised.value.column, raised.value.place) == ("rewrd", where.index("rewrd"))
    with pytest.raises(BadQuery) as raised:
        next(one.samples(where="reward > 0", sort="rewrd"))
    assert raised.value.place is None


def test_one_sample_by_key_or_by_its_text(one: Runs) -> None:
    item = next(one.samples(split="train"))
    sample = one.sample(str(item.key))
    assert sample == one.sample(item.key)
    assert (sample.row.reward, sample.turns[-1].origin) == (item.reward, "response")
    raw = one.raw(item.key)
    assert Path(raw.path).read_bytes()[raw.start : raw.stop] == raw.data
    assert one.has("train/0/0/0") and not one.has("train/0/0/99")
    assert [str(key) for key in one.group_of("train/0/0/2")] == [f"train/0/0/{i}" for i in range(4)]
    with pytest.raises(NotFound):
        one.sample("train/0/0/99")
    with pytest.raises(BadQuery, match="is not a sample id"):
        one.sample("nothing")


def test_a_sample_metric_by_step(one: Runs) -> None:
    assert [(p.step, p.stats.mean) for p in one.series("reward", "train")] == [(0, 0.5), (1, 0.625), (2, 0.65625)]
    assert "response_tokens" in one.columns()
    with pytest.raises(BadQuery, match="no sample metric"):
        one.series("nothing")


def test_a_run_is_followed_only_if_asked(tmp_path: Path) -> None:
    train = relax_run(tmp_path / "run", steps=1)
    with rolloupe.open(tmp_path / "run", follow=True) as live, rolloupe.open(tmp_path / "run") as once:
        assert (len(live.steps()), len(once.steps())) == (1, 1)
        (train / "1.jsonl").write_bytes(lines([row(1, 0)]))
        eventually(lambda: len(live.steps()) == 2)
        assert len(once.steps()) == 1


def test_answers_need_not_wait(tmp_path: Path) -> None:
    relax_run(tmp_path / "run")
    with rolloupe.open(tmp_path / "run", wait=False, index_dir=tmp_path / "index") as runs:
        assert len(runs.splits()) <= 1
        assert runs[0].wait(30)
        done, total = runs[0].indexed_bytes()
        assert 0 < done == total
        assert len(runs.steps()) == 3
        assert runs.index_dir == tmp_path / "index"
        assert runs.index_bytes() > 0


def test_several_paths_and_a_forced_format(demo_runs: Path, tmp_path: Path) -> None:
    with rolloupe.open(
        [demo_runs / "other_formats/relax", str(demo_runs / "other_formats/verl_math")], format="generic"
    ) as runs:
        assert {run.format for run in runs} == {"generic"}
        assert all("generic" in repr(run) for run in runs)
    with pytest.raises(NotRecognised):
        rolloupe.open(tmp_path, format="relax")


def test_a_path_that_is_missing() -> None:
    with pytest.raises(UnreadablePath, match="does not exist"):
        rolloupe.open("/no/such/run")


def test_the_samples_of_a_step_are_read_whole_and_in_order(demo_runs: Path, demo_index: Path) -> None:
    with rolloupe.open(demo_runs / "other_formats/relax", index_dir=demo_index) as runs:
        found = list(runs.whole(1))
        assert [sample.key for sample in found] == [item.key for item in runs.samples(split="train", step=1)]
        assert found[3].turns == runs.sample(found[3].key).turns
        assert runs.metric_rows() == [] and list(runs.whole(99)) == []


def test_the_documentation_names_every_method_and_public_name() -> None:
    text = (ROOT / "docs/python.md").read_text(encoding="utf-8")
    for name in dir(Run):
        assert name.startswith("_") or re.search(rf"^\|.*`{name}[(`].*\|", text, re.MULTILINE), name
    for name in set(rolloupe.__all__) - {"Problem", "Sample", "SampleItem", "SampleKey", "__version__"}:
        assert re.search(rf"\b{name}\b", text), name


def test_the_examples_of_the_documentation_run(demo_runs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = (ROOT / "docs/python.md").read_text(encoding="utf-8")
    names: dict[str, object] = {}
    for block in re.findall(r"```python\n(.*?)```", text, re.DOTALL):
        exec(block.replace("RUN_DIR", str(demo_runs / "other_formats/relax")), names)
    printed = capsys.readouterr().out
    assert "relax relax" in printed and "assistant" in printed and "does not exist" in printed
    assert isinstance(names["run"], Run)


def test_the_most_extreme_tokens_of_a_step(demo_runs: Path) -> None:
    with rolloupe.open(demo_runs / "other_formats/rl_logging_board" / "gen_train_toy") as runs:
        lowest = runs.worst_tokens("logprobs", step=1, highest=False).tokens[0]
        (series,) = [one for one in runs.sample(lowest.key).series if one.name == "logprobs"]
        assert series.values[lowest.token] == lowest.value == min(series.values)
        assert runs.series("logprobs").arrow()["stats_count"].to_pylist() == [477, 492, 495]
        (last,) = runs.token_stats("kl", step=2, percentiles=(50,)).steps
        assert last.percentiles[50.0] <= last.max and runs.token_positions("kl", step=2).curves[0].tokens[0] == 16
        assert runs.words(limit=3).words[0].kl > 0
        worst = runs.worst_tokens("kl", limit=3)
        columns = worst.arrow().to_pydict()
        assert columns["value"] == [one.value for one in worst.tokens] and len(columns["value"]) == 3
        assert columns["id"] == [str(one.key) for one in worst.tokens]
        for ask in (runs.worst_tokens, runs.token_stats, runs.token_positions):
            with pytest.raises(BadQuery, match=r"no token series 'kl_k9'.*; it has: .*kl"):
                ask("kl_k9")
        with pytest.raises(NotFound, match="no samples at step 99"):
            runs.update(99, "ppo")
        changes = runs.word_changes(0, 2, by="share", limit=4)
        assert [one.change for one in changes.gained] == sorted((one.change for one in changes.gained), reverse=True)
        assert runs.masked_shares().coverage.samples == 48


def test_what_a_run_holds_beside_its_samples() -> None:
    data = ROOT / "tests/data/tinker"
    with rolloupe.open(data / "flat_run") as runs:
        run = runs[0]
        points = run.metrics("env/all/reward/total")
        assert [point.step for point in points] == [0, 1, 2, 3]
        assert points.arrow()["value"].to_pylist() == [point.value for point in points]
        assert "optim/lr" in run.metric_names() and run.config["num_groups_to_log"] == 4
        assert [one.name for one in run.checkpoints][-1] == "final" and run.code_diff().startswith("### repo")
        assert run.logtree(0, "eval/test").title == "Running evaluation test 0"
        assert all(one.turns for one in run.conversations(0, "eval/test"))
        everything = list(run.conversations())
        assert {(one.split, one.step) for one in everything} <= {*run.logtrees()} and all(
            one.title for one in everything
        )
        assert [one for one in everything if one.split == "eval/test" and not one.sample] == run.conversations(
            0, "eval/test"
        )
        shown = [one for one in everything if one.sample]
        assert shown and all(run.has(one.sample) for one in shown)
        assert list(run.conversations(split="eval")) == everything and not list(run.conversations(split="train"))
        with pytest.raises(BadQuery, match="there are: "):
            run.metrics("nothing")
        with pytest.raises(NotFound, match=r"nothing was logged for step 99 .* there are reports of "):
            run.logtree(99)


def test_a_run_that_holds_nothing_beside_its_samples(one: Runs) -> None:
    run = one[0]
    assert (run.metric_names(), run.config, run.checkpoints, run.code_diff()) == ([], {}, [], "")
    assert run.conversations(0) == []


def test_the_same_prompt_is_known_at_other_steps(tmp_path: Path) -> None:
    relax_run(tmp_path / "run")
    with rolloupe.open(tmp_path / "run", index_dir=tmp_path / "index") as runs:
        found = runs.same_prompt("train/1/0/2")
        assert [(one.key.step, one.samples, one.reward.mean) for one in found] == [(n, 4, 0.5) for n in range(3)]
        ends = [(runs.sample(key).row.reward for key in (one.best, one.worst) if key) for one in found]
        assert [tuple(rewards) for rewards in ends] == [(1.0, 0.0)] * 3
