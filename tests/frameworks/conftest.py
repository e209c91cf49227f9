"""What the frameworks need: no network, and leave to warn. What the recorder warns of is an error all the same."""

import logging
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

if os.environ.get("ROLLOUPE_FRAMEWORKS") == "required":  # else these tests are skipped, and others do ask a hub
    os.environ.setdefault("HF_HUB_OFFLINE", "1")
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")

HERE = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.filterwarnings("default"))
            item.add_marker(pytest.mark.filterwarnings("error::rolloupe.record.recorder.RecorderWarning"))


@pytest.fixture(autouse=True)
def own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Run where whatever is left behind goes away; and put logging back as it was."""
    monkeypatch.chdir(tmp_path)
    root = logging.getLogger()
    handlers, level = list(root.handlers), root.level
    yield
    for handler in [one for one in root.handlers if one not in handlers]:
        root.removeHandler(handler)
        handler.close()
    root.setLevel(level)
