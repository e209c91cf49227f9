"""Data sets of the Hugging Face hub, as its library describes them: no test reaches the hub itself."""

import inspect
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import huggingface_hub
import pytest
from huggingface_hub.hf_api import RepoFile, RepoFolder

import rolloupe
from rolloupe.storage.remote import calls, connection, hub
from tests.cli.support import rolloupe as command

LINE = b'{"prompt": "p", "response": "%s", "reward": 1.0, "step": 1}\n'


class FakeHub:
    """The calls that are made of the library, answered from commits in memory."""

    def __init__(self) -> None:
        self.commits: dict[str, dict[str, bytes]] = {}
        self.head = ""

    def commit(self, name: str, files: dict[str, bytes]) -> None:
        self.commits[name], self.head = files, name

    def repo_info(self, repo_id: str, *, repo_type: str, revision: str | None) -> Any:
        assert (repo_id, repo_type) == ("lab/rollouts", "dataset"), repo_id
        return SimpleNamespace(sha=self.head if revision is None else revision)

    def list_repo_tree(
        self, repo_id: str, path_in_repo: str | None, *, recursive: bool, revision: str, repo_type: str
    ) -> Any:
        assert not recursive
        prefix = f"{path_in_repo}/" if path_in_repo else ""
        below = {path: data for path, data in self.commits[revision].items() if path.startswith(prefix)}
        names = {path[len(prefix) :].partition("/")[0]: "/" in path[len(prefix) :] for path in below}
        for name, is_folder in names.items():
            if is_folder:
                yield RepoFolder(path=prefix + name, oid="tree")
            else:
                data = below[prefix + name]
                yield RepoFile(path=prefix + name, size=len(data), oid=str(hash(data)))

    def cat_file(self, path: str, *, start: int, end: int) -> bytes:
        place, _, file = path.partition("@")
        assert place == "datasets/lab/rollouts"
        commit, _, name = file.partition("/")
        return self.commits[commit][name][start:end]


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> FakeHub:
    made = FakeHub()
    monkeypatch.setattr(huggingface_hub, "HfApi", lambda: made)
    monkeypatch.setattr(huggingface_hub, "HfFileSystem", lambda: made)
    monkeypatch.setattr(connection, "connections", {})
    return made


def test_a_data_set_is_read_at_one_commit(fake: FakeHub, tmp_path: Path) -> None:
    fake.commit("c1", {"run/a.jsonl": LINE % b"old", "README.md": b"#"})
    with rolloupe.open("hf://datasets/lab/rollouts/run", index_dir=tmp_path) as runs:
        (run,) = runs
        assert run.path == "hf://datasets/lab/rollouts/run"
        (one,) = run.samples()
        fake.commit("c2", {"run/a.jsonl": LINE % b"new"})
        assert run.sample(one.id).response_text == "old"


def test_a_revision_may_be_named(fake: FakeHub, tmp_path: Path) -> None:
    fake.commit("c1", {"run/a.jsonl": LINE % b"old"})
    fake.commit("c2", {"run/a.jsonl": LINE % b"new"})
    with rolloupe.open("hf://datasets/lab/rollouts@c1/run/a.jsonl", index_dir=tmp_path) as runs:
        (run,) = runs
        assert [run.sample(one.id).response_text for one in run.samples()] == ["old"]


@pytest.mark.usefixtures("fake")
@pytest.mark.parametrize("address", ["hf://models/a/b", "hf://datasets/a"])
def test_what_is_no_data_set(address: str) -> None:
    assert "Next: write hf://datasets/OWNER/NAME/PATH" in command("ls", address).err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("500 Server Error: Internal for url: https://hub/x?token=secret", "answers 500 Server Error. Next: try again"),
        ("403 Client Error: Forbidden for url: https://hub/x?token=secret", "does not let these credentials read it."),
        (
            "429 Client Error: Too Many Requests for url: https://hub/x?token=secret",
            "asks for fewer requests, and still",
        ),
        ("certificate of https://hub/x?token=secret", "hf://datasets/lab/rollouts failed: certificate of"),
    ],
)
def test_what_the_hub_refuses_is_said_without_secrets(
    fake: FakeHub, monkeypatch: pytest.MonkeyPatch, words: str, said: str
) -> None:
    def refused(*_: object, **__: object) -> None:
        raise RuntimeError(words)

    monkeypatch.setattr(fake, "repo_info", refused)
    monkeypatch.setattr(calls, "FIRST_WAIT_S", 0.01)
    monkeypatch.setattr(calls, "PATIENCE_S", 0.05)
    told = command("ls", "hf://datasets/lab/rollouts").err
    assert said in told and "secret" not in told


def test_a_hub_that_sends_too_little_is_no_end_of_a_file(fake: FakeHub) -> None:
    fake.commit("c1", {"a.jsonl": LINE % b"old"})
    hub = connection.connection("hf", "datasets")
    state = hub.state("lab/rollouts/a.jsonl")
    with pytest.raises(OSError, match="sends other bytes than it lists"):
        hub.read("lab/rollouts/a.jsonl", 0, state.size + 1, state)


def test_the_library_takes_these_arguments() -> None:
    for call, names in (
        (huggingface_hub.HfApi.repo_info, ("repo_type", "revision")),
        (huggingface_hub.HfApi.list_repo_tree, ("path_in_repo", "recursive", "revision", "repo_type")),
        (huggingface_hub.HfFileSystem.cat_file, ("start", "end")),
    ):
        assert set(names) <= set(inspect.signature(call).parameters)


def test_the_time_of_a_call_begins_with_the_call(fake: FakeHub, monkeypatch: pytest.MonkeyPatch) -> None:
    fake.commit("c1", {"runs/a.jsonl": LINE})
    monkeypatch.setattr(calls, "MOST_S", 0.2)
    monkeypatch.setattr(huggingface_hub, "get_session", lambda: time.sleep(0.5))  # on a busy machine
    assert list(hub.HubConnection("datasets").list("lab/rollouts/runs").objects) == ["a.jsonl"]
