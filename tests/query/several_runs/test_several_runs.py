"""Several runs side by side: configurations, prompts and metrics, each against plain counting."""

import json
import math
import operator
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import rolloupe
from rolloupe import Recorder, query
from rolloupe.errors import BadQuery, NotFound
from rolloupe.index import Library, OpenRun
from rolloupe.query import CurveOptions, CurveQuery, prompts
from rolloupe.query.engine import database
from rolloupe.query.prompts import prompt_samples
from rolloupe.questions import PromptSampleQuery
from rolloupe.record.folder import own_launches
from tests.index.support import opened
from tests.server.support import BEARER, WRITE, ask, get, served
from tests.thoroughness import each

LONG = "a" * 5000
CONFIGS: list[dict[str, Any]] = [
    {"optim": {"lr": 1e-5}, "seed": 1, "notes": f"{LONG}x", "same": [1, 2]},
    {"optim": {"lr": 1e-6}, "seed": 1, "notes": f"{LONG}y", "same": [1, 2], "<b>": "\u202eliv"},
    {},
]
REWARDS = [0.0, 1.0, math.nan, 0.5, math.inf, 2.0, -1.0]


def drawn(run: int, step: int) -> list[dict[str, Any]]:
    """Samples of prompts that runs share in part; the third run has the second step alone."""
    if run == 2 and step == 0:
        return []
    prompts = range(run, 8, run + 1)
    return [
        {
            "prompt": f"Question {prompt} of {step}", "response": f"Answer {number}", "group": prompt, "index": number,
            "reward": REWARDS[(number + run + step) % len(REWARDS)], "discarded": "late" if number % 5 == 0 else "",
        }
        for number, prompt in enumerate(each for each in prompts for _ in range(run + 2))
    ]  # fmt: skip


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Library]:
    folder = tmp_path_factory.mktemp("several")
    for number, config in enumerate(CONFIGS):
        with Recorder(folder / f"runs/run{number}", config=config, code=None) as run:
            for step in range(2):
                run.samples(drawn(number, step), step=step)
    with opened(folder / "runs", folder / "index") as library:
        yield library


def counted(step: int) -> dict[str, list[list[dict[str, Any]]]]:
    """The samples of each prompt at a step, by run, of those that several runs have."""
    samples: dict[str, list[list[dict[str, Any]]]] = defaultdict(lambda: [[], [], []])
    for run in range(3):
        for one in drawn(run, step):
            samples[one["prompt"]][run].append(one)
    return {prompt: by_run for prompt, by_run in samples.items() if sum(map(bool, by_run)) > 1}


def mean(samples: list[dict[str, Any]]) -> Any:
    finite = [one["reward"] for one in samples if math.isfinite(one["reward"])]
    return pytest.approx(sum(finite) / len(finite)) if finite else None


@each("step", [0, 1, 2])
def test_prompts_of_several_runs_are_those_of_plain_counting(library: Library, step: int) -> None:
    found = query.shared_prompts(library.runs, "train", step, limit=1000)
    expected = counted(step) if step < 2 else {}
    assert found.total == len(found.prompts) == len(expected)
    assert found.prompts_of == [len({one["prompt"] for one in drawn(run, step)}) if step < 2 else 0 for run in range(3)]
    for one in found.prompts:
        samples = expected[one.prompt]
        assert one.samples == list(map(len, samples)) and one.reward_mean == list(map(mean, samples))
        assert one.discarded == [sum(sample["discarded"] != "" for sample in each) for each in samples]
    distances = [
        max(means) - min(means) if len(means := [m for m in one.reward_mean if m is not None]) > 1 else -1
        for one in found.prompts
    ]
    assert distances == sorted(distances, reverse=True)
    pairs = [(one.reward_mean[0], one.reward_mean[-1]) for one in found.prompts]
    changes = [last - first for first, last in pairs if first is not None and last is not None]
    gain, lose, stay = (sum(change(one, 0) for one in changes) for change in (operator.gt, operator.lt, operator.eq))
    first_page = query.shared_prompts(library.runs, "train", step, limit=1)
    for reply in (found, first_page):  # of all prompts, whichever a page shows
        assert (reply.gain, reply.lose, reply.stay) == (gain, lose, stay)


def test_a_page_of_prompts_is_a_part_of_all_in_either_order(library: Library) -> None:
    for sort in query.PROMPT_SORTS:
        every = query.shared_prompts(library.runs, "train", 1, sort=sort).prompts
        pages = [query.shared_prompts(library.runs, "train", 1, sort=sort, offset=at, limit=2) for at in range(0, 8, 2)]
        assert [one for page in pages for one in page.prompts] == every
    in_order = query.shared_prompts(library.runs, "train", 1, sort="order").prompts
    assert [one.prompt for one in in_order] == sorted(counted(1))  # as the first run has them
    with pytest.raises(BadQuery, match="sort="):
        query.shared_prompts(library.runs, "train", 1, sort="prompt")


def test_each_run_answers_one_statement_about_a_step_and_the_next_page_none(
    library: Library, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []
    prompts.kept_counts.clear()
    for name in ("table", "ask"):
        own = getattr(database, name)

        def heard(run: OpenRun, question: Any, own: Any = own) -> Any:
            asked.append(run.id)
            return own(run, question)

        monkeypatch.setattr(database, name, heard)
    query.shared_prompts(library.runs, "train", 1, limit=1)
    assert len(asked) == len(library.runs) + 1  # and one more for the texts of the page
    asked.clear()
    query.shared_prompts(library.runs, "train", 1, offset=1, limit=1)
    assert len(asked) == 1


def test_the_samples_of_a_prompt_open_in_their_own_runs(library: Library) -> None:
    for prompt in query.shared_prompts(library.runs, "train", 1).prompts:
        for run, many in zip(library.runs, prompt.samples, strict=True):
            if not many:
                with pytest.raises(NotFound, match="no prompt"):
                    prompt_samples(run, PromptSampleQuery(split="train", step=1, prompt=prompt.name))
                continue
            found = prompt_samples(run, PromptSampleQuery(split="train", step=1, prompt=prompt.name)).samples
            own = [one for one in drawn(int(run.id[-1]), 1) if one["prompt"] == prompt.prompt]
            assert [str(one.reward) for one in found] == [str(one["reward"]) for one in own]
            assert [one.preview for one in found] == [one["response"] for one in own]
            assert all(str(query.sample(run, query.sample_key(one.id)).key) == one.id for one in found)
    for wrong in ("", "zz", "0" * 16, "z" * 16):
        with pytest.raises(NotFound):
            prompt_samples(library.runs[0], PromptSampleQuery(split="train", step=1, prompt=wrong))


def test_evaluations_together_share_prompts(tmp_path: Path) -> None:
    for name in ("a", "b"):
        with Recorder(tmp_path / "runs" / name, code=None) as run:
            for split in ("eval/x", "eval/y"):
                run.sample(step=3, group="0", index=0, prompt=split, response="!", reward=1.0, split=split)
    with opened(tmp_path / "runs", tmp_path / "index") as library:
        assert {one.prompt for one in query.shared_prompts(library.runs, "eval", 3).prompts} == {"eval/x", "eval/y"}
        (one,) = query.shared_prompts(library.runs, "eval/x", 3).prompts
        asked = PromptSampleQuery(split="eval", step=3, prompt=one.name)
        (found,) = prompt_samples(library.runs[1], asked).samples
        assert query.sample_key(found.id).split == "eval/x"


def test_what_differs_in_configurations_comes_first_and_whole_values_are_compared(library: Library) -> None:
    table = query.config_table(library.runs)
    assert {row.key for row in table.rows} == {"optim.lr", "notes", "<b>"} and table.rows[0].key == "optim.lr"
    assert (table.keys, table.differing, table.total, table.without, table.left) == (5, 3, 3, ["run2"], 0)
    by_key = {row.key: row.values for row in table.rows}
    assert by_key["notes"] == [f"{LONG}x", f"{LONG}y", None] and by_key["<b>"] == [None, "\u202eliv", None]
    every = query.config_table(library.runs, all_keys=True)
    assert [row.key for row in every.rows if not row.differs] == ["seed", "same"] and every.rows[:3] == table.rows
    pages = [query.config_table(library.runs, all_keys=True, offset=at, limit=2).rows for at in (0, 2, 4)]
    assert [row for page in pages for row in page] == every.rows
    assert [row.key for row in query.config_table(library.runs, all_keys=True, find=" SE").rows] == ["seed"]
    assert [row.key for row in query.config_table(library.runs, find="1e-06").rows] == ["optim.lr"]
    assert query.config_table(library.runs, max_s=-1).left == 3


def test_python_compares_configurations_as_a_table(library: Library) -> None:
    folder = Path(library.runs[0].info.root).parent
    with rolloupe.open(folder, index_dir=library.index_dir) as runs:
        table = rolloupe.compare(runs).arrow()
        assert table.column_names == ["key", "differs", "run0", "run1", "run2"]
        assert table.slice(0, 1).to_pylist() == [
            {"key": "optim.lr", "differs": True, "run0": "1e-05", "run1": "1e-06", "run2": None}
        ]
        assert len(rolloupe.compare(runs, all_keys=True)) == 5
        assert "&lt;b&gt;" in rolloupe.compare(runs[:2])._repr_html_()
        assert rolloupe.compare([runs[2]]).arrow().num_rows == 0
        with pytest.raises(BadQuery, match="share an id"):
            rolloupe.compare([runs[0], runs[0]])


def by_hand(run: OpenRun, curve: CurveQuery) -> list[float]:
    values = query.curve(run, curve).values
    return [value for value in values.tolist() if math.isfinite(value)]


@each("name", ["reward", "response_chars"])
def test_a_metric_of_each_run_is_that_of_its_curve(library: Library, name: str) -> None:
    curve = CurveQuery(kind="sample", name=name, options=CurveOptions(smooth=10))
    found, left = query.metric_values(library.runs, curve)
    assert left == 0
    for run in library.runs:
        values, one = by_hand(run, curve), found[run.id]
        assert (one.last, one.highest, one.lowest) == (values[-1], max(values), min(values))
        smooth = query.curve(run, curve).smooth
        assert smooth is not None and one.smooth == smooth[-1]
        assert query.curve(run, curve).steps[-1] == one.last_step
    lacking, _ = query.metric_values(library.runs, CurveQuery(kind="trainer", name="loss"))
    assert set(lacking.values()) == {query.MetricValues()}
    with pytest.raises(BadQuery):
        query.metric_values(library.runs, CurveQuery(kind="nothing"))


def test_a_question_that_runs_out_of_time_says_how_many_runs_are_left(library: Library) -> None:
    curve = CurveQuery(kind="sample", name="turns")
    found, left = query.metric_values(library.runs, curve, max_s=-1)
    assert (len(found), left) == (1, 2)
    assert set(found.items()) < set(query.metric_values(library.runs, curve)[0].items())
    runs_with, left = query.runs_catalogue(library.runs)
    assert left == 0 and query.runs_catalogue(library.runs, max_s=-1)[1] == 2
    counts = {(entry.query.kind, entry.query.name): count for entry, count in runs_with.items()}
    assert counts["sample", "reward"] == 3 and {entry.query.source for entry in runs_with} == {""}


def test_routes_of_several_runs_answer_what_the_queries_do(library: Library) -> None:
    app = served(library)
    reply = get(app, "/api/compare/configs?run=run1&run=run0&run=run1").json
    assert reply["runs"] == ["run1", "run0"] and reply["rows"][0]["values"] == ["1e-06", "1e-05"]
    notes = next(one for one in reply["rows"] if one["key"] == "notes")
    assert notes["cut"] == [0, 1] and {len(value) for value in notes["values"]} == {2000}
    reply = get(app, "/api/compare/prompts?run=run0&run=run1&run=run2&split=train&step=1&limit=1").json
    (one,) = reply["prompts"]
    own = get(app, f"/api/runs/run0/prompt-samples?split=train&step=1&prompt={one['name']}").json["samples"]
    assert len(own) == one["samples"][0] and own[0]["id"].startswith("train/1/")
    for target, status in (
        ("compare/configs", 400), ("compare/configs?run=none", 404), ("compare/prompts?run=run0&split=train", 400),
        ("compare/configs?" + "&".join(f"run={n}" for n in range(1000)), 404),
        ("compare/configs?" + "&".join(f"run={n}" for n in range(1001)), 400),
        ("runs/run0/prompt-samples?split=train&step=1&prompt=x", 404),
    ):  # fmt: skip
        assert get(app, f"/api/{target}").status == status
    assert get(app, "/api/catalogue").json["left"] == 0
    body = {"runs": ["run1"], "curve": {"kind": "sample", "name": "reward"}}
    reply = ask(app, "POST", "/api/run-metrics", BEARER | WRITE, json.dumps(body).encode()).json
    values = by_hand(library.run("run1"), CurveQuery(kind="sample", name="reward"))
    assert reply["left"] == 0 and [one["highest"] for one in reply["runs"]] == [max(values)]


def test_each_k_of_an_evaluation_is_a_curve_of_its_own(tmp_path: Path) -> None:
    for number in range(2):
        own_launches.clear()  # as another process would
        with Recorder(tmp_path / f"runs/run{number}", code=None) as run:
            tries = [
                {"prompt": "?", "response": "!", "group": "0", "index": n, "reward": float(n % 2)} for n in range(4)
            ]
            run.samples(tries, step=0, split="eval/m")
    with opened(tmp_path / "runs", tmp_path / "index") as library:
        runs_with, _ = query.runs_catalogue(library.runs)
    counts = runs_with.items()
    assert [(one.query.options.k, runs) for one, runs in counts if one.query.stat == "pass_at"] == [(2, 2), (4, 2)]
