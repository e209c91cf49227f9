"""Changes show soon: a run that somebody watches is polled fifty times a second, in place of four."""

import pytest

from rolloupe.index import sources


@pytest.fixture(autouse=True)
def polled_often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sources, "POLL_S", 0.02)
