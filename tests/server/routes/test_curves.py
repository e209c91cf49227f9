"""`POST /api/curves`: the same numbers as the queries, bounds, and what hostile bodies get."""

import csv
import io
import json
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from rolloupe import Recorder, insight
from rolloupe.index import OpenRun
from rolloupe.query.run import trainer_files
from rolloupe.record.folder import own_launches
from rolloupe.server.app import App
from rolloupe.server.routes import curves
from tests.server.support import BEARER, WRITE, Answer, ask, get, opened, relax_run, served
from tests.thoroughness import each


def post(app: App, body: Any) -> Answer:
    """Ask for curves."""
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    return ask(app, "POST", "/api/curves", BEARER | WRITE, data)


def run_id(app: App) -> str:
    (run,) = get(app, "/api/runs").json["runs"]
    name: str = run["id"]
    return name


def curve(kind: str, name: str, **more: Any) -> dict[str, Any]:
    return {"kind": kind, "name": name, "source": "train", **more}


def test_many_curves_in_one_answer(app: App) -> None:
    asked = [
        curve("sample", "reward", options={"spread": True}),
        curve("sample", "rewrad"),
        curve("share", "completed"),
    ]
    reply = post(app, {"runs": [run_id(app)], "curves": asked}).json
    reward, unknown, share = reply["curves"]
    assert [one["curve"] for one in reply["curves"]] == [0, 1, 2]
    assert (reward["steps"], reward["values"], reward["spread"], reward["points"]) == (
        [0, 1, 2],
        [0.5] * 3,
        [0.5] * 3,
        3,
    )
    assert reward["error"] == "" and "did you mean 'reward'" in unknown["error"] and unknown["steps"] == []
    assert share["values"] == [1.0] * 3 and share["smooth"] is None
    assert list(reply["versions"]) == [run_id(app)]


def test_several_runs_and_numbers_that_json_cannot_carry(tmp_path: Path) -> None:
    for name in ("a", "b"):
        folder = tmp_path / "runs" / name
        folder.mkdir(parents=True)
        rows = [{"step": 0, "loss": 1.0}, {"step": 1, "loss": float("nan")}, {"step": 2, "loss": float("inf")}]
        (folder / "metrics.jsonl").write_text(
            "".join(json.dumps(one) + "\n" for one in rows[: 3 if name == "a" else 1])
        )
        (folder / "config.json").write_text("{}")
        relax_run(folder / "samples", steps=1)
    with opened(tmp_path / "runs", tmp_path / "index") as library:
        app = served(library)
        runs = [run.id for run in library.runs if run.info.format.startswith("tinker")]
        assert len(runs) == 2
        asked = {"runs": runs, "curves": [{"kind": "trainer", "name": "loss"}], "points": 5}
        first, second = post(app, asked).json["curves"]
        assert (first["run"], first["values"]) == (runs[0], [1.0, "NaN", "Infinity"])
        assert (second["run"], second["values"]) == (runs[1], [1.0])
        versions = post(app, asked).json["versions"]
        with (tmp_path / "runs/b/metrics.jsonl").open("a") as file:
            file.write('{"step": 7, "loss": 4.0}\n')
        again = post(app, asked).json
        assert again["curves"][1]["steps"] == [0, 7]
        assert (again["versions"][runs[0]], again["versions"][runs[1]] != versions[runs[1]]) == (
            versions[runs[0]],
            True,
        )


def test_one_request_for_many_curves_looks_at_the_trainers_files_of_each_run_once(
    app: App, monkeypatch: pytest.MonkeyPatch
) -> None:
    looks: list[str] = []
    version = trainer_files.current_version

    def look(run: OpenRun) -> str:
        looks.append(run.id)
        return version(run)

    monkeypatch.setattr(trainer_files, "current_version", look)
    asked = {"runs": [run_id(app)], "curves": [curve("trainer", name, source="") for name in ("loss", "kl", "lr")]}
    assert len(post(app, asked).json["curves"]) == 3
    assert looks == [run_id(app)]
    post(app, asked)
    assert len(looks) == 2  # the next request looks again


ONE: list[dict[str, Any]] = [{"kind": "sample", "name": "reward"}]


@each(
    ("change", "message"),
    [
        ({"curves": []}, "at least one run and one curve"),
        ({"runs": []}, "at least one run and one curve"),
        ({"curves": ONE * 513}, "too many"),
        ({"points": 20_001}, "points is 20001"),
        ({"points": 4}, "points is 4"),
        ({"points": -1}, "points is -1"),
        ({"points": 10**30}, "points is 1000"),
        ({"points": 20_000, "curves": ONE * 100}, "too many"),
        ({"curves": [{"kind": "sample", "name": 7}]}, "`$.curves[0].name`"),
        ({"curves": [{"kind": "sample", "colour": "red"}]}, "colour"),
        ({"curves": [{"kind": "eval", "options": {"threshold": 1e999}}]}, "the body is not a CurvesRequest"),
        ({"curves": [{"kind": "sample", "options": {"last_step": 10**30}}]}, "last_step is 1000"),
        ({"curves": [{"kind": "sample", "x": {"kind": "sample", "colour": "red"}}]}, "unknown field `colour`"),
        ({"step_min": "one"}, "step_min"),
        ({"step_max": 10**30}, "step_max is 1000"),
    ],
)
def test_what_cannot_be_answered_says_why(app: App, change: dict[str, Any], message: str) -> None:
    body = json.dumps({"runs": [run_id(app)], "curves": ONE} | change).replace("Infinity", "1e999").encode()
    reply = post(app, body)
    assert reply.status == 400 and message in reply.json["error"], reply.body


WRONG: list[tuple[dict[str, Any], str]] = [
    ({"kind": "nothing"}, "no kind of curve 'nothing'"),
    ({"stat": "mode"}, "no statistic 'mode'"),
    ({"options": {"smooth": -3}}, "smooth is -3"),
    ({"kind": "eval", "options": {"k": 0}}, "k is 0"),
    ({"x": {"kind": "odd"}}, "no kind of curve 'odd'"),
]


def test_a_chart_that_nobody_can_draw_leaves_the_others(app: App) -> None:
    """As a layout may hold one that a person loaded from a file, or got with a link."""
    unread_filter = ONE[0] | {"options": {"where": "reward ="}}
    asked = {"runs": [run_id(app)], "curves": [*ONE, *(ONE[0] | wrong for wrong, _ in WRONG), unread_filter]}
    good, *bad, unread = post(app, asked).json["curves"]
    assert "cannot read the filter: at character 9" in unread["error"]
    assert good["values"] == [0.5] * 3 and good["error"] == ""
    for answer, (wrong, message) in zip(bad, WRONG, strict=True):
        assert message in answer["error"] and answer["steps"] == []
        file = get(app, f"/api/curve.csv?ask={quote(json.dumps(asked | {'curves': [*ONE, ONE[0] | wrong]}))}")
        assert file.status == 400 and message in file.json["error"]


@each("body", [b"", b"[]", b"{", b"\xff\xfe", b"[" * 100_000, b'{"runs": 1}', b'"' + b"x" * 1000])
def test_a_body_that_is_none(app: App, body: bytes) -> None:
    assert post(app, body).status == 400


def test_a_run_that_is_not_there_and_a_request_that_a_page_could_forge(app: App) -> None:
    assert post(app, {"runs": ["nowhere"], "curves": ONE}).status == 404
    body = json.dumps({"runs": [run_id(app)], "curves": ONE}).encode()
    assert ask(app, "POST", "/api/curves", {"content-type": "text/plain", "cookie": "x"}, body).status in (401, 403)
    assert ask(app, "POST", "/api/curves", BEARER | WRITE, b" " * 300_000).status == 413


def file_of(app: App, asked: dict[str, Any]) -> list[dict[str, str]]:
    """The rows of a curve's file."""
    reply = get(app, f"/api/curve.csv?ask={quote(json.dumps(asked))}")
    assert reply.status == 200 and reply.headers["content-disposition"].startswith("attachment"), reply.body
    return list(csv.DictReader(io.StringIO(reply.body.decode())))


def test_a_curve_as_csv_has_all_points_of_the_range(tmp_path: Path) -> None:
    for name in ("a", "b"):
        with Recorder(tmp_path / "runs" / name, code=None) as recorder:
            for step in range(40):
                recorder.sample(step=step, prompt="p", response="r", reward=step / 7)
                if name == "a":
                    recorder.metrics(step, {"actor/loss": float("nan") if step == 4 else 1 / (step + 1)})
    with opened(tmp_path / "runs", tmp_path / "index") as library:
        app = served(library)
        a, b = sorted(run.id for run in library.runs)
        loss = {"kind": "trainer", "name": "actor/loss", "options": {"smooth": 10}}
        rows = file_of(app, {"runs": [a], "curves": [loss], "points": 5, "step_min": 3, "step_max": 30})
        assert list(rows[0]) == ["step", "value", "ema"] and [int(row["step"]) for row in rows] == list(range(3, 31))
        assert rows[1]["value"] == "NaN" and float(rows[4]["value"]) == 1 / 8
        drawn = post(app, {"runs": [a], "curves": [loss], "step_min": 3, "step_max": 30}).json["curves"][0]
        assert [row["ema"] for row in rows] == [str(one) for one in drawn["smooth"]]
        both = file_of(app, {"runs": [a, b], "curves": [curve("sample", "reward", options={"spread": True})]})
        assert list(both[0]) == ["run", "step", "value", "std"] and len(both) == 80
        assert [float(row["value"]) for row in both if row["run"] == b] == [step / 7 for step in range(40)]
        assert {row["run"] for row in file_of(app, {"runs": [a, b], "curves": [loss]})} == {a}
        by_reward = [{**one, "x": {"kind": "sample", "name": "reward"}} for one in (loss, curve("share", "completed"))]
        rows = file_of(app, {"runs": [a], "curves": by_reward})
        assert list(rows[0]) == ["step", "reward", "actor/loss", "actor/loss ema", "completed"] and len(rows) == 40
        assert [float(row["reward"]) for row in rows] == [step / 7 for step in range(40)]
        (timed,) = file_of(app, {"runs": [a], "curves": [{**loss, "x": {"kind": "elapsed"}}], "step_max": 0})
        assert timed["elapsed_s"] == "0.0"
        for asked, message in (
            ({"runs": [b], "curves": [loss]}, "no trainer metric"),
            ({"runs": [a], "curves": [loss] * 33}, "at most 32 curves; 33"),
            ({"runs": [], "curves": [loss]}, "at least one run"),
            ([], "not a CurvesRequest"),
        ):
            reply = get(app, f"/api/curve.csv?ask={quote(json.dumps(asked))}")
            assert reply.status == 400 and message in reply.json["error"], reply.body
        assert "not a CurvesRequest" in get(app, "/api/curve.csv").json["error"]


def test_the_columns_of_a_curve_as_csv_say_what_they_are(tmp_path: Path) -> None:
    for seed in range(2):
        own_launches.clear()  # as another process would
        with Recorder(tmp_path / f"runs/{seed}", code=None, config={"lr": 1}) as recorder:
            for number in range(4):
                sample: dict[str, Any] = {
                    "step": 0,
                    "group": "0",
                    "index": number,
                    "prompt": "p",
                    "response": "r",
                    "reward": number % 2,
                }
                recorder.sample(**sample)
                recorder.sample(split="eval/m", **sample)
    with opened(tmp_path / "runs", tmp_path / "index") as library:
        app, runs = served(library), [run.id for run in library.runs]
        passes = [{**curve("eval", "", stat="pass_at", options={"k": k}), "source": "eval/m"} for k in (2, 4)]
        rewards = [curve("sample", "reward"), curve("sample", "reward", stat="p95")]
        (row, *_) = file_of(app, {"runs": runs[:1], "curves": [*rewards, *passes]})
        assert [*row] == ["step", "reward", "reward p95", "eval/m pass_at 2", "eval/m pass_at 4"]
        band = curve("sample", "reward", options={"band": "p5-p95"})
        (row,) = file_of(app, {"runs": runs, "curves": [band], "group_by": "lr"})
        assert [*row] == ["lr", "step", "value", "std", "min", "max"] and row["min"] == row["max"] == "0.5"


def test_a_file_with_other_letters_than_ascii_begins_with_a_mark_for_spreadsheets(tmp_path: Path) -> None:
    with Recorder(tmp_path / "run", code=None) as recorder:
        recorder.metrics(0, {"größe": 1.0, "kl": 2.0})
    with opened(tmp_path / "run", tmp_path / "index") as library:
        app, runs = served(library), [library.runs[0].id]
        for names, start in ((("größe", "kl"), "\ufeffstep,größe"), (("kl",), "step,value")):
            asked = {"runs": runs, "curves": [curve("trainer", name) for name in names]}
            reply = get(app, f"/api/curve.csv?ask={quote(json.dumps(asked))}")
            assert reply.body.decode().startswith(start)


def test_alarms_are_looked_for_once_while_a_run_stays_as_it_is(app: App, monkeypatch: pytest.MonkeyPatch) -> None:
    address = f"/api/runs/{run_id(app)}/alarms"
    first = get(app, address).json
    monkeypatch.setattr(insight, "check", None)
    assert get(app, address).json == first


def test_every_curve_of_the_catalogue_is_answered_as_it_is_named_there(app: App) -> None:
    run = run_id(app)
    reply = get(app, f"/api/runs/{run}/catalogue?split=train").json
    asked = [{name: one[name] for name in ("kind", "name", "source", "stat")} for one in reply["entries"]]
    assert {"sample", "share"} <= {one["kind"] for one in asked} and reply["left_out"] == 0
    assert asked[0]["name"] == "reward" and reply["entries"][0]["section"] == "Reward"
    found = post(app, {"runs": [run], "curves": asked}).json["curves"]
    assert [one["error"] for one in found] == [""] * len(asked) and all(one["points"] for one in found)


def test_alarms_name_the_samples_that_show_them_and_checkpoints_and_resumes_their_steps(tmp_path: Path) -> None:
    with Recorder(tmp_path / "run", code=None) as recorder:
        for step in range(12):
            recorder.sample(step=step, prompt="p", response="r", reward=1.0)
            recorder.metrics(step, {"loss": float("nan") if step == 4 else 0.5})
        for name, step in (("two", 9), ("one", 3)):
            recorder.checkpoint(name, step=step, paths={})
    own_launches.clear()  # as another process would
    with Recorder(tmp_path / "run", code=None) as recorder:
        for step in range(10, 14):
            recorder.sample(step=step, prompt="p", response="r", reward=1.0)
    with opened(tmp_path / "run", tmp_path / "index") as library:
        app = served(library)
        reply = get(app, f"/api/runs/{run_id(app)}/alarms").json
        marks = get(app, f"/api/runs/{run_id(app)}/landmarks").json
    assert marks["saved"] == [{"step": 3, "name": "one"}, {"step": 9, "name": "two"}] and marks["resumed"] == [
        {"step": 10, "launch": 2, "again": 2}
    ]
    (alarm,) = reply["alarms"]
    assert (alarm["rule"], alarm["severity"], alarm["first_step"], alarm["last_step"]) == ("not_finite", "error", 4, 4)
    assert reply["rules"] > 10 and alarm["words"]


def test_replies_say_how_many_alarms_and_marks_they_leave_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with Recorder(tmp_path / "run", code=None) as recorder:
        for step in range(40):
            recorder.sample(step=step, prompt="p", response="r", reward=1.0)
            recorder.metrics(step, {"loss": float("nan") if step == 4 else 0.5, "kl": 9.0 if step in (20, 30) else 0.1})
        for step in range(5):
            recorder.checkpoint(str(step), step=step, paths={})
    monkeypatch.setattr(curves, "MAX_ALARMS", 1)
    monkeypatch.setattr(trainer_files, "MAX_LANDMARKS", 2)
    with opened(tmp_path / "run", tmp_path / "index") as library:
        app = served(library)
        alarms = get(app, f"/api/runs/{run_id(app)}/alarms").json
        marks = get(app, f"/api/runs/{run_id(app)}/landmarks").json
    assert [one["rule"] for one in alarms["alarms"]] == ["not_finite"] and alarms["left_out"] == 2
    assert [one["step"] for one in marks["saved"]] == [3, 4] and marks["left_out"] == 3


def test_distributions_over_the_steps_and_at_one(app: App) -> None:
    of = f"/api/runs/{run_id(app)}"
    found = get(app, f"{of}/distribution?name=reward&columns=2").json
    assert (found["first_steps"], found["last_steps"]) == ([0, 2], [1, 2])
    bins = dict(zip(found["edges"], found["counts"][1], strict=False))
    assert bins[0.0] == bins[1.0] == sum(found["counts"][1]) / 2
    step = get(app, f"{of}/step-values?split=train&step=1&names=reward&names=response_tokens").json
    assert (step["before"], step["total"], len(step["samples"])) == (0, 8, 8)
    reward, tokens = step["metrics"]
    assert reward["stats"]["mean"] == reward["before"]["mean"] == 0.5 and sum(tokens["counts"]) == 8
    assert [sample["values"][0] for sample in step["samples"]] == [0.0, 1.0] * 4
    for wrong, status in (
        ("distribution?name=rewrad", 400), ("distribution", 400), ("distribution?name=reward&columns=0", 400),
        ("step-values?split=train&step=9&names=reward", 404), ("step-values?split=train&step=1", 400),
    ):  # fmt: skip
        assert get(app, f"{of}/{wrong}").status == status
