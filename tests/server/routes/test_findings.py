"""`GET /api/runs/{run}/findings`, `gradient` and `lint`."""

import json
import math
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
        found = get(app, f"{run_path(app)}/gradient?step_min=2&correct=acc").json
        assert (found["samples"], found["groups"], found["step_min"]) == (2112, 264, 2)
        assert found["correct"] == "reward.acc" and [one["step"] for one in found["by_step"]] == list(range(2, 24))
        assert get(app, f"{run_path(app)}/gradient?split=eval").status == 400
        found = get(app, f"{run_path(app)}/parts?step_min=2&env=").json
        texts = {one["name"]: one["text"] for one in found["parts"]}
        assert texts.keys() == {"reward.acc", "reward.score", "the rest of the reward"} and found["samples"] == 2112
        assert "verified" in texts["the rest of the reward"]
        assert "reward.score is the reward as a whole" in found["note"]
        assert get(app, f"{run_path(app)}/parts?split=none").status == 404
        found = get(app, f"{run_path(app)}/lint?split=train&step_max=1").json
        assert (found["samples"], found["broken"]) == (192, []) and "not_finite" in found["checked"]
        assert get(app, f"{run_path(app)}/lint?split=none").status == 404


def test_a_page_that_asks_for_the_gradient_of_any_run_gets_no_error(tmp_path: Path) -> None:
    rows = [{"prompt": "1+1?", "response": str(n), "step": 0} for n in range(2)]
    (tmp_path / "run.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    with opened(tmp_path / "run.jsonl", tmp_path / "index") as library:
        assert library.runs[0].wait_all(60)
        app = served(library)
        reply = get(app, f"{run_path(app)}/gradient")
    assert (reply.status, reply.json["samples"], reply.json["by_step"]) == (200, 0, [])


def test_a_broken_rule_is_sent_in_words(tmp_path: Path) -> None:
    rows = [{"prompt": "1+1?", "response": str(n), "step": 0, "score": math.nan if n else 1.0} for n in range(2)]
    (tmp_path / "run.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    with opened(tmp_path / "run.jsonl", tmp_path / "index") as library:
        assert library.runs[0].wait_all(60)
        app = served(library)
        found = get(app, f"{run_path(app)}/lint").json
        (one,) = found["broken"]
        assert (one["rule"], one["is_certain"], one["count"]) == ("not_finite", True, 1) and len(one["samples"]) == 1
        assert one["words"] == "the reward or the advantage of a sample is NaN or infinite"
        assert found["read"] == found["samples"] == 2 and {"rule", "reason"} == {*found["unchecked"][0]}
