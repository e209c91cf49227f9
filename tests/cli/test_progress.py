"""Progress of what takes longer than a second: on a terminal, and nowhere else."""

import io
import sys

import pytest

from rolloupe.cli import progress


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(("patience_s", "shown"), [(-1.0, True), (60.0, False)])
def test_counting_is_shown_once_it_takes_long(monkeypatch: pytest.MonkeyPatch, patience_s: float, shown: bool) -> None:
    monkeypatch.setattr(progress, "PATIENCE_S", patience_s)
    monkeypatch.setattr(sys, "stderr", Terminal())
    with progress.counting("Converting") as advanced:
        for number in range(3):
            advanced(number, 3)
    assert isinstance(sys.stderr, Terminal)
    assert ("Converting" in sys.stderr.getvalue()) == shown


def test_where_there_is_no_terminal_nothing_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    with progress.counting("Converting") as advanced:
        advanced(1, 2)
    assert capsys.readouterr().err == ""
