"""Token exports of prime-rl with a tokenizer: texts, turns and the places of tokens, in lists, searches and metrics."""

import json
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import rolloupe
from rolloupe import UnreadablePath, text, tokenizer
from rolloupe.formats import discover, token_texts
from rolloupe.formats.prime_rl.exports import columns_of
from rolloupe.index import Library, RunSearch
from rolloupe.model import Reading, Sample
from rolloupe.query.tokens.page import token_page, token_table
from tests.formats.support import items, only_run, samples
from tests.tokenizer.built import built

QWEN = built("Qwen")
HEADER = (
    "<|im_start|>system\nBe brief.<|im_end|>\n<|im_start|>user\nWhat is 12 × 34?<|im_end|>\n<|im_start|>assistant\n"
)
SPEECH = [
    (HEADER, 0), ("<think>\nTherefore 🎉</think>\n\nthe answer is 408.<|im_end|>", 1),
    ("\n<|im_start|>user\nSure?<|im_end|>\n<|im_start|>assistant\n", 0), ("Yes, 日本語!<|im_end|>", 1),
]  # fmt: skip


def record(speech: list[tuple[str, int]], number: int = 0, **more: Any) -> dict[str, Any]:
    """A packed sequence of these pieces, each with its mask."""
    pieces = [(QWEN.encode(piece), mask) for piece, mask in speech]
    ids = [token for tokens, _ in pieces for token in tokens]
    mask = [bool(mask) for tokens, mask in pieces for _ in tokens]
    return {
        "schema_version": 1, "export_step": 3, "step": 3, "rank": 0, "micro_step": 0, "micro_sequence_idx": 0,
        "export_sequence_idx": number, "env_name": "e", "token_ids": ids, "loss_mask": mask,
        "trainer_logprobs": [-0.5] * len(ids), **more,
    }  # fmt: skip


def write(root: Path, *records: dict[str, Any]) -> Path:
    path = root / "token_exports/step_3/rank_0.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(one) + "\n" for one in records), encoding="utf-8")
    (path.parent / "STABLE").touch()
    return root


@pytest.fixture
def qwen(tmp_path: Path) -> Path:
    path = tmp_path / "qwen.json"
    path.write_bytes(QWEN.data)
    return path


@pytest.fixture
def run(tmp_path: Path) -> Path:
    return write(tmp_path / "run", record(SPEECH), record([("the theory ", 0), ("of the thing", 1)], 1))


def decoded(run: Path, path: Path) -> list[Sample]:
    return samples(only_run(run, tokenizer=str(path)))


def test_prompt_and_response_are_texts(run: Path, qwen: Path) -> None:
    first, second = decoded(run, qwen)
    whole = "".join(piece for piece, _ in SPEECH)
    assert (first.prompt_text, first.response_text) == (HEADER, whole.removeprefix(HEADER))
    assert (first.row.prompt, first.row.response) == (first.prompt_text, first.response_text)
    assert (second.prompt_text, second.response_text) == ("the theory ", "of the thing")
    assert "".join(first.token_strings) == whole
    assert len(first.token_strings) == len(first.token_ids)
    assert first.is_decoded
    assert f"with {qwen}" in first.notes[0]


def test_turns_have_the_roles_of_the_template(run: Path, qwen: Path) -> None:
    first, second = decoded(run, qwen)
    assert [(turn.role, turn.origin) for turn in first.turns] == [
        ("system", "prompt"), ("user", "prompt"), ("assistant", "response"), ("user", "response"),
        ("assistant", "response"),
    ]  # fmt: skip
    assert {part.kind for part in first.turns[2].parts} >= {"think", "text"}
    for turn in first.turns:
        assert text.verbatim(turn) == "".join(first.token_strings[turn.token_start : turn.token_stop])
    assert [turn.token_start for turn in first.turns[1:]] == [turn.token_stop for turn in first.turns[:-1]]
    assert first.turns[-1].token_stop == len(first.token_ids)
    assert [(turn.role, text.verbatim(turn)) for turn in second.turns] == [
        ("prompt", "the theory "), ("assistant", "of the thing"),
    ]  # fmt: skip
    assert "a turn for each span of the loss mask" in second.notes[0]
    assert "a turn for each span" not in " ".join(first.notes)


def test_a_marker_that_the_model_spells_begins_no_turn(tmp_path: Path, qwen: Path) -> None:
    spelled = [one for letter in "<|im_start|>user\nno" for one in QWEN.encode(letter)]
    speech = record([(HEADER, 0), ("fine", 1)])
    speech["token_ids"] += spelled
    for key, value in (("loss_mask", True), ("trainer_logprobs", -1.0)):
        speech[key] += [value] * len(spelled)
    (one,) = decoded(write(tmp_path / "run", speech), qwen)
    assert one.response_text == "fine<|im_start|>user\nno"
    assert [turn.role for turn in one.turns] == ["system", "user", "assistant"]


def test_every_token_has_its_place_in_the_text(run: Path, qwen: Path) -> None:
    for one in decoded(run, qwen):
        page = token_page(one)
        shown = 0
        for token, string in enumerate(page.strings or []):
            place = [int(column[token]) for column in page.spans]
            assert place[0] >= 0
            part = one.turns[place[0]].parts[place[1]]
            if place[2] >= 0:
                units = part.text.encode("utf-16-le")[2 * place[2] : 2 * place[3]]
                assert units.decode("utf-16-le") == string
                shown += 1
        assert shown > len(one.token_ids) / 2


def test_letters_of_a_spelling_that_the_text_has_stay(tmp_path: Path, qwen: Path) -> None:
    (one,) = decoded(write(tmp_path / "run", record([("Ġa", 0), ("ĠbĊ", 1)])), qwen)
    assert "".join(token_table(one).column("text").to_pylist()) == "ĠaĠbĊ"


def test_what_a_sample_is_called_does_not_depend_on_the_tokenizer(run: Path, qwen: Path) -> None:
    plain, texts = samples(only_run(run)), decoded(run, qwen)
    assert [str(one.key) for one in plain] == [str(one.key) for one in texts]
    assert [one.row.metrics for one in plain] == [one.row.metrics for one in texts]
    assert [one.row.turns for one in plain] == [one.row.turns for one in texts]


def test_without_a_tokenizer_the_next_step_is_named(run: Path) -> None:
    first, _ = samples(only_run(run))
    count = len(first.token_ids)
    assert f"{count} ids, no tokenizer. Next: open it with --tokenizer" in first.notes[0]
    assert first.prompt_text.split()[0] == str(first.token_ids[0])
    assert first.token_strings == [] and not first.is_decoded


def test_ids_that_the_vocabulary_lacks_are_counted(tmp_path: Path, qwen: Path) -> None:
    lacking = record(SPEECH, token_ids=[10**9, -5, 2**62, *record(SPEECH)["token_ids"][3:]])
    (one,) = decoded(write(tmp_path / "run", lacking), qwen)
    assert one.prompt_text.startswith(f"<token 1000000000><token -5><token {2**62}>")
    assert "3 of them are not in its vocabulary" in one.notes[0]


def test_a_text_that_is_too_long_is_shown_as_ids(run: Path, qwen: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(token_texts, "MAX_CHARS", 50)
    first, second = decoded(run, qwen)
    assert first.prompt_text.split()[0] == str(first.token_ids[0])
    assert "ids are shown" in first.notes[0]
    assert second.prompt_text == "the theory "


@pytest.mark.parametrize("ids", [[], 5, "abc", {}], ids=repr)
def test_a_record_without_ids_is_shown_and_hides_no_other(tmp_path: Path, qwen: Path, ids: object) -> None:
    lacking = record(SPEECH, 1, token_ids=ids)
    first, second = decoded(write(tmp_path / "run", record(SPEECH), lacking), qwen)
    assert first.prompt_text == HEADER
    assert second.row.metrics["trainer_logprobs"] == -0.5
    assert "".join(map(text.verbatim, second.turns)) == second.prompt_text + second.response_text == ""
    assert [note for note in second.notes if "no token_ids" in note]
    assert token_page(second).total == len(lacking["loss_mask"])


@given(ids=st.lists(st.integers(-2, 600), max_size=40), data=st.data())
def test_any_ids_and_masks_lose_nothing(
    tmp_path_factory: pytest.TempPathFactory, ids: list[int], data: st.DataObject
) -> None:
    mask = data.draw(st.lists(st.booleans(), min_size=len(ids), max_size=len(ids)))
    folder = tmp_path_factory.mktemp("any")
    (folder / "qwen.json").write_bytes(QWEN.data)
    one = record([], token_ids=ids, loss_mask=mask, trainer_logprobs=[-1.0] * len(ids))
    (sample,) = decoded(write(folder / "run", one), folder / "qwen.json")
    assert "".join(sample.token_strings) == sample.prompt_text + sample.response_text
    assert "".join(map(text.verbatim, sample.turns)) == sample.prompt_text + sample.response_text
    assert sum(turn.tokens or 0 for turn in sample.turns) == len(ids)


def test_keys_of_tokens_that_are_unknown_take_no_memory() -> None:
    tokens = [{"id": n, "loss_mask": True, f"k{n}": 1} for n in range(1000)]
    tracemalloc.start()
    try:
        assert columns_of({"tokens": tokens}).ids == [*range(1000)]
        assert tracemalloc.get_traced_memory()[1] < 2**20
    finally:
        tracemalloc.stop()


# Which tokenizer is used.


def in_folder(run: Path) -> None:
    (run / "tokenizer.json").write_bytes(QWEN.data)


def in_tokenizer(run: Path) -> None:
    (run / "tokenizer").mkdir()
    (run / "tokenizer/tokenizer.json").write_bytes(QWEN.data)


def in_cache(run: Path) -> None:
    snapshot = run.parent / "hub/models--own--qwen/snapshots" / ("0" * 40)
    snapshot.mkdir(parents=True)
    (snapshot / "tokenizer.json").write_bytes(QWEN.data)


def named(name: str, contents: str) -> Callable[[Path], None]:
    def write_config(run: Path) -> None:
        in_cache(run)
        (run / "configs").mkdir()
        (run / "configs" / name).write_text(contents, encoding="utf-8")

    return write_config


OWN = {
    "in its folder": in_folder, "in tokenizer/": in_tokenizer,
    "named as JSON": named("trainer.json", '{"tokenizer": {"name": "own/qwen"}, "model": {"name": "other"}}'),
    "named as TOML": named("orchestrator.toml", '[model]\nname = "own/qwen"\n'),
    "named for both": named("rl.json", '{"trainer": {"model": {"name": "own/qwen"}, "tokenizer": {"name": null}}}'),
}  # fmt: skip


@pytest.mark.parametrize("where", OWN)
def test_the_tokenizer_of_the_run_is_found(run: Path, where: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_HUB_CACHE", str(run.parent / "hub"))
    OWN[where](run)
    first, _ = samples(only_run(run))
    assert first.prompt_text == HEADER
    assert not [note for note in discover([run]).notes if "tokenizer" in note.reason]


BAD = {
    "a broken file": lambda run: (run / "tokenizer.json").write_bytes(b"{}"),
    "a name that is not there": named("trainer.json", '{"model": {"name": "own/other"}}'),
    "a path in the configuration": named("trainer.json", '{"model": {"name": "../hub/models--own--qwen/snapshots"}}'),
}


@pytest.mark.parametrize("what", BAD)
def test_a_tokenizer_of_the_run_that_cannot_be_used_is_noted(
    run: Path, what: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_HUB_CACHE", str(run.parent / "hub"))
    BAD[what](run)
    found = discover([run])
    assert found.runs[0].tokenizer is None
    assert ["its token ids are not decoded: " in note.reason for note in found.notes].count(True) == 1


CONFIGS = ["", "{", "[]", "[" * 100_000, '{"model": 3}', '{"model": {"name": 4}}', "\0", '{"tokenizer": {"name": ""}}']


@pytest.mark.parametrize("contents", CONFIGS, ids=range(len(CONFIGS)))
@pytest.mark.parametrize("name", ["trainer.json", "trainer.toml"])
def test_any_configuration_is_read_without_harm(run: Path, name: str, contents: str) -> None:
    named(name, contents)(run)
    assert discover([run]).runs[0].tokenizer is None


def test_a_link_out_of_the_run_is_not_followed(run: Path, qwen: Path) -> None:
    (run / "tokenizer.json").symlink_to(qwen)
    found = discover([run])
    assert found.runs[0].tokenizer is None


def test_what_a_person_names_comes_first(run: Path, qwen: Path, tmp_path: Path) -> None:
    (run / "tokenizer.json").write_bytes(b"{}")
    assert decoded(run, qwen)[0].prompt_text == HEADER
    with pytest.raises(UnreadablePath):
        discover([run], Reading(tokenizer=str(tmp_path / "nothing.json")))


def test_a_tokenizer_that_changes_under_a_run_is_an_error(run: Path, qwen: Path) -> None:
    info = only_run(run, tokenizer=str(qwen))
    tokenizer.load_unchanged.cache_clear()
    qwen.write_bytes(QWEN.data + b"\n")
    with pytest.raises(UnreadablePath, match="changed since"):
        items(info)
    with pytest.raises(UnreadablePath, match="changed since"):
        token_texts.tokenizer_of(info)


def test_an_index_of_texts_does_not_depend_on_a_tokenizer(demo_runs: Path, qwen: Path, tmp_path: Path) -> None:
    folders = set()
    for path in ("", str(qwen)):
        with Library(
            [demo_runs / "other_formats/relax"], index_dir=tmp_path, search=RunSearch(reading=Reading(tokenizer=path))
        ) as library:
            folders.add(library.runs[0].catalog.folder)
    assert len(folders) == 1


# What the index makes of it.


def test_lists_searches_and_derived_metrics_have_the_text(run: Path, qwen: Path, tmp_path: Path) -> None:
    with rolloupe.open(run, tokenizer=qwen, index_dir=tmp_path / "index") as opened:
        assert [hit.sample.key.index for hit in opened.search("answer is 408")] == ["0-0"]
        assert [hit.sample.key.index for hit in opened.search("What is 12", roles=["user"])] == ["0-0"]
        listed = list(opened.samples(step=3, sort="prompt_tokens"))
        assert [one.response[:8] for one in listed] == ["of the t", "<think> "]
        assert [one.prompt[:10] for one in listed] == ["the theory", "What is 12"]
        assert [one.key.index for one in opened.samples(step=3, where="derived.think_chars > 10")] == ["0-0"]
        assert [one.key.index for one in opened.samples(step=3, where="derived.characters == 12")] == ["0-1"]
        whole = opened.sample(str(listed[1].key))
        assert whole.is_decoded
        assert whole.tokens.column("text").to_pylist()[:1] == ["<|im_start|>"]
        assert whole.tokens.column("role").to_pylist()[0] == "system"


def test_ids_beside_texts_become_token_strings(qwen: Path, tmp_path: Path) -> None:
    answer = "Therefore 🎉<|im_end|>"
    ids = [*QWEN.encode(HEADER), *QWEN.encode(answer)]
    with rolloupe.Recorder(tmp_path / "run") as recorder:
        shared: dict[str, Any] = {"step": 0, "group": "g", "response": answer.removesuffix("<|im_end|>")}
        recorder.sample(**shared, prompt=HEADER, token_ids=ids, prompt_tokens=len(QWEN.encode(HEADER)))
        recorder.sample(**shared, prompt=[{"role": "user", "content": "Hi"}], token_ids=QWEN.encode(answer))
    with rolloupe.open(tmp_path / "run", tokenizer=qwen, index_dir=tmp_path / "index") as opened:
        whole, alone = (opened.sample(str(one.key)) for one in opened.samples(sort="index"))
        assert "".join(whole.token_strings) == HEADER + answer
        assert "".join(alone.token_strings) == answer
        for one in (whole, alone):
            page = token_page(one)
            pieces = [page.partial[token] for token in one.token_ids if token in page.partial]
            assert b"".join(pieces).decode() == " 🎉" and len(pieces) > 1
            end = len(one.token_ids) - 1  # the text leaves the last token out
            assert (page.spans.turn[:end] >= 0).all()
            assert page.spans.start[end - 1] >= 0
        assert whole.prompt_text == HEADER


def test_texts_of_different_tokenizers_are_not_mixed(run: Path, qwen: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.json"
    other.write_bytes(QWEN.data.replace(b'"</s>"', b'"</x>"'))
    folders = set()
    for path in ("", qwen, other, qwen):
        with Library(
            [run], index_dir=tmp_path / "index", search=RunSearch(reading=Reading(tokenizer=str(path)))
        ) as library:
            folders.add(library.runs[0].catalog.folder)
    assert len(folders) == 3
    for path, count in (("", 0), (qwen, 1), ("", 0)):
        with rolloupe.open(run, tokenizer=path, index_dir=tmp_path / "index") as opened:
            assert len(list(opened.search("answer is 408"))) == count
