"""Samples of a dump: the fields of slime's `Sample.to_dict`, which miles and Relax share, as rows and whole samples.

Source: `utils/types.py` of slime and miles. Fields were added over time: each is read if it is there.
"""

from collections import Counter
from collections.abc import Sequence
from threading import Lock
from typing import Any, Final

from rolloupe import text, tokens
from rolloupe.formats.reading import fields
from rolloupe.formats.reading.pickles import NumberList, Tensor, ValueBudget, as_json, floats_of, simple, torch_file
from rolloupe.formats.reading.pickles.json_values import CHARACTERS, MANY
from rolloupe.formats.reading.pickles.values import MAX_VALUES, Blob
from rolloupe.formats.reading.records import Record, Unusable
from rolloupe.formats.token_texts import ids_of, series_of
from rolloupe.model import Location, Locator, Sample, SampleRow, Turn

PART: Final = "samples"
"""Names the list of a dump in which a locator counts."""

SERIES: Final = {
    "loss_mask": "loss_mask", "rollout_log_probs": "logprobs", "teacher_log_probs": "teacher_logprobs",
    "opd_reverse_kl": "opd_reverse_kl",
}  # fmt: skip
"""Lists with a number for each token of the response, and the names of their series."""

REMOVED: Final = "remove_sample"
_PLACED: Final = frozenset((
    *SERIES, "group_index", "index", "prompt", "tokens", "response", "response_length", "label", "reward", "status",
    "decoded_tokens", REMOVED,
))  # fmt: skip
VALUES_OF_ROW: Final = 128
"""The cost of a sample in the budget of its file, besides its values: a list may repeat one sample very often."""

VALUES_OF_MEMBER: Final = 4
"""The cost of the name and of the value of each member: both become metrics."""

CHARACTERS_OF_ROW: Final = 4
"""This many characters of a row's texts, which the index keeps, cost as much as a value."""

_EMPTY: Final[tuple[object, ...]] = (None, [], {}, "", False)


class _Names:
    """Group and index of the first samples of a dump."""

    def __init__(self) -> None:
        self.lock = Lock()
        self.found: list[tuple[str, str]] = []
        self.seen: Counter[tuple[str, str]] = Counter()


class Dump:
    """The samples of one dump, and their names, which are unique within it."""

    def __init__(self, root: Any, size_bytes: int = 0, names: _Names | None = None) -> None:
        """Raises `Unusable` for a root that holds no samples; `size_bytes` is the size of its file."""
        samples = root.get("samples") if isinstance(root, dict) else None
        if not isinstance(samples, list):
            raise Unusable("a file of PyTorch without samples")
        self.samples: list[Any] = samples
        self.step = fields.integer(_small(root.get("rollout_id")))
        self._names = names or _Names()
        self.budget = ValueBudget(size_bytes)

    @classmethod
    def at(cls, location: Location, *, is_for_one: bool = False) -> "Dump":
        """Read the dump at a location. Raises OSError, `UnreadablePickle` and `Unusable`.

        Those who read it for one sample after the other share the names. Each scan makes its own, and pays for them.
        """
        file = torch_file(location)
        return cls(file.root, file.size_bytes, file.derived.setdefault("names", _Names()) if is_for_one else None)

    def json(self, value: Any) -> Any:
        """A value as JSON has it. Raises `UnreadablePickle`, also once the samples repeat their values too often."""
        return as_json(value, budget=self.budget)

    def name(self, position: int) -> tuple[str, str]:
        """Return group and index of a sample. Of siblings that share an index, later ones get a number.

        Raises `UnreadablePickle` once the samples repeat their values too often.
        """
        names = self._names
        with names.lock:
            while (at := len(names.found)) <= position:
                record = self.samples[at]
                self.budget.spend(VALUES_OF_ROW + _weight(record))
                own = self._own_name(record, at)
                names.found.append((own[0], f"{own[1]}-{names.seen[own]}" if names.seen[own] else own[1]))
                names.seen[own] += 1
            return names.found[position]

    def _own_name(self, record: object, position: int) -> tuple[str, str]:
        if not isinstance(record, dict):
            return "", str(position)
        group = fields.name(_small(record.get("group_index")))
        index = fields.name(_small(record.get("index")))
        return group or fields.digest(fields.joined(self.json(record.get("prompt")))), index or str(position)


def _small(value: Any) -> Any:
    """See `simple`; None for a long text, which is no number, no name and no word."""
    return None if isinstance(value, Blob) else simple(value)


def _weight(record: Any) -> int:
    """Return the cost of reading the members of a sample and of its metadata; long texts cost more."""
    found = [record, record.get("metadata")] if isinstance(record, dict) else []
    dicts: list[dict[Any, Any]] = [value for value in found if isinstance(value, dict)]
    return sum(
        VALUES_OF_MEMBER + _length(value) // CHARACTERS for one in dicts for pair in one.items() for value in pair
    )


def _length(value: Any) -> int:
    return value.length if isinstance(value, Blob) else len(value) if isinstance(value, str | bytes) else 0


def uid_of(step: int, position: int) -> str:
    """Return the name by which the trainer's rows about a sample find it: its position in the dump of its step."""
    return f"{step}:{position}"


def row_of(dump: Dump, position: int, split: str, step: int) -> SampleRow:
    """Return a sample as a row. Raises `Unusable` and `UnreadablePickle`."""
    record = dump.samples[position]
    if not isinstance(record, dict) or record.keys().isdisjoint(("tokens", "response")):
        raise Unusable("an object without tokens or response is no sample")
    group, index = dump.name(position)
    reward = fields.reward(dump.json(simple(record.get("reward"))))
    status, status_raw = fields.status(_small(record.get("status")))
    total, response = _counts(record)
    metadata = _metadata(record)
    prompt = fields.joined(dump.json(simple(record.get("prompt"))))
    answer = fields.joined(dump.json(simple(record.get("response"))), thoughts=True)
    dump.budget.spend((len(prompt) + len(answer)) // CHARACTERS_OF_ROW)
    return SampleRow(
        split=split,
        step=step,
        group=group,
        index=index,
        ordinal=position,
        start=position,
        length=0,
        part=PART,
        reward=reward.value,
        status=status,
        status_raw=status_raw,
        prompt_tokens=None if total is None else max(0, total - (response or 0)),
        response_tokens=response,
        total_tokens=total,
        uid=uid_of(step, position) if split == "train" else "",
        discarded=REMOVED if _small(record.get(REMOVED)) is True else "",
        turns=fields.count(metadata.get("rollout_turns")) or 1,
        metrics=_metrics(record, metadata) | reward.metrics,
        tags=_tags(metadata) | reward.tags,
        has_series=any(_is_list(record.get(key)) for key in SERIES),
        prompt=prompt,
        response=answer,
    )


def _is_list(value: Any) -> bool:
    return isinstance(value, list | NumberList | Tensor)


def _counts(record: Record) -> tuple[int | None, int | None]:
    """The numbers of all tokens and of those of the response."""
    found = record.get("tokens")
    total = len(found) if isinstance(found, list | NumberList) else found.size if isinstance(found, Tensor) else None
    response = fields.count(_small(record.get("response_length")))
    return total or None, response


def _metadata(record: Record) -> Record:
    found = record.get("metadata")
    pairs: list[tuple[object, Any]] = [*found.items()] if isinstance(found, dict) else []
    return {key: _small(value) for key, value in pairs if isinstance(key, str)}


def _metrics(record: Record, metadata: Record) -> dict[str, float]:
    found = {
        key: number for key, value in _named(record) if key not in _PLACED and (number := _number(value)) is not None
    }
    found |= {f"metadata.{key}": number for key, value in metadata.items() if (number := _number(value)) is not None}
    versions = record.get("weight_versions")
    newest = _small(versions[-1]) if isinstance(versions, list) and versions else None
    if (version := fields.integer(newest)) is not None:
        found["weight_version"] = float(version)
    names = fields.MetricNames()
    return {names[name]: number for name, number in found.items()}


def _named(record: Record) -> list[tuple[str, Any]]:
    """The members of a record whose keys are texts: a pickle may have others."""
    pairs: list[tuple[object, Any]] = [*record.items()]
    return [(text.clean(key), value) for key, value in pairs if isinstance(key, str)]


def _number(value: Any) -> float | None:
    return fields.number(_small(value)) if not isinstance(value, bool) else None


def _tags(metadata: Record) -> dict[str, str]:
    short_ones = {key: value for key, value in metadata.items() if isinstance(value, str | bytes) and len(value) < MANY}
    texts = {key: as_json(value) for key, value in short_ones.items()}
    return {f"metadata.{key}": short for key, value in texts.items() if (short := fields.tag(value))}


def sample_of(dump: Dump, row: SampleRow, locator: Locator) -> Sample:
    """Return a whole sample without what the trainer made of it. Raises `UnreadablePickle`."""
    record = dump.samples[row.start]
    prompt, response = dump.json(simple(record.get("prompt"))), dump.json(simple(record.get("response")))
    strings = record.get("decoded_tokens")
    shown = [fields.as_text(string) for string in dump.json(strings)] if isinstance(strings, list) else []
    sample = fields.sample_of(row, locator, prompt, response)
    ids = ids_of(_floats(record, "tokens", sample))
    sample.label = fields.as_text(dump.json(simple(record.get("label"))))
    sample.token_ids = ids
    sample.token_strings = shown[-row.response_tokens :] if row.response_tokens and len(shown) == len(ids) else []
    arrays = {name: _floats(record, key, sample) for key, name in SERIES.items()}
    sample.series, notes = series_of(arrays, len(ids), first_of(len(ids), row.response_tokens))
    sample.notes += notes
    sample.extra = _extra(dump, record, row)
    return sample


def _floats(record: Record, key: str, sample: Sample) -> tokens.Floats | None:
    """The numbers under a key; None for other values, and for very many, which a note says. Raises as `floats_of`."""
    value = record.get(key)
    count = len(value) if isinstance(value, list | NumberList) else value.size if isinstance(value, Tensor) else 0
    if count > MAX_VALUES:
        sample.notes.append(f"{key} holds {count:,} values, and none is shown: at most {MAX_VALUES:,} are read")
        return None
    return floats_of(value)


def first_of(total: int, response: int | None) -> int | None:
    """Return at which of its tokens the response of a sample begins; None if its record does not say so."""
    return None if response is None or response > total else total - response


def _extra(dump: Dump, record: Record, row: SampleRow) -> dict[str, Any]:
    """Return the members that neither the row nor the sample shows."""
    found: dict[str, Any] = {}
    for name, value in _named(record):
        if name in _PLACED and not _is_odd(dump, name, value):
            continue
        shown = dump.json(value)
        if name not in row.metrics and not any(shown is empty or shown == empty for empty in _EMPTY):
            found[name] = shown
    return found


def _is_odd(dump: Dump, key: str, value: Any) -> bool:
    """Return whether a value has a type that the sample's own field for it cannot hold."""
    if key == "reward":
        return not fields.is_shown_reward(dump.json(simple(value)))
    if key in SERIES:
        return value is not None and not _is_list(value)
    return False


def first_answer(messages: Sequence[Any], prompt: Any) -> int:
    """Return where in a recorded conversation the response begins: behind the prompt, else with the first answer."""
    if isinstance(prompt, list) and len(messages) > len(prompt) and list(messages[: len(prompt)]) == prompt:
        return len(prompt)
    first = text.answer_at(messages)
    return first if first < len(messages) else 0


def turns_from(messages: Sequence[Any], prompt: Any) -> list[Turn]:
    """Return the turns of a recorded conversation."""
    first = first_answer(messages, prompt)
    return fields.prompt_turns(list(messages[:first])) + fields.response_turns(list(messages[first:]))
