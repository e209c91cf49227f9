"""The border to the terminal: nothing that a run contains gets through as more than text."""

import json
import subprocess
import time
from pathlib import Path

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from rolloupe.cli import main, progress
from rolloupe.cli.terminal import number, safe_json
from rolloupe.index.run_indexer import RunIndexer
from tests.cli.support import FORBIDDEN, HOSTILE, command, forked, main_of, on_terminal, rolloupe, row, write_run
from tests.forks import Fork
from tests.thoroughness import each, slow_unless


def harmless(text: str) -> bool:
    return not any(character in text for character in FORBIDDEN)


@each("words", [["ls"], ["steps"], ["query"], ["doctor"], ["doctor", "--json"], ["ls", "--json"],
                                   ["query", "--json"], ["query", "--sort", "reward.[red]\x1b[31m"]])  # fmt: skip
def test_no_command_lets_a_control_character_through(hostile_run: Path, words: list[str]) -> None:
    done = rolloupe(*words, hostile_run)
    assert done.code == 0
    assert harmless(done.out) and harmless(done.err)


@each("name", ["brief", "check", "gradient", "parts", "findings", "lint", "agreement", "compare", "metrics", "steps"])
def test_names_of_runs_and_datasets_are_harmless(name: str, tmp_path: Path) -> None:
    for run in ("a", "b"):
        steps = {step: [row(i, dataset=HOSTILE, reward=float(i % 2)) for i in range(4)] for step in range(2)}
        folder = write_run(tmp_path / f"{run} \x1b[31m\u202e", steps)
        write_run(folder, steps, "eval")
    done = rolloupe(name, tmp_path)
    assert done.code in (0, 1, 2) and done.out + done.err
    assert harmless(done.out) and harmless(done.err)


@pytest.mark.parametrize(
    ("index", "words"),
    [
        slow_unless(index % 3 == n, index, words)
        for index in range(5)
        for n, words in enumerate(([], ["--json"], ["--raw"]))
    ],
)
def test_a_hostile_sample_is_shown_harmless_on_a_terminal(hostile_run: Path, words: list[str], index: int) -> None:
    sample_id = rolloupe("query", hostile_run, "--json").lines[index]["id"]
    code, written = on_terminal("show", hostile_run, sample_id, *words)
    assert code == 0
    assert harmless(written)
    assert ("[/INST]" in written) == (index == 0)


def test_markup_is_text(hostile_run: Path) -> None:
    done = rolloupe("show", hostile_run, rolloupe("query", hostile_run, "--json").lines[0]["id"])
    assert "[/INST] [bold]x[/bold] <U+202E>evil" in done.out
    assert ":smile:" in done.out


def test_errors_are_harmless_too(hostile_run: Path) -> None:
    for words in (
        ["ls", "/no/such\x1b[31m\u202e"],
        ["query", hostile_run, "--sort", HOSTILE],
        ["query", hostile_run, "--where", f"a = 1 {HOSTILE}"],
        ["query", hostile_run, "--step", HOSTILE],
        ["show", hostile_run, HOSTILE],
        ["show", hostile_run, "train/0/0/\x1b"],
        ["ls", f"--{HOSTILE}"],
        [HOSTILE],
    ):
        done = rolloupe(*words)
        assert done.code in (1, 2, 3)
        assert done.err
        assert harmless(done.err), words


def test_json_means_what_it_did(hostile_run: Path) -> None:
    sample_id = rolloupe("query", hostile_run, "--json").lines[0]["id"]
    assert rolloupe("show", hostile_run, sample_id, "--json").json["row"]["response"] == HOSTILE


@given(st.text(st.characters(exclude_categories=()), max_size=50))
def test_safe_json_reads_back_as_what_it_was(text: str) -> None:
    document = safe_json(json.dumps(text, ensure_ascii=False))
    assert json.loads(document) == json.loads(json.dumps(text))
    assert harmless(document)


def test_an_output_of_another_encoding(tmp_path: Path) -> None:
    write_run(tmp_path / "more", {0: [row(0, response="诗 \U0001f600 é")]})
    runner = CliRunner(charset="latin-1")
    for words in (["query"], ["query", "--json"], ["ls"], ["show", "train/0/0/0"], ["show", "train/0/0/0", "--json"]):
        done = runner.invoke(main, [words[0], str(tmp_path / "more"), *words[1:]], prog_name="rolloupe")
        assert done.exit_code == 0, done.stderr
        text = done.stdout_bytes.decode("latin-1")
        if "--json" in words and words[0] == "show":
            assert json.loads(text)["row"]["response"] == "诗 \U0001f600 é"


@pytest.mark.parametrize("words", [["query", "--json"], ["query", "--limit", "1500"]])
def test_a_reader_that_has_had_enough_is_no_failure(demo_runs: Path, words: list[str]) -> None:
    process = forked(*words, demo_runs / "other_formats/rl_logging_board")
    assert process.stderr is not None
    assert process.stdout.readline()
    process.stdout.close()
    errors = process.stderr.read()
    assert (process.wait(), errors) == (0, b"")
    process.close()


def slow_main(*words: str) -> None:
    """Be the command line of somebody who waits for less long than it takes to index."""
    scan_new = RunIndexer.scan_new
    progress.PATIENCE_S = 0.05

    def slowly(indexer: RunIndexer) -> None:
        RunIndexer.scan_new = scan_new  # type: ignore[pyrefly:method-assign]
        time.sleep(0.5)
        scan_new(indexer)

    RunIndexer.scan_new = slowly  # type: ignore[pyrefly:bad-assignment, pyrefly:method-assign]
    main_of(*words)


def test_progress_shows_on_a_terminal_once_it_takes_long(tmp_path: Path) -> None:
    folder = write_run(tmp_path / "run", {0: [row(0)]})
    slow = f"{__name__}:slow_main"
    code, written = on_terminal("ls", folder, term="xterm", function=slow)
    assert code == 0
    assert "Indexing" in written
    piped = Fork(slow, "ls", str(folder))
    assert piped.communicate()[1] == b"" and piped.returncode == 0


def test_an_interrupt_ends_with_130(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(runs: object, **_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(progress, "wait", interrupted)
    done = rolloupe("ls", write_run(tmp_path, {0: [row(0)]}))
    assert (done.code, done.out) == (130, "")


@each(
    ("value", "shown"),
    [(None, "-"), (3, "3"), (0.5, "0.5"), (1 / 3, "0.3333"), (1234567.0, "1.23457e+06"), (float("nan"), "NaN"),
     (float("inf"), "inf"), (float("-inf"), "-inf")],
)  # fmt: skip
def test_numbers_as_a_person_reads_them(value: float | None, shown: str) -> None:
    assert number(value) == shown


def test_help_answers_at_once() -> None:
    began = time.monotonic()
    subprocess.run(command("--help"), capture_output=True, check=True)
    assert time.monotonic() - began < 10.0
