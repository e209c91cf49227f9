"""The members of a row that hold its tokens: strings, ids, series and masks, under many names.

Logprobs and alternatives come as inference servers and recorders write them: OpenAI's API (`logprobs.content` of chat
completions; `tokens`, `token_logprobs`, `top_logprobs` of legacy completions); vLLM's `vllm/logprobs.py`
(`SampleLogprobs`, for each token an object from ids to `{"logprob", "rank", "decoded_token"}`, the sampled one first;
`FlatLogprobs`, the same in flat lists); SGLang's `meta_info` (`output_token_logprobs` and `output_top_logprobs`,
triples of logprob, id and text or null); TGI's `details.tokens` (objects with `id`, `text`, `logprob`). Scripts
convert these to lists of pairs.
"""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from operator import itemgetter
from typing import Any, Final, NamedTuple, cast

import numpy as np

from rolloupe import tokens
from rolloupe.formats.generic.keys import MAX_NAME_CHARS, candidates, fold, keep_by_keys
from rolloupe.formats.reading import value_parsers as parsers
from rolloupe.formats.reading.records import Record
from rolloupe.formats.token_texts import ids_of
from rolloupe.model import MOST_ALTERNATIVES, Sample, TokenSeries

Alternatives = list[list[tuple[str, float]]]

OF_SGLANG, TOP_OF_SGLANG = "output_token_logprobs", "output_top_logprobs"
SERIES: Final = (
    "logprobs", "trainer_logprobs", "ref_logprobs", "rollout_logprobs", "old_logprobs", "values", "token_rewards",
    "advantages", "returns", "entropy", "kl",
)  # fmt: skip
LOGPROBS: Final = (
    "token_logprobs", OF_SGLANG, "output_logprobs", "response_logprobs", "completion_logprobs", "generation_logprobs",
    "sampling_logprobs", "inference_logprobs", "log_probs",
)  # fmt: skip
"""Other names of `logprobs`."""
TOP_LOGPROBS: Final = "top_logprobs"
STRINGS: Final = ("response_tokens", "token_strings", "completion_tokens", "output_tokens", "tokens")
"""Lists of token texts; if they hold numbers, lists of ids."""
IDS: Final = (
    "completion_ids", "response_ids", "output_ids", "response_token_ids", "completion_token_ids", "output_token_ids",
    "generated_token_ids", "generation_token_ids",
)  # fmt: skip
PROMPT_IDS: Final = ("prompt_ids", "prompt_token_ids", "prompt_tokens")
WHOLE_IDS: Final = ("input_ids", "token_ids", "tokens", "full_ids", "all_ids", "sequence_tokens", "sequence_ids")
"""Ids of the response alone, or of the prompt as well."""
TARGETS: Final = "labels"
"""The ids of trained tokens, as PyTorch's losses take them: -100 for all other tokens."""
MASKS: Final = (*tokens.LOSS_MASKS, tokens.ATTENTION)
META: Final = "meta_info"
UNTRAINED: Final = -100

_OF_CHOICE: Final = {"message", "text", "logprobs", "finish_reason", "token_ids", "prompt_token_ids", "index"}

_WITH_VALUES: Final = frozenset((*MASKS, *STRINGS, *IDS, *WHOLE_IDS, *PROMPT_IDS))
_IS_MASK: Final = frozenset(MASKS)
_ARRAYS: Final = frozenset((*SERIES, *MASKS))
_KINDS: Final = {
    **{name: name for name in (*SERIES, *MASKS)},
    **dict.fromkeys((*LOGPROBS, META), "logprobs"),
    **dict.fromkeys((*STRINGS, *IDS, *WHOLE_IDS), "ids"),
    **dict.fromkeys(PROMPT_IDS, "ids of the prompt"),
    **dict.fromkeys((TOP_LOGPROBS, TOP_OF_SGLANG), "alternatives"),
    TARGETS: "targets",
}
"""The members that hold tokens, each with its kind: the name of an array, or a word; the first of a kind counts."""
_ORDER: Final = {key: number for number, key in enumerate(_KINDS)}
_OTHER_NAMES: Final = {
    **dict.fromkeys(("logps", "per_token_logps", "logprob", "token_log_probs", "response_log_probs"), "log_probs"),
    **dict.fromkeys(("old_log_probs", "old_per_token_logps", "old_logps"), "old_logprobs"),
    **dict.fromkeys(("ref_log_probs", "ref_per_token_logps", "ref_logps", "reference_logprobs"), "ref_logprobs"),
    **dict.fromkeys(("rollout_log_probs", "sampling_log_probs", "behavior_logprobs"), "rollout_logprobs"),
    **dict.fromkeys(("train_mask", "trainable_mask", "mask"), "loss_mask"),
    **dict.fromkeys(("entropies", "token_entropies", "token_entropy"), "entropy"),
}  # fmt: skip
_USUAL: Final = {fold(name): usual for name, usual in _OTHER_NAMES.items()} | {
    fold(key): key for key in reversed(_KINDS)
}
"""The usual name for each folded name of a member; the first usual name counts."""


def needs_length(key: str) -> bool:
    """Return whether a scan needs only the length of a list under this key."""
    return _USUAL.get(fold(key), key) not in _WITH_VALUES


@keep_by_keys
def token_members(keys: tuple[str, ...]) -> tuple[tuple[str, str], ...]:
    """The keys of a row that may hold tokens, with their usual names, in order of precedence."""
    named = ((key, _USUAL[folded]) for key in keys if len(key) < MAX_NAME_CHARS and (folded := fold(key)) in _USUAL)
    return tuple(sorted(named, key=lambda pair: (_ORDER[pair[1]], pair[0] != pair[1])))


class RowTokens(NamedTuple):
    """The tokens of a row as they are stored: lists, or arrays that a scan has read."""

    strings: Any = ()
    ids: Any = ()
    """The ids of the response, or of prompt and response if `is_whole`."""
    prompt_ids: Any = ()
    arrays: Mapping[str, Any] = {}
    """Arrays by the names of their series and masks."""
    keys: Mapping[str, str] = {}
    """The row's members that hold all of this, each with its kind: the name of an array, or a word."""
    top: object = None
    """The value that holds the alternatives."""
    is_whole: bool = False

    @property
    def pieces(self) -> Sequence[object]:
        """The tokens one by one, with their padding; empty if the row has only arrays."""
        return cast("Sequence[object]", self.ids if self.is_whole or not len(self.strings) else self.strings)

    @property
    def has_series(self) -> bool:
        """True for a row with a number for each token."""
        return any(map(tokens.length, self.arrays.values()))

    @property
    def may_be_padded(self) -> bool:
        """False if a mask counts both the first and the last token, so neither is padding."""
        count = len(self.pieces)
        masks = (values for name, values in self.arrays.items() if name in _IS_MASK)
        return not any(len(values) == count and values[0] == values[-1] == 1 for values in masks)

    def masks(self) -> dict[str, tokens.Floats]:
        """The masks that can be read."""
        read = {name: tokens.read_mask(values) for name, values in self.arrays.items() if name in _IS_MASK}
        return {name: mask for name, mask in read.items() if mask is not None}


class RowExtent(NamedTuple):
    """The tokens of a row without padding: the number in the prompt, None if unknown, and in the response."""

    span: tokens.UnpaddedSpan
    prompt: int | None
    response: int | None
    """None if the row has neither strings nor ids."""


_NONE: Final = RowTokens()


def row_tokens(record: Record) -> RowTokens:
    """Find the tokens of a row."""
    names = token_members(tuple(record))
    if not names:
        return _NONE
    arrays: dict[str, Any] = {}
    keys: dict[str, str] = {}
    strings: Any = ()
    ids: Any = ()
    prompt_ids: Any = ()
    top: object = None
    is_whole = False
    for key, usual in names:
        value, what = record[key], _KINDS[usual]
        if what == "ids" and type(value) is list and value and isinstance(value[0], dict):
            what = "logprobs"  # one object for each token
        if what in _ARRAYS:
            if what not in arrays and _is_flat(value, what):
                arrays[what], keys[key] = value, what
            elif what == "logprobs" not in arrays and (found := sampled_tokens(value)) is not None:
                arrays[what], keys[key] = found.logprobs, what
                strings, ids, top = found.strings, found.ids, found.top
        elif what == "alternatives":
            if isinstance(value, list) and value:
                top, keys[key] = value, what
        elif not tokens.length(value):
            continue
        elif what == "targets":
            targets = tokens.inner(value)
            if "loss_mask" not in arrays and isinstance(targets, list) and UNTRAINED in targets:
                trained = [isinstance(target, int | float) and target != UNTRAINED for target in targets]
                arrays["loss_mask"], keys[key] = [int(is_trained) for is_trained in trained], "loss_mask"
        elif what == "ids of the prompt":
            if len(ids) and not prompt_ids and _begins_with(value, int):
                prompt_ids, keys[key] = value, what
        elif not len(strings) and usual in STRINGS and (arrays or usual == STRINGS[0]) and _begins_with(value, str):
            strings, keys[key] = value, "strings"
        elif not len(ids) and (arrays or usual not in STRINGS) and _begins_with(value, int):
            ids, keys[key], is_whole = value, "ids", usual in WHOLE_IDS
    if is_whole and len(prompt_ids) and [*ids[: len(prompt_ids)]] != [*prompt_ids]:
        is_whole = False
    return RowTokens(strings, ids, prompt_ids, arrays, keys, top, is_whole)


def holds_ids(record: Record) -> bool:
    """Return whether a row has the ids of its response, or of all its tokens."""
    return bool(len(row_tokens(record).ids))


def _is_flat(value: object, what: str) -> bool:
    """Whether a value is an array of numbers, flags, or texts of them, judging by its first non-null element."""
    if isinstance(value, np.ndarray):
        return bool(len(value))
    if not isinstance(value, list) or not value:
        return False
    if isinstance(value[0], float | int):
        return True
    value = tokens.inner(value)
    first = next((number for number in value if number is not None), 0) if isinstance(value, list) else 0
    is_number = isinstance(first, int | float) or (isinstance(first, str) and parsers.number_in(first) != first)
    return bool(value) and (is_number or (isinstance(first, str) and what in _IS_MASK))


def _begins_with(value: list[Any] | tokens.Floats, kind: type) -> bool:
    return kind is int if isinstance(value, np.ndarray) else type(value[0]) is kind


def with_choice(record: Record) -> Record:
    """Return a row with the members of the only choice in a completion that it stores as a server sent it.

    Source: the objects of OpenAI's API, with `choices[].message`, or `text`, and `choices[].logprobs`; vLLM adds
    `token_ids` and `prompt_token_ids`. The completion is the row itself, or a member in place of the response.
    """
    key = ""
    for name in candidates(tuple(record)).by_role.get("response", ()):  # a plain loop: for each row it runs often
        if type(value := record[name]) is dict and "choices" in value:
            key = name
            break
    if not key and "choices" not in record:
        return record
    whole = record[key] if key else record
    listed = whole.get("choices")
    choice = listed[0] if isinstance(listed, list) and len(listed) == 1 else None
    if not isinstance(choice, dict):
        return record
    message, rest = choice.get("message"), {name: value for name, value in whole.items() if name != "choices"}
    found = {name: value for name, value in record.items() if name not in (key, "choices")}
    found |= {f"{key}_object": rest} if key and rest else {}
    answer = None if choice.get("text") is None else parsers.as_text(choice["text"])
    left = {name: value for name, value in choice.items() if name not in _OF_CHOICE and value is not None}
    others = {
        "response": [{"role": "assistant"} | message] if isinstance(message, dict) else answer,
        "logprobs": choice.get("logprobs"), "finish_reason": choice.get("finish_reason"),
        "response_ids": choice.get("token_ids"),
        "prompt_ids": choice.get("prompt_token_ids", whole.get("prompt_token_ids")), "choice": left or None,
    }  # fmt: skip
    return found | {name: value for name, value in others.items() if value is not None and name not in found}


def extent_of(found: RowTokens, prompt: int | None, pad: str) -> RowExtent:
    """Return where the tokens of a row begin and end. Masks, which may be long lists, are read only if they matter.

    `prompt` is the length of the prompt according to the row, and `pad` a string that is always padding at the end.
    """
    pieces = found.pieces
    span = tokens.unpadded(pieces, found.masks() if found.may_be_padded else {})
    if pad and len(found.strings):
        stop = min(span.stop, tokens.unpadded_length(found.strings, pad))
        span = span._replace(stop=max(span.start, stop))
    prompt = len(found.prompt_ids) or prompt
    count = span.stop - span.start
    if not len(pieces) or not found.is_whole:
        return RowExtent(span, prompt, count if len(pieces) else None)
    if len(found.strings):
        prompt = count - len(found.strings)
    elif prompt is None:
        prompt = _prompt_of(found, span)
    is_known = prompt is not None and 0 <= prompt <= count
    return RowExtent(span, prompt if is_known else None, count - (prompt or 0) if is_known else count)


def _prompt_of(found: RowTokens, span: tokens.UnpaddedSpan) -> int | None:
    """The number of ids that belong to the prompt: those before the first trained token, if known.

    Arrays that all have one length, shorter than the ids, cover the response.
    """
    for name, values in found.arrays.items():
        if name in tokens.LOSS_MASKS and tokens.length(values) == len(found.ids):
            mask = tokens.read_mask(values)
            if mask is not None and (inside := tokens.counts(mask)).any():
                return int(inside.argmax()) - span.start
    count = span.stop - span.start
    shorter = {length for values in found.arrays.values() if 0 < (length := tokens.length(values) or 0) < count}
    return count - shorter.pop() if len(shorter) == 1 else None


class AlignedRow(NamedTuple):
    """The arrays of a row over the tokens of its response, masks among them."""

    extent: RowExtent
    total: int
    series: Mapping[str, tokens.Floats]
    masks: Mapping[str, tokens.Floats]
    """The masks under the row's own names."""
    lost: frozenset[str]
    """The arrays that fit nowhere, by their names in `RowTokens.keys`."""
    notes: list[str]


def placed_row(found: RowTokens, prompt: int | None, pad: str) -> AlignedRow:
    """Place the arrays of a row; see `extent_of`."""
    masks = found.masks()
    extent = extent_of(found, prompt, pad)
    (start, stop), padded = extent.span, len(found.pieces)
    read = {key: _read_numbers(value) for key, value in found.arrays.items() if key not in MASKS}
    read |= masks
    arrays = {name: array for name in found.arrays if (array := read.get(name)) is not None and len(array)}
    lost = found.arrays.keys() - arrays.keys()
    notes = [f"{name} does not hold flags, and is not used" for name in MASKS if name in lost]
    if stop - start < padded:
        arrays = {name: array[start:stop] if len(array) == padded else array for name, array in arrays.items()}
        notes.append(
            f"response_tokens: shown up to the padding, {stop - start} of {padded}"
            if pad
            else f"{padded - (stop - start)} of {padded} tokens are padding, outside of every mask, and left out"
        )
    placed = tokens.place(arrays, extent.response, extent.prompt)
    return AlignedRow(extent, placed.total, placed.series, masks, placed.left_out | lost, notes + placed.notes)


def _read_numbers(values: object) -> tokens.Floats | None:
    """An array of numbers, or of texts of them."""
    values = tokens.inner(values)
    if isinstance(values, list) and any(isinstance(value, str) for value in values):
        values = [parsers.number_in(value) if isinstance(value, str) else value for value in values]
    return tokens.read_floats(values)


def add_row_tokens(sample: Sample, found: RowTokens, placed: AlignedRow) -> set[str]:
    """Give a sample the tokens of its row; return the members of the row that have no place among them."""
    (start, stop), padded, lost = placed.extent.span, len(found.pieces), placed.lost
    ids, strings = ids_of(found.ids), parsers.texts([*found.strings])
    if len(ids) == padded:
        ids = ids[start:stop]
    if len(strings) == padded:
        strings = strings[start:stop]
    if strings and not found.is_whole:
        strings = strings[: placed.total]
    if found.is_whole and len(strings) > len(ids):
        sample.notes.append(f"{len(strings)} token strings, but {len(ids)} ids: the strings are not shown")
        strings, lost = [], lost | {"strings"}
    elif ids and strings and not found.is_whole and len(ids) != len(strings):
        sample.notes.append(f"{len(ids)} token ids, but {len(strings)} strings: the ids are not shown")
        ids, lost = [], lost | {"ids", "ids of the prompt"}
    if ids and not found.is_whole:
        ids = [*ids_of(found.prompt_ids), *ids]
    offset = max(0, len(ids) - placed.total)
    sample.token_ids, sample.token_strings = ids, strings
    sample.series = [
        TokenSeries(name=name, values=tokens.packed(values), offset=offset) for name, values in placed.series.items()
    ]
    for mask in tokens.MASKS:
        tokens.hide_masked(sample.series, (mask,))
    sample.top_logprobs = _alternatives(found, placed)
    sample.notes += placed.notes
    return {key for key, what in found.keys.items() if what in lost}


def _alternatives(found: RowTokens, placed: AlignedRow) -> Alternatives:
    read = alternatives_of(found.top)
    if len(read) in (0, placed.total) or not placed.total:
        return read
    places = {TOP_LOGPROBS: np.arange(len(read), dtype=np.float64)}
    again = tokens.place({**placed.masks, **places}, placed.total, placed.extent.prompt).series.get(TOP_LOGPROBS)
    if again is None:
        return []
    return [[] if np.isnan(place) else read[int(place)] for place in again.tolist()]


_BY_LOGPROB = itemgetter(1)
_TEXTS = ("token", "text", "decoded_token", "content")
_IDS = ("id", "token_id", "token")
_LOGPROBS = ("logprob", "log_prob")
_AS_ID = "token_id:"
"""How vLLM writes a token with `return_tokens_as_token_ids`."""


class SampledTokens(NamedTuple):
    """The sampled tokens that a list of logprobs names; a list may be empty."""

    logprobs: list[Any]
    strings: list[str]
    ids: list[int]
    top: object
    """The value that holds the alternatives: see `alternatives_of`."""


def alternatives_of(value: object) -> Alternatives:
    """Read an entry for each of the last tokens, the likeliest first; leave out all but texts with numbers.

    An entry is a list of pairs, of triples of SGLang or of objects with `token` and `logprob`, an object of logprobs
    by token, or an object with a member `top_logprobs` that is one of these.
    """
    found = []
    for entry in parsers.as_list(value):
        inner = entry.get("top_logprobs") if isinstance(entry, dict) else None
        pairs = _pairs(inner if isinstance(inner, (list, dict)) else entry)
        found.append(sorted(pairs, key=_BY_LOGPROB, reverse=True)[:MOST_ALTERNATIVES])
    return found


def sampled_tokens(value: object) -> SampledTokens | None:
    """Read the logprobs of sampled tokens that are more than a list of numbers; None for anything else.

    Other values stay among the logprobs, so that each keeps its place.
    """
    if isinstance(value, dict):
        return _of_object(value)
    listed = parsers.as_list(value)
    first = next((item for item in listed if item is not None), None)
    if isinstance(first, (list, tuple)):
        return _of_tuples(listed)
    if not isinstance(first, dict):
        return None
    return _of_objects(listed) if any(key in first for key in _LOGPROBS) else _of_members(listed)


def _of_object(value: Record) -> SampledTokens | None:
    if isinstance(content := value.get("content"), list):
        return _of_objects(content)
    if isinstance(listed := value.get(OF_SGLANG), list):
        found = sampled_tokens(listed)
        return found and found._replace(top=value.get(TOP_OF_SGLANG))
    if isinstance(logprobs := value.get("token_logprobs"), list):
        names = [(_text(token), _id(token)) for token in parsers.as_list(value.get("tokens"))]
        return _tokens(logprobs, names, value.get("top_logprobs"))
    starts, ids, values = value.get("start_indices"), value.get("token_ids"), value.get("logprobs")
    if isinstance(starts, list) and isinstance(ids, list) and isinstance(values, list):
        return _of_flat(starts, ids, values, value.get("decoded_tokens"))
    return None


def _of_objects(entries: Sequence[Any]) -> SampledTokens | None:
    objects = [entry if isinstance(entry, dict) else {} for entry in entries]
    logprobs = [_member(entry, _LOGPROBS) for entry in objects]
    texts = (next((entry[key] for key in _TEXTS if isinstance(entry.get(key), str)), None) for entry in objects)
    names = [(_text(text), _id(_member(entry, _IDS))) for text, entry in zip(texts, objects, strict=True)]
    has_top = any("top_logprobs" in entry for entry in objects)
    return _tokens(logprobs, names, entries if has_top else None)


def _of_members(entries: Sequence[Any]) -> SampledTokens | None:
    """Objects of logprobs by token or id; in objects with more than a number, the first is the sampled token."""
    logprobs: list[Any] = []
    names: list[tuple[str | None, int | None]] = []
    for entry in entries:
        members = [*entry.items()] if isinstance(entry, dict) else []
        key, value = members[0] if members else (None, None)
        if isinstance(value, dict):
            is_id = isinstance(key, str) and key.isascii() and key.isdigit() and len(key) < 16
            logprobs.append(value.get("logprob"))
            names.append((_text(value.get("decoded_token")), int(key) if is_id and key else None))
        else:
            logprobs.append(value if len(members) == 1 else None)
            names.append((key if len(members) == 1 else None, None))
    return _tokens(logprobs, names, entries)


def _of_tuples(entries: Sequence[Any]) -> SampledTokens | None:
    """Pairs of a token or id with its logprob in any order, and triples of SGLang."""
    listed = [entry if isinstance(entry, (list, tuple)) and len(entry) in (2, 3) else (None, None) for entry in entries]
    columns = [[entry[place] for entry in listed if entry[place] is not None] for place in (0, 1)]
    are_tokens = [any(isinstance(item, str) for item in column) for column in columns]
    if not any(are_tokens):
        are_tokens = [bool(column) and all(_id(item) is not None for item in column) for column in columns]
        if are_tokens[0] == are_tokens[1]:
            return None  # their types do not show which one is the logprob
    token, logprob = (0, 1) if are_tokens[0] else (1, 0)
    names = [(_text(entry[2]) if len(entry) == 3 else _text(entry[token]), _id(entry[token])) for entry in listed]
    return _tokens([entry[logprob] for entry in listed], names, None)


def _of_flat(starts: list[Any], ids: list[Any], values: list[Any], texts: object) -> SampledTokens | None:
    """VLLM's flat lists: each token has a slice of them, which begins with the sampled token."""
    pieces = texts if isinstance(texts, list) and len(texts) == len(ids) else [None] * len(ids)
    edges = [*starts, len(ids)]
    if len(values) != len(ids) or any(_id(edge) is None for edge in edges) or any(a >= b for a, b in pairwise(edges)):
        return None
    if starts and starts[0] != 0:
        return None
    names = [(_text(pieces[start]), _id(ids[start])) for start in starts]
    entries = [
        [[pieces[n] if isinstance(pieces[n], str) else str(ids[n]), values[n]] for n in range(start, stop)]
        for start, stop in pairwise(edges)
    ]
    return _tokens([values[start] for start in starts], names, entries)


def _tokens(logprobs: list[Any], names: Sequence[tuple[str | None, int | None]], top: object) -> SampledTokens | None:
    if logprobs and all(parsers.number(value) is None for value in logprobs):
        return None
    strings, ids = [text for text, _ in names], [number for _, number in names]
    return SampledTokens(
        logprobs,
        [text or "" for text in strings] if any(strings) else [],
        [-1 if number is None else number for number in ids] if any(number is not None for number in ids) else [],
        top,
    )


def _member(entry: Record, keys: Iterable[str]) -> Any:
    return next((entry[key] for key in keys if key in entry), None)


def _text(value: object) -> str | None:
    return value if isinstance(value, str) and not value.startswith(_AS_ID) else None


def _id(value: object) -> int | None:
    if isinstance(value, str) and value.startswith(_AS_ID):
        digits = value.removeprefix(_AS_ID)
        return int(digits) if digits.isascii() and digits.isdigit() and len(digits) < 16 else None
    return value if type(value) is int and 0 <= value < parsers.MAX_STEP else None


def _pairs(entry: Any) -> Iterator[tuple[str, float]]:
    members: Iterable[Any] = entry.items() if isinstance(entry, dict) else entry if isinstance(entry, list) else ()
    for member in members:
        text: Any = None
        value: Any = None
        if isinstance(member, dict):
            text, value = member.get("token"), _member(member, _LOGPROBS)
        elif isinstance(member, (list, tuple)) and len(member) == 2:
            text, value = member
        elif isinstance(member, (list, tuple)) and len(member) == 3:  # SGLang: a text or null at the end
            value, text = member[0], str(member[1]) if member[2] is None else member[2]
        if isinstance(value, dict):
            decoded = value.get("decoded_token")
            text, value = decoded if isinstance(decoded, str) and decoded else text, value.get("logprob")
        logprob = None if isinstance(value, bool) else parsers.number(value)
        if isinstance(text, str) and logprob is not None and math.isfinite(logprob):
            yield text, logprob
