"""`--tokenizer` and `--download-tokenizer`, on every command that opens runs."""

from pathlib import Path

import pytest

from tests.cli.support import rolloupe
from tests.formats.prime_rl.test_token_texts import QWEN, SPEECH, record, write


@pytest.fixture
def run(tmp_path: Path) -> Path:
    return write(tmp_path / "run", record(SPEECH))


@pytest.fixture
def qwen(tmp_path: Path) -> Path:
    path = tmp_path / "qwen.json"
    path.write_bytes(QWEN.data)
    return path


def test_commands_have_the_text(run: Path, qwen: Path, tmp_path: Path) -> None:
    place = (run, "--tokenizer", qwen, "--index-dir", tmp_path / "index")
    (hit,) = rolloupe("search", run, "answer is 408", *place[1:], "--json").lines
    shown = rolloupe("show", *place[:1], hit["id"], *place[1:])
    assert "the answer is 408." in shown.out
    assert "Sure?" in shown.out
    strings = [line["text"] for line in rolloupe("tokens", run, hit["id"], *place[1:], "--json").lines]
    assert "".join(strings) == "".join(piece for piece, _ in SPEECH)
    assert rolloupe("search", run, "answer is 408", "--index-dir", tmp_path / "index", "--json").lines == []


def test_a_conversion_keeps_the_text(run: Path, qwen: Path, tmp_path: Path) -> None:
    done = rolloupe("convert", run, tmp_path / "copy", "--to", "native", "--tokenizer", qwen)
    assert done.code in (0, 1), done.err
    (hit,) = rolloupe("search", tmp_path / "copy", "answer is 408", "--json").lines
    strings = [line["text"] for line in rolloupe("tokens", tmp_path / "copy", hit["id"], "--json").lines]
    assert "".join(one or "" for one in strings) == "".join(piece for piece, _ in SPEECH[1:])


@pytest.mark.parametrize("command", ["ls", "view", "doctor", "steps", "query", "index"])
def test_a_tokenizer_that_is_not_there_is_an_error(run: Path, tmp_path: Path, command: str) -> None:
    done = rolloupe(command, run, "--tokenizer", tmp_path / "none.json")
    assert (done.code, done.out) == (3, "")
    assert "there is no tokenizer" in done.err and "Next:" in done.err and "Traceback" not in done.err


def test_a_model_that_is_not_there_is_offered(run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where nobody can answer, a line says so, and the command goes on."""
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path / "cache"))
    done = rolloupe("ls", run, "--tokenizer", "own/tiny", "--index-dir", tmp_path / "index")
    assert done.code == 0 and "run" in done.out
    assert done.err.startswith("The tokenizer own/tiny is not on this machine.") and "--download-tokenizer" in done.err


def test_a_broken_tokenizer_is_an_error(run: Path, tmp_path: Path) -> None:
    (tmp_path / "broken.json").write_bytes(b"\0" * 100)
    done = rolloupe("ls", run, "--tokenizer", tmp_path / "broken.json")
    assert (done.code, done.out) == (3, "")
    assert "cannot be read as a tokenizer" in done.err
