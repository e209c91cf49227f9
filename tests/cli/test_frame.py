"""Exit codes, help, and the page of documentation."""

import importlib
import os
from pathlib import Path

import pytest
from tools.pages import commands_of

from rolloupe.cli import commands, main
from rolloupe.formats import built_in_formats
from tests.cli.support import forked, rolloupe
from tests.thoroughness import each

COMMANDS = dict(commands_of(main))
"""By name; those of a group have the name of the group before their own."""


def test_each_module_of_the_folder_is_a_command() -> None:
    modules = {path.stem for path in Path(commands.__path__[0]).rglob("[a-z]*.py")}
    assert (
        modules == set(main.modules) >= {"view", "demo", "ls", "steps", "show", "query", "search", "doctor", "convert"}
    )


@each("name", COMMANDS)
def test_help_ends_with_examples(name: str) -> None:
    done = rolloupe(*name.split(), "--help")
    command = COMMANDS[name]
    assert (done.code, done.err) == (0, "")
    assert command.examples
    for example in command.examples:
        assert f"    {example.line}\n" in done.out


@each("name", COMMANDS)
def test_examples_use_options_that_there_are(name: str) -> None:
    command = COMMANDS[name]
    for example in command.examples:
        if example.line.startswith("rolloupe "):
            line = example.line.split(" | ")[0].split(" > ")[0]
            words = line.split()
            used = COMMANDS.get(" ".join(words[1:3])) or COMMANDS[words[1]]
            known = {option for param in used.params for option in (*param.opts, *param.secondary_opts)}
            assert {word for word in words if word.startswith("--")} <= known


def test_every_option_has_a_help() -> None:
    for command in COMMANDS.values():
        for param in command.params:
            assert param.param_type_name == "argument" or getattr(param, "help", None), (command.name, param.name)


def test_the_help_names_the_formats_that_there_are() -> None:
    described = " ".join(rolloupe("ls", "--help").out.split())
    assert ", ".join(one.name for one in built_in_formats()) in described


@pytest.mark.parametrize("name", ["ls", "query", "doctor"])
def test_a_path_that_cannot_be_read_is_exit_code_three(name: str, tmp_path: Path) -> None:
    done = rolloupe(name, tmp_path / "nothing")
    assert (done.code, done.out) == (3, "")
    assert "does not exist" in done.err


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_path_without_permission_is_exit_code_three(tmp_path: Path) -> None:
    (tmp_path / "closed").mkdir(mode=0)
    assert rolloupe("ls", tmp_path / "closed").code == 3


def test_an_index_that_cannot_be_written_is_exit_code_three(tmp_path: Path, demo_runs: Path) -> None:
    (tmp_path / "file").touch()
    done = rolloupe("ls", demo_runs, "--index-dir", tmp_path / "file")
    assert (done.code, done.out) == (3, "")
    assert "Error: " in done.err


@each("words", [["nothing"], ["ls"], ["ls", ".", "--nothing"], ["query"], []])
def test_what_cannot_be_understood_is_exit_code_two(words: list[str]) -> None:
    done = rolloupe(*words)
    assert done.code == 2
    assert "Usage: rolloupe" in done.err


def viewed(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, ...]]:
    """The paths that `rolloupe view` is then asked for, in place of a server."""
    asked: list[tuple[str, ...]] = []
    module = importlib.import_module("rolloupe.cli.commands.view")  # the package has the command by this name
    monkeypatch.setattr(module, "serve", lambda place, *_, **__: asked.append(place.paths))
    return asked


@pytest.mark.parametrize("name", ["run", "serch", "sub/run"])
def test_a_path_without_a_command_is_viewed(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / name).mkdir(parents=True)
    monkeypatch.chdir(tmp_path)
    asked = viewed(monkeypatch)
    assert rolloupe(name, ".", "--no-browser").code == 0
    assert rolloupe(tmp_path / name).code == 0
    assert asked == [(name, "."), (str(tmp_path / name),)]


def test_a_command_wins_over_a_path_of_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "ls").mkdir()
    monkeypatch.chdir(tmp_path)
    asked = viewed(monkeypatch)
    assert rolloupe("ls").code == 2
    assert rolloupe("./ls").code == 0
    assert asked == [("./ls",)]


def test_a_path_without_a_command_that_is_missing_fails_as_view_does(tmp_path: Path) -> None:
    done = rolloupe(tmp_path / "nothing")
    assert (done.code, done.out) == (3, "")
    assert "does not exist" in done.err


def test_a_mistyped_command_says_what_may_be_meant() -> None:
    done = rolloupe("Serch", "runs", "two words")
    assert done.code == 2
    assert "'Serch' is not a command" in done.err
    assert "Next: rolloupe search runs 'two words'" in done.err
    assert "Next: rolloupe --help" in rolloupe("qqqq").err
    assert "\x1b" not in rolloupe("\x1b[2J").err


def test_a_forced_format_that_does_not_fit_matches_nothing(tmp_path: Path) -> None:
    done = rolloupe("ls", tmp_path, "--format", "relax")
    assert (done.code, done.out) == (1, "")
    assert "relax reads nothing" in done.err


def test_another_face_may_run_a_command_without_ending_the_process(run: Path) -> None:
    assert main.main(["ls", str(run), "--json"], standalone_mode=False) == 0


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        (("ls", "--map"), "not a regular file"),
        (("ls", "--tokenizer"), "neither a folder nor a regular file"),
        (("ls", "--metrics"), "neither a folder nor a regular file"),
        (("serve", "--users-from", "header:X-User", "--trusted-proxy", "127.0.0.1", "--access"), "not a regular file"),
    ],
)
def test_a_pipe_in_place_of_a_file_is_refused_at_once(tmp_path: Path, options: tuple[str, ...], reason: str) -> None:
    pipe, run = tmp_path / "pipe", tmp_path / "run.jsonl"
    os.mkfifo(pipe)
    run.write_text('{"prompt": "a", "response": "b", "reward": 1, "step": 0}\n')
    command, *rest = options
    process = forked(command, run, *rest, pipe, "--index-dir", tmp_path / "index")
    _, errors = process.communicate(60)
    assert process.returncode != 0 and reason in " ".join(errors.decode().split())
