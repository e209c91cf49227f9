"""Closes what tests of insight open, and keeps the runs that several of them look at."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

import rolloupe
from tests.insight.findings.planted import Plan


@pytest.fixture(autouse=True)
def closed_runs(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Close every run that a test opens, once the test ends."""
    with ExitStack() as stack:
        opened = rolloupe.open

        def remembered(*given: Any, **named: Any) -> rolloupe.Runs:
            return stack.enter_context(opened(*given, **named))

        monkeypatch.setattr(rolloupe, "open", remembered)
        yield


@pytest.fixture(scope="session")
def folder_of(tmp_path_factory: pytest.TempPathFactory) -> Callable[[Plan], Path]:
    """The folder of a planted run and its index, which the first test that asks for it fills. Read only."""
    known: dict[Plan, Path] = {}

    def folder(plan: Plan) -> Path:
        if plan not in known:
            known[plan] = tmp_path_factory.mktemp("planted")
        return known[plan]

    return folder
