"""Small tokenizers of every kind, trained here on a few sentences by the libraries that write such files.

Each comes with the decoder of its own library: Rolloupe must decode the same.
"""

import base64
import io
import json
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import sentencepiece
import tiktoken
from tokenizers import Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers

from rolloupe import tokenizer

CORPUS = [
    "Let's compute 12 × 34 = 408. Therefore, the answer is \\boxed{408}.", "def f(x):\n    return x ** 2\n\n\n",
    "Ünïcödé: naïve café, größer, Ελλάδα, привет мир.", "日本語のテキスト。中文文本，测试。한국어 텍스트",
    "emoji 🎉🚀 👩‍👩‍👧‍👦 flags 🇫🇷 and math ∑∫≠", "  leading blanks, and trailing  ",
    "the theory of the thing that they think",
] * 3  # fmt: skip
SPECIAL = ["<s>", "</s>", "<|im_start|>", "<|im_end|>", "<｜User｜>"]
ALPHABET = pre_tokenizers.ByteLevel.alphabet()
LLAMA_3 = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}"
    r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
BYTES = [f"<0x{byte:02X}>" for byte in range(256)]


class Built(NamedTuple):
    """A tokenizer, and what its own library does."""

    ours: tokenizer.Tokenizer
    encode: Callable[[str], list[int]]
    decode: Callable[[Sequence[int]], str]
    size: int
    byte_tokens: range = range(0)
    """Tokens of single bytes that the library decodes in another way where they are not UTF-8."""
    data: bytes = b""
    """Its file."""


def loaded(data: bytes, name: str = "tokenizer.json") -> tokenizer.Tokenizer:
    """Load what a file holds."""
    with TemporaryDirectory() as folder:
        path = Path(folder, name)
        path.write_bytes(data)
        return tokenizer.load(path)


def _hugging_face(model: Tokenizer, byte_tokens: range = range(0)) -> Built:
    def encode(text: str) -> list[int]:
        return [*model.encode(text, add_special_tokens=False).ids]

    def decode(ids: Sequence[int]) -> str:
        return str(model.decode([*ids], skip_special_tokens=False))

    data = model.to_str().encode()
    return Built(loaded(data), encode, decode, model.get_vocab_size(), byte_tokens, data)


def _byte_level(split: Any, *, added: Sequence[str] = (), decoder: Any = None) -> Built:
    model = Tokenizer(models.BPE())
    model.pre_tokenizer = split
    model.decoder = decoder or decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=500, initial_alphabet=ALPHABET, special_tokens=SPECIAL, show_progress=False
    )
    model.train_from_iterator(CORPUS, trainer)
    model.add_tokens([*added])
    return _hugging_face(model)


def _fallback(decoder: Any) -> Built:
    model = Tokenizer(models.BPE(byte_fallback=True, unk_token="<unk>", fuse_unk=True))
    model.normalizer = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
    model.decoder = decoder
    special = ["<unk>", *SPECIAL]
    trainer = trainers.BpeTrainer(
        vocab_size=600, special_tokens=[*special, *BYTES], limit_alphabet=60, show_progress=False
    )
    model.train_from_iterator(CORPUS, trainer)
    plain = json.loads(model.to_str())
    plain["added_tokens"] = [one for one in plain["added_tokens"] if one["content"] not in BYTES]
    return _hugging_face(Tokenizer.from_str(json.dumps(plain)), range(len(special), len(special) + 256))


def _metaspace(scheme: str, model: Any, trainer: Any) -> Built:
    one = Tokenizer(model)
    one.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme=scheme)
    one.decoder = decoders.Metaspace(prepend_scheme=scheme)
    one.train_from_iterator(CORPUS, trainer)
    return _hugging_face(one)


def _unigram(scheme: str) -> Built:
    trainer = trainers.UnigramTrainer(
        vocab_size=300, special_tokens=["<unk>", *SPECIAL], unk_token="<unk>", show_progress=False
    )
    return _metaspace(scheme, models.Unigram(), trainer)


def _words(model: Any, trainer: Any, decoder: Any) -> Built:
    one = Tokenizer(model)
    one.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    one.decoder = decoder
    one.train_from_iterator(CORPUS, trainer)
    return _hugging_face(one)


def _word_piece() -> Built:
    trainer = trainers.WordPieceTrainer(vocab_size=400, special_tokens=["[UNK]", *SPECIAL], show_progress=False)
    return _words(models.WordPiece(unk_token="[UNK]"), trainer, decoders.WordPiece(cleanup=False))


def _word_level() -> Built:
    trainer = trainers.WordLevelTrainer(special_tokens=["[UNK]", *SPECIAL], show_progress=False)
    return _words(models.WordLevel(unk_token="[UNK]"), trainer, None)


def _sentence_piece(kind: str, **options: Any) -> Built:
    file = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(CORPUS), model_writer=file, model_type=kind, vocab_size=500, byte_fallback=True,
        user_defined_symbols=["<|im_start|>"], character_coverage=0.98, minloglevel=2, hard_vocab_limit=False,
        **options,
    )  # fmt: skip
    model = sentencepiece.SentencePieceProcessor(model_proto=file.getvalue())
    first = model.piece_to_id("<0x00>")
    return Built(
        loaded(file.getvalue(), "tokenizer.model"), model.encode, lambda ids: str(model.decode([*ids])),
        model.get_piece_size(), range(first, first + 256), file.getvalue(),
    )  # fmt: skip


def _tiktoken() -> Built:
    merged = {bytes([byte]): byte for byte in range(256)}
    for word in (b" t", b" th", b" the", "日".encode()[:2], "日".encode(), b"ing", b"\xf0\x9f", b"\xf0\x9f\x8e"):
        merged[word] = len(merged)
    special = {"<|im_start|>": len(merged) + 1, "<|im_end|>": len(merged) + 2}
    model = tiktoken.Encoding("own", pat_str=LLAMA_3, mergeable_ranks=merged, special_tokens=special)
    lines = b"".join(b"%s %d\n" % (base64.b64encode(word), rank) for word, rank in merged.items())
    listed = {str(token): {"content": word, "special": True} for word, token in special.items()}
    with TemporaryDirectory() as folder:
        Path(folder, "own.tiktoken").write_bytes(lines)
        Path(folder, "tokenizer_config.json").write_text(json.dumps({"added_tokens_decoder": listed}))
        ours = tokenizer.load(folder)
    known = {*merged.values(), *special.values()}

    def decode(ids: Sequence[int]) -> str:
        pieces = [model.decode_single_token_bytes(one) if one in known else b"<token %d>" % one for one in ids]
        return b"".join(pieces).decode("utf-8", "replace")

    return Built(ours, lambda text: model.encode(text, allowed_special="all"), decode, model.n_vocab)


def _splitting(*, prefix: bool = False) -> Any:
    return pre_tokenizers.ByteLevel(add_prefix_space=prefix)


def _like_llama_3() -> Any:
    split = pre_tokenizers.Split(Regex(LLAMA_3), "isolated")
    return pre_tokenizers.Sequence([split, pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])


def _like_llama_2(*more: Any) -> Any:
    steps = [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(), *more]
    return decoders.Sequence(steps)


KINDS: dict[str, Callable[[], Built]] = {
    "GPT-2": lambda: _byte_level(_splitting(prefix=True)),
    "Qwen": lambda: _byte_level(_splitting(), added=["<think>", "</think>", " \n\n", "é"]),
    "Llama 3": lambda: _byte_level(_like_llama_3(), decoder=decoders.Sequence([decoders.ByteLevel(), decoders.Fuse()])),
    "DeepSeek": lambda: _byte_level(pre_tokenizers.Sequence([pre_tokenizers.Digits(True), _splitting()])),
    "Llama 2": lambda: _fallback(_like_llama_2(decoders.Strip(" ", 1, 0))),
    "Gemma": lambda: _fallback(_like_llama_2()),
    "T5": lambda: _unigram("always"),
    "Metaspace first": lambda: _unigram("first"),
    "Metaspace never": lambda: _unigram("never"),
    "WordPiece": _word_piece,
    "words": _word_level,
    "SentencePiece BPE": lambda: _sentence_piece("bpe"),
    "SentencePiece unigram": lambda: _sentence_piece("unigram"),
    "SentencePiece with each blank": lambda: _sentence_piece("bpe", remove_extra_whitespaces=False),
    "SentencePiece without a prefix": lambda: _sentence_piece(
        "bpe", add_dummy_prefix=False, remove_extra_whitespaces=False
    ),
    "tiktoken": _tiktoken,
}


@cache
def built(kind: str) -> Built:
    """A tokenizer of this kind."""
    return KINDS[kind]()
