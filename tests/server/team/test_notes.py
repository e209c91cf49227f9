"""Notes, bookmarks and layouts of several people: private ones are their person's alone."""

from pathlib import Path

from rolloupe.server.app import App
from tests.server.team.conftest import Runs
from tests.server.team.support import ask_as, get_as, note_as, notes_of, team_app
from tests.thoroughness import each


def test_a_private_note_is_its_writers_alone(app: App) -> None:
    assert note_as(app, "ada", "kept by ada alone").status == 200
    assert notes_of(app, "ada") == {("ada", "kept by ada alone", False)}
    for other in ("bob", "rita", "root"):
        assert notes_of(app, other) == set()
        assert b"kept by ada alone" not in get_as(app, other, "/api/state").body
        assert b"kept by ada alone" not in get_as(app, other, "/api/runs/first/export?to=jsonl&of=bookmarks").body
        assert b"kept by ada alone" not in get_as(app, other, "/api/runs/first/export?to=html&notes=1").body
        assert get_as(app, other, "/api/runs/first/marked").json["samples"] == []
    assert len(get_as(app, "ada", "/api/runs/first/marked").json["samples"]) == 1


def test_two_people_note_the_same_sample_without_a_conflict(app: App) -> None:
    assert note_as(app, "ada", "of ada").status == 200
    assert note_as(app, "bob", "of bob").status == 200
    assert notes_of(app, "bob") == {("bob", "of bob", False)}
    assert note_as(app, "bob", "again").status == 409, "a note that was seen at another version"


def test_a_private_judgement_filters_for_its_person_alone(app: App) -> None:
    good = {"kind": "sample", "run": "first", "name": "train/0/0/0", "seen": 0, "sample_mark": {"judgement": "good"}}
    assert ask_as(app, "ada", "POST", "/api/state", good).status == 200
    bad = {**good, "name": "train/0/0/1", "sample_mark": {"judgement": "bad"}, "shared": True}
    assert ask_as(app, "ada", "POST", "/api/state", bad).status == 200
    listed = "/api/runs/first/samples?split=train&where=judgement%20is%20not%20null"
    for _ in range(2):  # the second answers come from the cache
        assert get_as(app, "bob", listed).json["total"] == 0
        assert get_as(app, "bob", "/api/runs/first/agreement").json["samples"] == 0
        assert get_as(app, "ada", listed).json["total"] == 2
        assert get_as(app, "ada", "/api/runs/first/agreement").json["samples"] == 2


def test_a_shared_note_is_seen_by_all_with_its_writer(app: App) -> None:
    assert note_as(app, "ada", "look", shared=True).status == 200
    for name in ("ada", "bob", "rita", "root"):
        assert notes_of(app, name) == {("ada", "look", True)}


def test_a_private_and_a_shared_note_stand_side_by_side(app: App) -> None:
    note_as(app, "ada", "for me")
    note_as(app, "ada", "for all", shared=True)
    assert notes_of(app, "ada") == {("ada", "for me", False), ("ada", "for all", True)}
    assert notes_of(app, "bob") == {("ada", "for all", True)}


def removal(**more: object) -> dict[str, object]:
    return {"kind": "sample", "run": "first", "name": "train/0/0/0", **more}


@each("name", ["bob", "rita"])
@each("shared", [True, False])
def test_nobody_changes_anothers_note(app: App, name: str, shared: bool) -> None:
    version = note_as(app, "ada", "of ada", shared=shared).json["version"]
    mark = {"note": "forged"}
    for body in (
        removal(by="ada", shared=shared, seen=version),
        removal(by="ada", shared=shared, seen=version, sample_mark=mark),
        removal(by="ada", shared=not shared, seen=version, sample_mark=mark),
    ):
        assert ask_as(app, name, "POST", "/api/state", body).status == 403
    ask_as(app, name, "POST", "/api/state", removal(shared=shared, seen=version, sample_mark=mark))
    ask_as(app, name, "POST", "/api/state", removal(shared=shared, seen=version))
    assert ("ada", "of ada", shared) in notes_of(app, "ada")


def test_an_admin_removes_what_is_shared_and_writes_in_nobodys_name(app: App) -> None:
    version = note_as(app, "ada", "of ada", shared=True).json["version"]
    private = note_as(app, "ada", "kept by ada alone").json["version"]
    for body in (
        removal(by="ada", shared=False, seen=private),
        removal(by="ada", shared=True, seen=version, sample_mark={"note": "forged"}),
        removal(by="bob", shared=True, seen=0),
    ):
        assert ask_as(app, "root", "POST", "/api/state", body).status == 400
    assert ask_as(app, "root", "POST", "/api/state", removal(by="ada", shared=True, seen=version)).status == 200
    assert notes_of(app, "ada") == {("ada", "kept by ada alone", False)}
    assert notes_of(app, "bob") == set()


def test_a_removal_of_a_shared_note_reaches_those_who_saw_it(app: App) -> None:
    version = note_as(app, "ada", "look", shared=True).json["version"]
    since = get_as(app, "bob", "/api/state").json["version"]
    ask_as(app, "ada", "POST", "/api/state", removal(shared=True, seen=version))
    (item,) = get_as(app, "bob", f"/api/state?since={since}").json["shared"]
    assert (item["by"], item["sample_mark"]) == ("ada", None)


def test_settings_are_never_shared(app: App) -> None:
    body = {"kind": "setting", "name": "theme", "seen": 0, "setting": {"dark": True}}
    assert ask_as(app, "ada", "POST", "/api/state", body).status == 200
    assert ask_as(app, "ada", "POST", "/api/state", body | {"shared": True}).status == 400
    assert get_as(app, "bob", "/api/state").json["items"] == []


def test_layouts_are_shared_too(app: App) -> None:
    body = {"kind": "layout", "run": "first", "name": "charts", "seen": 0, "setting": {"charts": [1]}, "shared": True}
    assert ask_as(app, "ada", "POST", "/api/state", body).status == 200
    (item,) = get_as(app, "rita", "/api/state").json["shared"]
    assert (item["kind"], item["by"], item["setting"]) == ("layout", "ada", {"charts": [1]})


def test_the_servers_folder_is_not_named(app: App) -> None:
    assert get_as(app, "rita", "/api/state").json["place"] == "the server's state"


def test_only_an_admin_sees_why_nothing_can_be_kept(runs: Runs, access: Path, tmp_path: Path) -> None:
    (tmp_path / "no-folder").write_text("")
    app = team_app(runs.library, access, state_dir=str(tmp_path / "no-folder"))
    for name, shows in (("ada", False), ("root", True)):
        refused, state = note_as(app, name, "x"), get_as(app, name, "/api/state").json
        assert refused.status == 503 and refused.json["error"] and state["trouble"]
        assert ("no-folder" in refused.json["error"], "no-folder" in state["trouble"]) == (shows, shows)


def test_what_several_note_on_a_sample_is_exported_once_with_their_names(app: App) -> None:
    note_as(app, "ada", "of ada", shared=True)
    note_as(app, "bob", "of bob")
    rows = get_as(app, "bob", "/api/runs/first/export?to=jsonl&of=bookmarks").body.splitlines()
    assert len(rows) == 1 and b"ada: of ada\\n\\nof bob" in rows[0]
    assert len(get_as(app, "bob", "/api/runs/first/marked").json["samples"]) == 1
