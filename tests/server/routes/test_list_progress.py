"""A page that waits for a list learns how far it is."""

from typing import Any

import pytest

from rolloupe.query.engine import compile as compiling
from rolloupe.query.samples import groups, listing
from rolloupe.server.app import App
from tests.server.support import get, run_path


@pytest.mark.parametrize("kind", ["samples", "groups"])
def test_a_list_says_how_far_it_is_until_it_is_there(app: App, monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    route, asked = f"{run_path(app)}/{kind}", "?split=train&where=reward+%3E+0.5&limit=7"
    seen: list[Any] = []

    def count(found: int) -> None:
        seen.append(get(app, f"{route}/progress{asked}").json)
        seen.append(get(app, f"{route}/progress{asked}8").json)
        own(found)

    own = compiling.count_found
    monkeypatch.setattr(compiling, "PART_ROWS", 8)
    monkeypatch.setattr(compiling, "FILE_ROWS", 0)
    for module in (groups, listing):
        monkeypatch.setattr(module, "count_found", count)
    total = get(app, f"{route}{asked}").json["total"]
    nothing = {"done": 0, "of": 0, "found": 0}
    found = [total * part // 3 for part in range(3)]
    assert seen[::2] == [{"done": 8 * part, "of": 24, "found": found[part]} for part in range(3)]
    assert seen[1::2] == [nothing] * 3, "another list"
    assert get(app, f"{route}/progress{asked}").json == nothing, "it is there"


def test_nobody_learns_of_a_run_that_is_not_there(app: App) -> None:
    assert get(app, "/api/runs/elsewhere/samples/progress?split=train").status == 404
