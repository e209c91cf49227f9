"""`GET /api/runs/{run}/findings`."""

from pathlib import Path

from tests.index.support import opened
from tests.insight.findings.planted import Plan, write_run
from tests.server.support import get, run_path, served


def test_findings_are_sent_with_what_was_looked_at(tmp_path: Path) -> None:
    write_run(tmp_path / "run", Plan(steps=24, groups=12, bonus=0.6, prevalence=0.7, hacks=("tag",)))
    with opened(tmp_path / "run", tmp_path / "index") as library:
        assert library.runs[0].wait_all(60)
        app = served(library)
        address = f"{run_path(app)}/findings"
        reply = get(app, address)
        found = reply.json
        (one,) = found["findings"]
        assert one["class"] == "suspect" and "<verified>" in one["phrase"] and one["where"] == ""
        assert found["samples"] == found["scanned"] == 2304 and found["correct"] == "reward.acc" in found["metrics"]
        assert get(app, address, **{"if-none-match": reply.headers["etag"]}).status == 304
        assert get(app, f"{address}?step_min=0&step_max=2&env=").json["findings"] == []
        assert get(app, f"{address}?split=none").status == 404 and get(app, f"{address}?correct=x").status == 400
