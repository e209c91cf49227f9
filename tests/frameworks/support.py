"""Frameworks that may be missing, and runs read back."""

import importlib
import os
import re
from pathlib import Path
from typing import Any

import pytest

import rolloupe

PAGE = Path(__file__).parents[2] / "docs/integrations.md"
REQUIRED = os.environ.get("ROLLOUPE_FRAMEWORKS") == "required"


def needs(name: str) -> Any:
    """Import a framework. Without it the tests are skipped, or fail where ROLLOUPE_FRAMEWORKS=required."""
    if REQUIRED:
        return importlib.import_module(name)
    return pytest.importorskip(name, reason=f"{name} is missing: make test-frameworks", exc_type=ImportError)


def blocks(heading: str) -> list[str]:
    """The blocks of Python below a heading of docs/integrations.md."""
    (section,) = re.findall(
        rf"^## {heading}\n(.*?)(?=^## |\Z)", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL
    )
    return re.findall(r"```python\n(.*?)```", section, re.DOTALL)


def opened(path: Path) -> rolloupe.Run:
    """The one run at a path; it has no problems."""
    (run,) = rolloupe.open(path, index_dir=path.parent / f"{path.name}-index").runs
    assert run.problems() == []
    return run


def series(sample: rolloupe.Sample) -> dict[str, list[float]]:
    """The token series of a sample."""
    return {one.name: one.values for one in sample.series}
