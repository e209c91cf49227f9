"""A run that somebody may not see is, for that person, not there."""

import asyncio
import json
import re
import time
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from rolloupe.errors import BadQuery
from rolloupe.index import Library, RunSearch
from rolloupe.model import Reading
from rolloupe.server import access as access_module
from rolloupe.server import app as application
from rolloupe.server import context
from rolloupe.server.access import AccessFile, Role, parsed
from rolloupe.server.app import POST, App
from rolloupe.server.endpoints import question_routes
from rolloupe.server.people import Person, checked_name, still_sees
from rolloupe.server.routes.search import while_seen
from rolloupe.server.routes.state import sees
from rolloupe.server.settings import RunPaths, TeamOptions
from rolloupe.server.team import serve
from rolloupe.state.records import Owner
from rolloupe.storage import both_places
from tests.server.support import relax_run
from tests.server.team.conftest import Runs
from tests.server.team.support import access_file, ask_as, get_as, note_as, notes_of, team_app
from tests.thoroughness import each

GET = (*application.GET, *question_routes())

SAMPLE = (
    "split=train&step=0&id=train/0/0/0&name=reward&to=jsonl&q=x&text=x&prompt=x&file=x&start=0&stop=1&run=second&at=0.0"
    "&series=logprobs&token=0"
)
CURVE = {"kind": "samples", "name": "reward", "split": "train", "stat": "mean"}


def ids(app: App, name: str) -> set[str]:
    return {run["id"] for run in get_as(app, name, "/api/runs").json["runs"]}


def test_each_sees_the_runs_of_the_file(app: App) -> None:
    assert ids(app, "ada") == ids(app, "root") == {"first", "second"}
    assert ids(app, "bob") == ids(app, "rita") == {"first"}


def test_no_route_of_a_run_answers_about_a_hidden_one(app: App) -> None:
    walked = 0
    for path, _ in GET:
        if "{run}" in path:
            target = re.sub(r"{run}", "second", path)
            hidden = get_as(app, "bob", f"{target}?{SAMPLE}")
            missing = get_as(app, "bob", f"{re.sub('{run}', 'third', path)}?{SAMPLE}")
            assert hidden.status == missing.status == 404, path
            assert hidden.json["error"] == missing.json["error"].replace("third", "second")
            walked += 1
    assert walked > 30


def test_a_warm_cache_answers_nobody_who_may_not_see(app: App) -> None:
    for target in ("/api/runs/second/steps?split=train", "/api/runs/second/samples?split=train&step=0"):
        answer = get_as(app, "ada", target)
        assert answer.status == 200
        assert get_as(app, "bob", target).status == 404


def test_no_route_over_several_runs_answers_about_a_hidden_one(app: App) -> None:
    for path, _ in GET:
        if "{run}" not in path and path != "/api/events":
            answer = get_as(app, "bob", f"{path}?{SAMPLE}&run=first")
            assert answer.status == 404 or b"second" not in answer.body, path
    curve = {"kind": "samples", "name": "reward", "split": "train", "stat": "mean"}
    for body in (
        {"runs": ["second"], "curves": [curve]},
        {"runs": ["second"], "curve": curve},
        {"runs": ["second"], "search": {"text": "Answer"}, "tab": "t"},
        {"kind": "run", "run": "second", "name": "", "seen": 0, "run_mark": {"name": "x"}},
    ):
        for path, _, _ in POST:
            answer = ask_as(app, "bob", "POST", path.replace("{run}", "second"), body)
            assert answer.status in (400, 403, 404) and b"Answer 1" not in answer.body, path
    assert ask_as(app, "bob", "POST", "/api/runs/second/sample/spans", {}).status == 404


def test_a_search_of_all_runs_leaves_hidden_ones_out(app: App) -> None:
    body = {"runs": [], "search": {"text": "Answer 1"}, "tab": "t"}
    seen = {name: ask_as(app, name, "POST", "/api/search", body).body for name in ("ada", "bob")}
    assert b'"second"' in seen["ada"] and b'"first"' in seen["bob"]
    assert b"second" not in seen["bob"]


def test_the_hits_of_a_search_are_its_persons_alone(app: App) -> None:
    body = {"runs": ["first"], "search": {"text": "Answer"}, "tab": "t"}
    found = ask_as(app, "ada", "POST", "/api/search", body).body.decode()
    match = re.search(r'"search":"(\w+)"', found)
    assert match is not None
    target = f"/api/search/hits?search={match[1]}"
    assert get_as(app, "ada", target).json["hits"]
    assert get_as(app, "bob", target).status == 404
    assert get_as(app, "root", target).status == 404


@pytest.mark.parametrize(
    "change", [('insiders = ["ada"]', "insiders = []"), ('ada = "writer"', 'ada = "none"'), ('bob = "writer"', "")]
)
def test_a_search_under_way_ends_when_its_runs_are_closed(
    runs: Runs, access: Path, monkeypatch: pytest.MonkeyPatch, change: tuple[str, str]
) -> None:
    monkeypatch.setattr(access_module, "LOOK_S", 0.0)
    ada = Person("ada", AccessFile(access))
    after, ended = access.read_text().replace(*change), list[bool]()

    def close() -> None:
        access.write_text(after)

    async def hits() -> AsyncGenerator[bytes]:
        try:
            yield b"before"
            close()
            yield b"after"
        finally:
            ended.append(True)

    async def read() -> list[bytes]:
        return [one async for one in while_seen(hits(), still_sees(ada, runs.library.runs))]

    stays = change[0].startswith("bob")
    assert asyncio.run(read()) == [b"before", b"after"][: 1 + stays] and ended


def test_hits_in_a_run_that_was_hidden_since_are_gone(app: App, access: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(access_module, "LOOK_S", 0.0)
    body = {"runs": ["second"], "search": {"text": "Answer"}, "tab": "t"}
    match = re.search(r'"search":"(\w+)"', ask_as(app, "ada", "POST", "/api/search", body).body.decode())
    assert match is not None
    assert get_as(app, "ada", f"/api/search/hits?search={match[1]}").status == 200
    access.write_text(access.read_text().replace('insiders = ["ada"]', "insiders = []"))
    assert get_as(app, "ada", f"/api/search/hits?search={match[1]}").status == 404


def test_marks_on_a_hidden_run_are_hidden_too(app: App) -> None:
    assert note_as(app, "ada", "for all", run="second", shared=True).status == 200
    assert note_as(app, "ada", "shared", shared=True).status == 200
    assert notes_of(app, "bob") == {("ada", "shared", True)}
    assert ("ada", "for all", True) in notes_of(app, "root")
    body = get_as(app, "bob", "/api/state").body
    assert b"second" not in body and b"for all" not in body
    owner = next(one["owner"] for one in get_as(app, "ada", "/api/state").json["owners"] if one["run"] == "second")
    change = {"kind": "sample", "name": "train/0/0/0", "seen": 0, "sample_mark": {"note": "x"}, "owner": owner}
    refused = ask_as(app, "bob", "POST", "/api/state", change)
    made_up = ask_as(app, "bob", "POST", "/api/state", change | {"owner": "feed"})
    assert refused.status == made_up.status == 400
    assert refused.json["error"].replace(owner, "feed") == made_up.json["error"]
    assert note_as(app, "bob", "x", run="second").status == 404


def test_a_link_to_a_hidden_run_leads_nobody_in(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    relax_run(secret / "run")
    (tmp_path / "open").mkdir()
    (tmp_path / "open" / "link").symlink_to(secret / "run")
    access = access_file(tmp_path, secret)
    for root in (tmp_path / "open" / "link", tmp_path / "open"):
        with Library([root], index_dir=tmp_path / "index") as library:
            app = team_app(library, access, state_dir=str(tmp_path / "state"))
            assert ids(app, "bob") == set()
            if library.runs:
                assert ids(app, "ada")
    (tmp_path / "way").symlink_to(secret)
    with Library([secret], index_dir=tmp_path / "index") as library:
        app = team_app(library, access_file(tmp_path, tmp_path / "way"), state_dir=str(tmp_path / "state"))
        assert ids(app, "bob") == set() and ids(app, "ada"), "a rule may name a link"


def test_a_link_within_an_open_run_leads_to_no_closed_one(tmp_path: Path) -> None:
    secret = relax_run(tmp_path / "runs" / "secret" / "run")
    train = relax_run(tmp_path / "runs" / "open" / "run")
    (train / "77.jsonl").symlink_to(secret / "0.jsonl")
    (train / "78.jsonl").symlink_to(train / "0.jsonl")
    access = access_file(tmp_path, tmp_path / "runs" / "secret")
    reading = Reading(links_stay_in_run=True)
    with Library([tmp_path / "runs"], index_dir=tmp_path / "index", search=RunSearch(reading)) as library:
        assert all(run.wait_all(30) for run in library.runs)
        app = team_app(library, access, state_dir=str(tmp_path / "state"))
        (run,) = ids(app, "bob")
        listed = get_as(app, "bob", f"/api/runs/{run}/samples?split=train&step_min=0&step_max=99").json
        assert listed["total"] == 32, "of the run's own link, and not of the other"


def test_a_server_with_rules_keeps_links_within_their_run(
    runs: Runs, access: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[Reading] = []
    monkeypatch.setattr(serve, "run", lambda _, __, place, **___: opened.append(place.reading))
    for file in (access, None):
        options = TeamOptions(listen=f"unix:{tmp_path}/socket", users_from="header:X-User", access=file)
        serve.serve_team(RunPaths((str(runs.folder),)), options)
    assert [one.links_stay_in_run for one in opened] == [True, False]


@each("path", ["s3://bucket/secret", "s3://bucket/secret/", "s3a://bucket/secret", "s3://bucket"])
def test_a_rule_closes_runs_in_an_object_store(path: str) -> None:
    access = parsed(f'everyone = "reader"\n[[runs]]\npath = "{path}"\npeople = ["ada"]\n'.encode())
    for place in ("/s3:/bucket/secret/run", "s3://bucket/secret/run"):
        assert access.may_see("ada", both_places(place)) and not access.may_see("bob", both_places(place))
    assert access.may_see("bob", both_places("/s3:/bucket-2/secret/run"))


@each("path", ["bucket/secret", "", "secret", "/data\\u0000"])
def test_a_rule_names_a_whole_path(path: str) -> None:
    with pytest.raises(BadQuery, match="must be a whole path"):
        parsed(f'[[runs]]\npath = "{path}"\npeople = []\n'.encode())


@pytest.mark.parametrize("path", ["/data/#secret/run", "/data/#secret/run.db#name", "/data/#secret/a#b"])
def test_marks_on_a_closed_run_that_is_not_open_stay_hidden_whatever_its_folder_is_called(
    tmp_path: Path, path: str
) -> None:
    owner = Owner("key", "relax", "run", path)
    people = access_file(tmp_path, Path("/data/#secret"))
    assert sees(Person("ada", AccessFile(people)), owner) and not sees(Person("bob", AccessFile(people)), owner)


def test_a_name_is_the_same_however_its_accents_are_written() -> None:
    names = ["zo\u00eb", "zoe\u0308"]
    text = 'everyone = "reader"\n[people]\n"{}" = "none"\n'
    for name in names:
        assert parsed(text.format(name).encode()).role(checked_name(names[1].encode())) is Role.NONE
    with pytest.raises(BadQuery, match="two spellings"):
        parsed((text.format(names[0]) + f'"{names[1]}" = "admin"\n').encode())


@each("name", ["ada ", "\u00a0ada", "a\u200bda", "a\u3164da", "\u212aim"])
def test_a_name_that_no_sender_can_have_is_refused_in_the_file_too(name: str) -> None:
    for text in ('[people]\n"{}" = "reader"\n', '[[runs]]\npath = "/d"\npeople = ["{}"]\n'):
        with pytest.raises(BadQuery, match="invisible character"):
            parsed(text.format(name).encode())


def test_a_folder_that_became_a_link_to_a_hidden_run_stays_closed(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    relax_run(secret / "run")
    relax_run(tmp_path / "open" / "run")
    access = access_file(tmp_path, secret)
    with Library([tmp_path / "open"], index_dir=tmp_path / "index") as library:
        app = team_app(library, access, state_dir=str(tmp_path / "state"))
        (run,) = ids(app, "bob")
        (tmp_path / "open" / "run").rename(tmp_path / "away")
        (tmp_path / "open" / "run").symlink_to(secret / "run")
        assert get_as(app, "bob", f"/api/runs/{run}/steps?split=train").status == 404


def test_notes_on_folders_are_for_those_who_may_see_them(runs: Runs, tmp_path: Path) -> None:
    (tmp_path / "secret" / "broken").mkdir(parents=True)
    (tmp_path / "secret" / "broken" / "x.jsonl").write_text("{}\n")
    relax_run(tmp_path / "secret" / "run")
    relax_run(tmp_path / "open" / "run")
    access = access_file(tmp_path, tmp_path / "secret")
    with Library([tmp_path], index_dir=tmp_path / "index") as library:
        app = team_app(library, access, state_dir=str(tmp_path / "state"))
        assert str(tmp_path / "secret").encode() not in get_as(app, "bob", "/api/runs").body
        assert runs.library is not library


def test_the_file_is_read_again_when_it_changes(app: App, access: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(access_module, "LOOK_S", 0.0)
    assert ids(app, "bob") == {"first"}
    text = access.read_text()
    access.write_text(text.replace('insiders = ["ada"]', 'insiders = ["ada", "bob"]'))
    assert ids(app, "bob") == {"first", "second"}
    access.write_text(text.replace('bob = "writer"', 'bob = "none"'))
    assert get_as(app, "bob", "/api/runs").status == 403


@pytest.mark.parametrize("harm", ["people = 3", "[[", "everyone = 'boss'", "unknown = 1", None])
def test_a_file_that_cannot_be_used_changes_nothing(
    app: App, access: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], harm: str | None
) -> None:
    monkeypatch.setattr(access_module, "LOOK_S", 0.0)
    text = access.read_text()
    access.unlink() if harm is None else access.write_text(harm)
    assert ids(app, "bob") == {"first"} and ids(app, "ada") == {"first", "second"}
    assert get_as(app, "stranger", "/api/runs").status == 403
    assert capsys.readouterr().err.count("is not used") == 1, "said once, not at each request"
    time.sleep(0.01)
    access.write_text(text.replace('bob = "writer"', 'bob = "none"'))
    assert get_as(app, "bob", "/api/runs").status == 403


BODIES: dict[str, list[Any]] = {
    "/api/curves": [{"runs": ["RUN"], "curves": [CURVE]}, {"runs": ["first", "RUN"], "curves": [CURVE]}],
    "/api/run-metrics": [{"runs": ["RUN"], "curve": CURVE}, {"runs": ["RUN", "first"], "curve": CURVE}],
    "/api/search": [
        {"runs": runs, "search": {"text": "Answer"}, "tab": "t"} for runs in (["RUN"], ["first", "RUN"], ["RUN", "RUN"])
    ],
    "/api/runs/{run}/sample/spans": [{"id": "train/0/0/0", "search": {"text": "Answer"}}, {}],
    "/api/cache/clear": [{}],
    "/api/state": [
        {"kind": kind, "run": "RUN", "name": name, "seen": seen, **value}
        for kind, name, value in (
            ("run", "", {"run_mark": {"name": "x"}}),
            ("sample", "train/0/0/0", {"sample_mark": {"note": "x"}}),
            ("sample", "train/9/9/9", {"sample_mark": {"note": "x", "excerpt": "y"}, "shared": True}),
            ("sample", "train/0/0/0", {"by": "ada"}),
            ("setting", "layout", {"setting": {}}),
            ("nothing", "", {}),
        )
        for seen in (0, 99)
    ],
}


def test_a_question_waits_for_a_hidden_run_as_for_one_that_is_not_there(
    runs: Runs, access: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    app, waited = team_app(runs.library, access, state_dir=str(tmp_path / "state")), []
    looks: list[bool] = []
    monkeypatch.setattr(Library, "is_searching", property(lambda _: bool(looks) and looks.pop()))
    for run in ("second", "absent"):
        looks[:] = [True] * 3
        began = time.monotonic()
        assert get_as(app, "bob", f"/api/runs/{run}/steps?split=train").status == 404
        waited.append(time.monotonic() - began)
    assert min(waited) > 2 * context.SEARCH_S


NAME_NO_RUN = {
    "/api/runs",
    "/api/configs",
    "/api/configs/find",
    "/api/catalogue",
    "/api/cache/stats",
    "/api/state",
    "/api/events",
}


def test_nothing_that_is_asked_tells_a_hidden_run_from_none(runs: Runs, access: Path, tmp_path: Path) -> None:
    """The same status, headers and body, but for the name itself: `second` is hidden, `absent` is not there."""
    app = team_app(runs.library, access, rate=1e6, state_dir=str(tmp_path / "state"))
    note_as(app, "ada", "for all", run="second", shared=True)
    queries = [
        SAMPLE.replace("run=second", "run=RUN"),
        "run=RUN&run=first&split=train&step=0",
        "",
        "split=x&step=-1&id=%2F",
    ]
    queries += [f"ask={quote(json.dumps(body))}" for body in BODIES["/api/curves"]]
    asked: list[tuple[str, str, Any]] = [
        ("GET", f"{path}?{query}", None) for path, _ in GET if path not in NAME_NO_RUN for query in queries
    ]
    asked += [("POST", path, body) for path, _, _ in POST for body in BODIES[path]]
    asked += [("HEAD", path, None) for path, _ in GET if "{run}" in path]
    for name in ("bob", "rita"):
        for method, target, body in asked:
            answers = []
            for run in ("second", "absent"):
                named = None if body is None else json.loads(json.dumps(body).replace("RUN", run))
                answer = ask_as(app, name, method, target.replace("{run}", run).replace("RUN", run), named)
                headers = {key: value for key, value in answer.headers.items() if key != "content-length"}
                answers.append((answer.status, headers, answer.body.replace(run.encode(), b"RUN")))
            assert told(answers[0]) == told(answers[1]), (name, method, target, body)


def told(answer: tuple[int, dict[str, str], bytes]) -> tuple[int, dict[str, str], bytes]:
    """An answer without what differs between any two."""
    status, headers, body = answer
    return status, headers, re.sub(rb'"(version|changed_s|hits|misses|entries|memory_bytes)":[\d.]+', b"", body)


def seen_by_bob(folder: Path, hidden: list[str]) -> list[tuple[str, str]]:
    """The ids and the names of the runs that bob sees beside hidden ones."""
    for name in ("a/same", "b/same", "other"):
        relax_run(folder / "runs" / name, steps=1)
    for name in hidden:
        relax_run(folder / "runs" / "secret" / name, steps=1)
    access = access_file(folder, folder / "runs" / "secret")
    with Library([folder / "runs"], index_dir=folder / "index", search=RunSearch(hides_runs=True)) as library:
        assert len(library.runs) == 3 + len(hidden) and all(run.wait(30) for run in library.runs)
        app = team_app(library, access, state_dir=str(folder / "state"))
        runs = get_as(app, "bob", "/api/runs").json["runs"]
        hides = get_as(app, "bob", "/api/runs/same/steps?split=train")
        assert hides.status == 404, "two have this name"
        assert get_as(app, "bob", "/api/runs/other/steps?split=train").json["run"].startswith("other-")
        return [(run["id"], run["name"]) for run in runs]


def test_a_hidden_run_changes_no_name(tmp_path: Path) -> None:
    alone = seen_by_bob(tmp_path, [])
    assert seen_by_bob(tmp_path, ["x/same", "y/other", "other"]) == alone
    assert [name for _, name in alone] == ["same", "same", "other"] and len(dict(alone)) == 3


def test_a_run_that_begins_later_is_named_by_itself(tmp_path: Path) -> None:
    relax_run(tmp_path / "runs" / "a" / "same", steps=1)
    place = tmp_path / "runs"
    with Library([place], index_dir=tmp_path / "index", follow=True, search=RunSearch(hides_runs=True)) as library:
        before = {run.id for run in library.runs}
        relax_run(tmp_path / "runs" / "b" / "same", steps=1)
        library.look()
        after = {run.id for run in library.runs}
    with Library([place], index_dir=tmp_path / "index", search=RunSearch(hides_runs=True)) as library:
        assert before < after == {run.id for run in library.runs}
