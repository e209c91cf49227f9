"""Token ids become the text that their own library makes of them, token by token."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rolloupe.tokenizer import decode_tokens, most_chars
from tests.tokenizer.built import CORPUS, KINDS, SPECIAL, Built, built

words = st.sampled_from([*CORPUS, *SPECIAL, "🎉", "日本", "\n", " ", "  ", "é", "\u0301", "a", "▁", "Ġ"])
texts = st.lists(words | st.text(max_size=8), max_size=12).map("".join)


@pytest.fixture(params=[*KINDS])
def one(request: pytest.FixtureRequest) -> Built:
    return built(request.param)


def joined(one: Built, ids: list[int]) -> str:
    found = decode_tokens(one.ours, ids)
    assert len(found) == len(ids)
    assert len("".join(found[1:])) <= most_chars(one.ours, ids)
    return "".join(found)


@pytest.mark.parametrize("kind", KINDS)
@given(text=texts)
def test_an_encoded_text_decodes_as_in_its_library(kind: str, text: str) -> None:
    one = built(kind)
    ids = one.encode(text)
    assert joined(one, ids) == one.decode(ids)


@pytest.mark.parametrize("kind", KINDS)
@given(data=st.data())
def test_any_ids_decode_as_in_their_library(kind: str, data: st.DataObject) -> None:
    one = built(kind)
    tokens = st.integers(0, one.size - 1).filter(lambda token: token not in one.byte_tokens)
    blank = [token for token in range(one.size) if one.ours.texts[token] == " "]
    beginning = st.lists(st.sampled_from(blank), max_size=3) if blank else st.just([])
    ids = data.draw(beginning) + data.draw(st.lists(tokens, max_size=60))
    if kind.startswith("SentencePiece"):
        ids = [token for token in ids if token not in one.ours.special]  # its own library hides them
    assert joined(one, ids) == one.decode(ids)


BYTE_TOKENS = {
    "Llama 2": lambda one: [*one.byte_tokens],
    "Gemma": lambda one: [*one.byte_tokens],
    "SentencePiece BPE": lambda one: [*one.byte_tokens],
    "tiktoken": lambda one: [*range(256)],
}


@pytest.mark.parametrize("kind", BYTE_TOKENS)
@given(data=st.binary(max_size=40) | st.text(max_size=12).map(str.encode))
def test_bytes_that_are_no_utf8_become_replacement_characters(kind: str, data: bytes) -> None:
    one = built(kind)
    tokens = BYTE_TOKENS[kind](one)
    text = joined(one, [tokens[byte] for byte in data])
    expected = data.decode("utf-8", "replace")
    assert text == (expected.removeprefix(" ") if one.ours.vocabulary.strip[1] else expected)


@pytest.mark.parametrize("kind", BYTE_TOKENS)
def test_the_token_that_completes_a_character_adds_it(kind: str) -> None:
    one = built(kind)
    tokens = BYTE_TOKENS[kind](one)
    ids = [tokens[byte] for byte in "a🎉é".encode()]
    assert decode_tokens(one.ours, ids) == ["a", "", "", "", "🎉", "", "é"]


def test_what_is_cut_belongs_to_the_token_that_was_cut() -> None:
    one = built("tiktoken")
    (end,) = (token for token in one.ours.special if one.ours.texts[token] == "<|im_end|>")
    cut = [*"日".encode()[:2]]
    assert decode_tokens(one.ours, [97, *cut, end, *cut]) == ["a", "", "\ufffd", "<|im_end|>", "", "\ufffd"]


@given(ids=st.lists(st.integers(-3, 2**70) | st.integers(0, 400), max_size=30))
def test_ids_outside_of_the_vocabulary_have_a_placeholder(ids: list[int]) -> None:
    one = built("Qwen")
    texts = decode_tokens(one.ours, ids)
    assert [text for text, token in zip(texts, ids, strict=True) if token not in one.ours] == [
        f"<token {token}>" for token in ids if token not in one.ours
    ]
    assert len(one.ours.texts) <= len(one.ours)


def test_a_sequence_may_be_empty(one: Built) -> None:
    assert decode_tokens(one.ours, []) == []


def test_a_token_is_decoded_alike_wherever_it_is_but_at_the_beginning() -> None:
    one = built("WordPiece")
    word, end = one.encode("the things")[:1], one.encode("ing")[:1]
    assert decode_tokens(one.ours, [*word, *word]) == ["the", " the"]
    assert decode_tokens(one.ours, end)[0] == decode_tokens(one.ours, [*word, *end])[1].removeprefix(" ")
    llama = built("Llama 2")
    (begin,) = (token for token in llama.ours.special if llama.ours.texts[token] == "<s>")
    ids = llama.encode("the")
    assert joined(llama, ids) == "the"
    assert joined(llama, [begin, *ids]) == "<s> the"


@pytest.mark.parametrize("kind", ["Qwen", "Llama 2", "WordPiece", "tiktoken"])
def test_the_time_grows_with_the_number_of_tokens(kind: str) -> None:
    one = built(kind)
    first = BYTE_TOKENS[kind](one)[0xE9] if kind in BYTE_TOKENS else one.encode("é")[0]
    whole = [*one.encode("".join(CORPUS)) * 20, *[first] * 20_000]  # bytes that never become a character
    took = []
    for count in (len(whole) // 8, len(whole)):
        began = time.process_time()
        for _ in range(3):
            decode_tokens(one.ours, whole[-count:])
        took.append(time.process_time() - began)
    assert took[1] < 40 * took[0]  # eight times as many; were it quadratic, 64 times as long
