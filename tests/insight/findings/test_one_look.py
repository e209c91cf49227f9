"""Looks at a whole run, which take much memory: one at a time."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from rolloupe.insight.findings import findings
from rolloupe.insight.findings.selection import ONE_LOOK
from rolloupe.insight.reward_components import parts
from tests.index.support import opened, relax_run


@pytest.mark.parametrize("look", [parts, findings])
def test_a_look_waits_for_the_end_of_another(look: Callable[..., Any], tmp_path: Path) -> None:
    relax_run(tmp_path / "run")
    with opened(tmp_path / "run", tmp_path / "index") as library, ThreadPoolExecutor(1) as threads:
        assert library.runs[0].wait_all(30)
        with ONE_LOOK:
            waiting = threads.submit(look, library.runs[0])
            with pytest.raises(TimeoutError):
                waiting.result(0.1)
        assert waiting.result(10).samples
