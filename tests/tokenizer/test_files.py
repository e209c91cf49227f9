"""Tokenizers are found and read within bounds, and whatever a file holds, an error says what to do."""

import base64
import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rolloupe.errors import UnreadablePath
from rolloupe.model import Location
from rolloupe.tokenizer import decode_tokens, find_tokenizer, load, load_at, load_unchanged
from rolloupe.tokenizer.files import MAX_BYTES, MAX_SPELLING

TINY = {
    "model": {"vocab": {"a": 0, "b": 1}},
    "added_tokens": [{"id": 2, "content": "<s>"}],
    "decoder": {"type": "Fuse"},
}
COMMIT = "0123456789abcdef0123456789abcdef01234567"


def tiny(path: Path, **changes: Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(TINY | changes), encoding="utf-8")
    return path


def refused(path: Path | str) -> str:
    """What the error says; it must name the next step."""
    with pytest.raises(UnreadablePath) as caught:
        load(path)
    assert "Next:" in str(caught.value)
    return str(caught.value)


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A local Hugging Face cache."""
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path / "hub"))
    return tmp_path / "hub"


def cached(cache: Path, name: str, commit: str = COMMIT, *, ref: bool = True) -> Path:
    """Put a tokenizer into the cache, as huggingface_hub does: a link to a blob."""
    folder = cache / f"models--{name.replace('/', '--')}"
    blob = tiny(folder / "blobs/abc")
    (folder / "snapshots" / commit).mkdir(parents=True)
    (folder / "snapshots" / commit / "tokenizer.json").symlink_to(blob)
    if ref:
        (folder / "refs").mkdir()
        (folder / "refs/main").write_text(commit, encoding="ascii")
    return folder


def test_a_file_or_its_folder_is_loaded(tmp_path: Path) -> None:
    path = tiny(tmp_path / "tokenizer.json")
    for place in (path, tmp_path, str(path)):
        one = load(place)
        assert decode_tokens(one, [2, 0, 1]) == ["<s>", "a", "b"]
        assert one.special == {2} and len(one) == 3
    assert load(tmp_path).file.digest == load(path).file.digest


def test_a_tilde_is_the_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tiny(tmp_path / "tokenizer.json")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert len(load("~/tokenizer.json")) == 3


def test_a_changed_file_is_read_again_and_a_run_keeps_its_own(tmp_path: Path) -> None:
    path = tiny(tmp_path / "tokenizer.json")
    before = load(path)
    assert load_unchanged(before.file) is before
    load_unchanged.cache_clear()
    tiny(path, added_tokens=[])
    assert load(path).file.digest != before.file.digest
    with pytest.raises(UnreadablePath, match="changed since"):
        load_unchanged(before.file)


def test_a_name_is_looked_up_in_the_local_cache(cache: Path) -> None:
    cached(cache, "own/tiny")
    assert decode_tokens(load("own/tiny"), [0]) == ["a"]
    assert "--download-tokenizer" in refused("own/other")


def test_the_only_snapshot_counts_without_a_reference(cache: Path) -> None:
    folder = cached(cache, "tiny", ref=False)
    assert len(load("tiny")) == 3
    (folder / "snapshots" / COMMIT[::-1]).mkdir()
    refused("tiny")


@pytest.mark.parametrize("variable", ["HF_HOME", "XDG_CACHE_HOME"])
def test_the_cache_lies_where_the_library_has_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, variable: str
) -> None:
    for name in ("HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE", "HF_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv(variable, str(tmp_path))
    cached(tmp_path / ("hub" if variable == "HF_HOME" else "huggingface/hub"), "own/tiny")
    assert len(load("own/tiny")) == 3


@pytest.mark.parametrize(
    "name", ["../own/tiny", "own/../tiny", "/own/tiny", "..", "own--tiny", "own/tiny/x", "own\\tiny", "a\0b", "", "é"]
)
def test_a_name_leads_nowhere_else(cache: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    cached(cache, "own/tiny")
    monkeypatch.chdir(cache)
    refused(name)


@pytest.mark.parametrize("ref", ["../../../etc", "x" * 40, "", "main"])
def test_a_reference_that_is_no_commit_leads_nowhere(cache: Path, ref: str) -> None:
    folder = cached(cache, "own/tiny")
    (folder / "refs/main").write_text(ref, encoding="utf-8")
    assert len(load("own/tiny")) == 3  # by the only snapshot


BROKEN = {
    "nothing": b"", "zeros": b"\0" * 1000, "half": json.dumps(TINY).encode()[:-20], "a list": b"[1, 2]",
    "no model": b"{}", "a vocabulary of numbers": b'{"model": {"vocab": [1, 2]}}',
    "an id that is negative": b'{"model": {"vocab": {"a": -1}}}', "a huge id": b'{"model": {"vocab": {"a": 1e99}}}',
    "an id of many digits": b'{"model": {"vocab": {"a": ' + b"9" * 10_000 + b"}}}",
    "deep": b'{"model": ' + b"[" * 100_000,
    "deep where it is skipped": b'{"x": ' + b"[" * 100_000 + b"]" * 100_000 + b"}",
    "invalid UTF-8": b'{"model": {"vocab": {"\xff": 1}}}', "half a surrogate": b'{"model": {"vocab": {"\\ud800": 1}}}',
    "a pointer": b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 9\n",
    "a long token": json.dumps({"model": {"vocab": {"a" * (MAX_SPELLING + 1): 1}}}).encode(),
    "text": b"This is a text.\n", "ranks that break off": b"YQ== 0\nYg== x\n",
    "a rank of many digits": b"YQ== 0\nYg== 99999999999\n",
    "base64 that breaks off": b"YQ== 0\nYg= 1\n", "a cut protocol buffer": b"\x0a\xff\xff\xff\xff\x0f",
    "another protocol buffer": b"\x08\x01" * 9, "many fields": b"\x0a\xca\x01" + b"\x18\x01" * 101,
    "an endless number": b"\x0a" + b"\xff" * 100, "a group": b"\x0b\x0c", "the field 0": b"\x02\x01a",
}  # fmt: skip


@pytest.mark.parametrize("kind", BROKEN)
def test_a_broken_file_is_named(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "tokenizer.json"
    path.write_bytes(BROKEN[kind])
    assert "cannot be read as a tokenizer" in refused(path)


DECODERS = {
    "a text": "Fuse", "a list": [], "no type": {}, "unknown": {"type": "CTC"}, "deep": {"type": "Sequence"},
    "an expression": {"type": "Replace", "pattern": {"Regex": "(a+)+$"}, "content": " "},
    "one that grows": {"type": "Replace", "pattern": {"String": "a"}, "content": "aaaa"},
    "an empty pattern": {"type": "Replace", "pattern": {"String": ""}, "content": ""},
    "a mark of two letters": {"type": "Metaspace", "replacement": "ab"},
    "no mark": {"type": "Metaspace"}, "no prefix": {"type": "WordPiece", "prefix": 3},
    "a strip of many": {"type": "Strip", "content": " ", "start": 10**9, "stop": 0},
    "a strip backwards": {"type": "Strip", "content": " ", "start": -1, "stop": 0},
    "many steps": {"type": "Sequence", "decoders": [{"type": "Fuse"}] * 100},
    "a step after the end": {"type": "Sequence", "decoders": [{"type": "Fuse"}, {"type": "ByteFallback"}]},
    "a strip at the end": {"type": "Sequence", "decoders": [{"type": "Fuse"}, {"type": "Strip", "stop": 1}]},
}  # fmt: skip


@pytest.mark.parametrize("kind", DECODERS)
def test_a_decoder_that_is_not_supported_is_named(tmp_path: Path, kind: str) -> None:
    assert "its decoder" in refused(tiny(tmp_path / "tokenizer.json", decoder=DECODERS[kind]))


def tekken(**changes: Any) -> bytes:
    """A tekken.json of three special tokens, one of them without a name."""
    pieces = (b"a", "日".encode()[:2], "日".encode()[2:], b"beyond the vocabulary")
    vocab = [{"rank": rank, "token_bytes": base64.b64encode(piece).decode()} for rank, piece in enumerate(pieces)]
    config = {"pattern": "(a+)+$", "default_vocab_size": 6, "default_num_special_tokens": 3, "version": "v11"}
    special = [{"rank": 1, "token_str": "[INST]", "is_control": True}, {"rank": 0, "token_str": "<s>"}]
    return json.dumps({"config": config, "vocab": vocab, "special_tokens": special} | changes).encode()


def test_a_tekken_file_has_its_special_tokens_first(tmp_path: Path) -> None:
    path = tmp_path / "tekken.json"
    path.write_bytes(tekken())
    one = load(tmp_path)
    ids = [0, 1, 2, 3, 4, 5, 6]
    assert decode_tokens(one, ids) == ["<s>", "[INST]", "<SPECIAL_2>", "a", "", "日", "<token 6>"]
    assert one.special == {0, 1, 2}
    path.write_bytes(tekken(special_tokens=None))
    assert decode_tokens(load(path), ids[:3]) == ["<unk>", "<s>", "</s>"]


TEKKEN: dict[str, dict[str, Any]] = {
    "no config": {"config": {}}, "a rank that is a text": {"vocab": [{"rank": "0", "token_bytes": "YQ=="}]},
    "no base64": {"vocab": [{"rank": 0, "token_bytes": "é"}]}, "no list": {"vocab": {"a": 1}},
    "many special tokens": {"config": {"default_vocab_size": 6, "default_num_special_tokens": 10**9}},
}  # fmt: skip


@pytest.mark.parametrize("kind", TEKKEN)
def test_a_broken_tekken_file_is_named(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "tekken.json"
    path.write_bytes(tekken(**TEKKEN[kind]))
    assert "cannot be read as a tokenizer" in refused(path)


def test_sequences_of_decoders_may_be_nested(tmp_path: Path) -> None:
    inner: dict[str, Any] = {"type": "ByteLevel"}
    for _ in range(300):
        inner = {"type": "Sequence", "decoders": [inner]}
    assert decode_tokens(load(tiny(tmp_path / "tokenizer.json", decoder=inner)), [0]) == ["a"]


def test_a_large_file_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / "tokenizer.json"
    with path.open("wb") as file:
        file.truncate(MAX_BYTES + 1)
    assert "larger than" in refused(path)


def test_more_entries_than_any_tokenizer_has_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "tokenizer.json"
    path.write_bytes(b'{"model": {"vocab": [' + b"[]," * 2**21 + b"[]]}}")
    assert "entries" in refused(path)


def test_what_is_no_file_is_refused(tmp_path: Path) -> None:
    assert "holds no tokenizer" in refused(tmp_path)
    loop = tmp_path / "loop"
    loop.symlink_to(loop)
    refused(loop)
    (tmp_path / "folder/tokenizer.json").mkdir(parents=True)
    refused(tmp_path / "folder")
    if sys.platform != "win32":
        os.mkfifo(tmp_path / "tokenizer.json")
        refused(tmp_path)
        refused(tmp_path / "tokenizer.json")
        refused("/dev/zero")


def test_a_file_without_permission_is_named(tmp_path: Path) -> None:
    path = tiny(tmp_path / "tokenizer.json")
    path.chmod(0)
    if os.access(path, os.R_OK):
        pytest.skip("root may read everything")
    assert "ermission" in refused(path)


def test_a_folder_of_a_run_does_not_lead_out_of_it(tmp_path: Path) -> None:
    outside = tiny(tmp_path / "outside.json")
    run = tmp_path / "run"
    run.mkdir()
    assert find_tokenizer(Location(str(run), str(run))) is None
    (run / "tokenizer.json").symlink_to(outside)
    found = find_tokenizer(Location(str(run), str(run)))
    assert found is not None
    with pytest.raises(UnreadablePath):
        load_at(found)


@given(data=st.binary(max_size=200))
def test_any_bytes_are_a_tokenizer_or_an_error(tmp_path_factory: pytest.TempPathFactory, data: bytes) -> None:
    path = tmp_path_factory.mktemp("any") / "tokenizer.model"
    path.write_bytes(data)
    try:
        one = load(path)
    except UnreadablePath:
        return
    assert isinstance("".join(decode_tokens(one, [*range(len(one))])), str)
