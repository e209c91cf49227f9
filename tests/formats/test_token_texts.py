"""The turns of token ids have the roles of each common chat template, by its special tokens."""

import base64
import tracemalloc
from pathlib import Path

import pytest
from tokenizers import Tokenizer

from rolloupe import text, tokenizer
from rolloupe.formats import token_texts
from rolloupe.model import RunInfo, Turn
from tests.tokenizer.built import built

LLAMA_3 = (
    "<|begin_of_text|><|start_header_id|>system<|end_header_id|>\n\nBe brief.<|eot_id|>"
    "<|start_header_id|>user<|end_header_id|>\n\nHi<|eot_id|><|start_header_id|>assistant<|end_header_id|>\n\n"
)
TEMPLATES = {
    "ChatML": (
        "<|im_start|>system\nBe brief.<|im_end|>\n<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n",
        "Hello<|im_end|>\n<|im_start|>user\n<tool_response>\n4\n</tool_response><|im_end|>\n<|im_start|>assistant\nYes",
        ["<|im_start|>", "<|im_end|>"],
        "system user assistant tool assistant",
    ),
    "Llama 3": (
        LLAMA_3,
        "Hello<|eot_id|><|start_header_id|>ipython<|end_header_id|>\n\n4<|eot_id|>",
        ["<|begin_of_text|>", "<|start_header_id|>", "<|end_header_id|>", "<|eot_id|>"],
        "system user assistant tool",
    ),
    "Mistral": (
        "<s>[SYSTEM_PROMPT]Be brief.[/SYSTEM_PROMPT][INST]Hi[/INST]",
        "Hello</s>[INST]More[/INST]Yes</s>",
        ["<s>", "</s>", "[INST]", "[/INST]", "[SYSTEM_PROMPT]", "[/SYSTEM_PROMPT]"],
        "system user assistant user assistant",
    ),
    "Gemma": (
        "<bos><start_of_turn>user\nHi<end_of_turn>\n<start_of_turn>model\n",
        "Hello<end_of_turn>\n<start_of_turn>user\nMore<end_of_turn>\n<start_of_turn>model\nYes<end_of_turn>",
        ["<bos>", "<start_of_turn>", "<end_of_turn>"],
        "user assistant user assistant",
    ),
    "DeepSeek": (
        "<｜begin▁of▁sentence｜>Be brief.<｜User｜>Hi<｜Assistant｜>",
        "<think>\nwell</think>Hello<｜end▁of▁sentence｜><｜User｜>More<｜Assistant｜>Yes",
        ["<｜begin▁of▁sentence｜>", "<｜User｜>", "<｜Assistant｜>", "<｜end▁of▁sentence｜>"],
        "system user assistant user assistant",
    ),
    "harmony": (
        "<|start|>system<|message|>Be brief.<|end|><|start|>user<|message|>Hi<|end|><|start|>assistant",
        "<|channel|>final<|message|>Hello<|return|>",
        ["<|start|>", "<|message|>", "<|end|>", "<|channel|>", "<|return|>"],
        "system user assistant",
    ),
}


def turns(folder: Path, prompt: str, response: str, special: list[str]) -> tuple[list[Turn], list[str]]:
    """The turns of a sequence, and its token strings."""
    model = Tokenizer.from_str(built("Llama 3").data.decode())
    model.add_special_tokens(special)
    path = folder / "tokenizer.json"
    path.write_text(model.to_str(), encoding="utf-8")
    file = tokenizer.load(path).file
    run = RunInfo(name="r", root="/", format="prime_rl", reason="", parts=(), tokenizer=file)
    first, rest = (list(model.encode(piece, add_special_tokens=False).ids) for piece in (prompt, response))
    strings = token_texts.strings_of(run, first + rest)
    assert strings is not None
    return token_texts.turns_of(run, first + rest, strings, len(first)), strings


@pytest.mark.parametrize("name", TEMPLATES)
def test_roles_are_those_of_the_template(tmp_path: Path, name: str) -> None:
    prompt, response, special, roles = TEMPLATES[name]
    found, strings = turns(tmp_path, prompt, response, special)
    assert " ".join(turn.role for turn in found) == roles
    assert "".join(map(text.verbatim, found)) == prompt + response
    assert "".join(text.verbatim(turn) for turn in found if turn.origin == "prompt") == prompt
    for turn in found:
        assert "".join(strings[turn.token_start : turn.token_stop]) == text.verbatim(turn)


@pytest.mark.parametrize("name", ["Llama 3", "Mistral", "Gemma", "harmony"])  # the vocabulary has the others' markers
def test_markers_in_ordinary_tokens_are_text(tmp_path: Path, name: str) -> None:
    prompt, response, _, _ = TEMPLATES[name]
    assert turns(tmp_path, prompt, response, [])[0] == []


def test_a_text_that_is_too_long_is_never_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "x.tiktoken"
    path.write_bytes(b"%b 0\n%b 1\n" % (base64.b64encode(b"a"), base64.b64encode(b"\xff" * 4096)))
    run = RunInfo(name="r", root="/", format="prime_rl", reason="", parts=(), tokenizer=tokenizer.load(path).file)
    monkeypatch.setattr(token_texts, "MAX_CHARS", 10_000)
    assert token_texts.strings_of(run, [0, 1, 0]) == ["a", "\ufffd" * 4096, "a"]
    tracemalloc.start()
    try:
        assert token_texts.strings_of(run, [1] * 1000) is None
        assert tracemalloc.get_traced_memory()[1] < 2**20
    finally:
        tracemalloc.stop()
