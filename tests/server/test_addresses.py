"""Addresses hold ids that the server issued; whatever else stands there leads nowhere."""

from rolloupe.server.app import App
from tests.server.support import BEARER, ask, get, run_path
from tests.thoroughness import each

ESCAPES = [
    "..%2f..%2f..%2fetc%2fpasswd",
    "../../../../etc/passwd",
    "%2e%2e/%2e%2e/etc/passwd",
    "..%5c..%5cwindows",
    "%2fetc%2fpasswd",
    "/etc/passwd",
    "//etc/passwd",
    "%5c%5chost%5cshare%5cx",
    "\\\\host\\share",
    "file:%2f%2f%2fetc%2fpasswd",
    "C:%5cWindows%5cwin.ini",
    "..%c0%af..%c0%afetc",
    "%252e%252e%252fetc%252fpasswd",
    "%00",
    "x%00.html",
    "%ff%fe",
    "~root",
    ".git/config",
    "....//....//etc",
]


@each("path", ESCAPES)
@each("before", ["/", "/assets/", "/api/", "/api/runs/", "/static/"])
def test_no_path_leads_to_a_file(app: App, path: str, before: str) -> None:
    answer = ask(app, "GET", before + path, BEARER)
    assert answer.status in (200, 404, 405)
    assert b"root:" not in answer.body
    if answer.status == 200:
        assert answer.body == ask(app, "GET", "/").body
    else:
        assert answer.json.keys() == {"error", "next"}


@each("path", ESCAPES)
@each("route", ["steps?split=train", "samples?split=train&step=0", "sample?id=train/0/0/0"])
def test_no_run_has_a_path_for_an_id(app: App, path: str, route: str) -> None:
    assert get(app, f"/api/runs/{path}/{route}").status == 404


IDS = [
    "x",
    "/",
    "////",
    "train/0/0",
    "train/x/0/0",
    "train/0/0/nothing",
    "train/0/0/0~99",
    "train/0/0/0~-1",
    "train/0/0/0~x",
    "train/9999999999999999999999/0/0",
    f"train/{2**63}/0/0",
    f"train/{'9' * 4999}/0/0",
    "train/-1/0/0",
    "train/0/../0",
    "..%2f..%2fetc%2fpasswd/0/0/0",
    "%00/0/%00/%00",
    "train/0/0/' OR 1=1 --",
    'train/0/0/"; DROP TABLE rows',
    "%ff/0/0/0",
    "train/1e3/0/0",
    "train/0/0/0/0/0/0",
    "~",
    "train/0/0/%F0%9F%92%A9",
    "train/nan/0/0",
    "eval/train/0/0/0",
    "%ED%A0%80/0/0/0",
]


@each("sample_id", IDS)
@each("route", ["sample?", "sample/raw?"])
def test_a_hostile_id_is_not_found(app: App, sample_id: str, route: str) -> None:
    answer = get(app, f"{run_path(app)}/{route}id={sample_id}")
    assert answer.status == 404, answer.body
    assert answer.json["error"]
    assert answer.json["next"]


@each(
    "query",
    [
        "",
        "split=train&step_min=x",
        "step=0",
        "split=train&where=reward+%3C",
        "split=train&step=x",
        "split=train&step=1.5",
        f"split=train&step={2**63}",
        f"split=train&step=-{2**63 + 1}",
        "split=train&step=0&limit=0",
        "split=train&step=0&limit=-1",
        "split=train&step=0&limit=5001",
        "split=train&step=0&offset=-1",
        "split=train&step=0&offset=x",
        "split=train&step=0&sort=nothing",
        "split=train&step=0&descending=2",
        "split=train&step=0&sort=%22%3B--",
        "split=train&step=0&limit=%D9%A3",
        f"split=train&step={'9' * 4000}",
    ],
)
def test_a_query_that_cannot_be_read_says_what_is_wrong(app: App, query: str) -> None:
    answer = get(app, f"{run_path(app)}/samples?{query}")
    assert answer.status == 400, answer.body
    assert answer.json["error"]


@each("around", ["x", "train/x/0/0", "%00"])
def test_a_page_around_nothing_is_not_found(app: App, around: str) -> None:
    assert get(app, f"{run_path(app)}/samples?split=train&step=0&around={around}").status == 404


@each("step", ["77", "-5", str(2**62)])
def test_a_step_that_is_not_there(app: App, step: str) -> None:
    path = run_path(app)
    assert get(app, f"{path}/groups?split=train&step={step}").json["groups"] == []
    assert get(app, f"{path}/samples?split=train&step={step}").json["total"] == 0
    assert get(app, f"{path}/steps?split=nothing").status == 404
