"""Rows that hold the token ids of a sample, and numbers for each token, in place of texts or beside them."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from rolloupe import tokens
from rolloupe.formats.reading import fields
from rolloupe.formats.token_texts import add_strings, note_of, note_without_tokenizer, strings_of, turns_of
from rolloupe.model import RunInfo, Sample, TokenSeries


def ids_of(value: object) -> list[int]:
    """Return token ids; -1 for what is no id, nothing for what is no list."""
    found = tokens.read_floats(value)
    if found is None:
        return []
    is_id = np.isfinite(found) & (np.abs(found) < fields.MAX_STEP)
    ids: list[int] = np.where(is_id, found, -1).astype(np.int64).tolist()
    return ids


def shown(ids: Sequence[int]) -> str:
    """Return ids as a text, for a sample whose text is unknown."""
    return " ".join(map(str, ids))


def texts_of(run: RunInfo, ids: Sequence[int], first: int) -> tuple[str, str]:
    """Return prompt and response, which begins at token `first`, by the run's tokenizer; without one the ids.

    They are decoded together, as the first token of a text may lose its blank.
    """
    strings = strings_of(run, ids)
    if strings is None:
        return shown(ids[:first]), shown(ids[first:])
    return "".join(strings[:first]), "".join(strings[first:])


def add_tokens(run: RunInfo, sample: Sample, ids: Sequence[int], first: int, *, has_text: bool) -> None:
    """Add the ids of a sample whose response begins at token `first`, and its texts by the run's tokenizer."""
    sample.token_ids = list(ids)
    add_strings(run, sample)
    if has_text or not ids:
        return
    strings = sample.token_strings if sample.is_decoded else None
    sample.notes.append(note_of(run, ids, strings) if run.tokenizer else note_without_tokenizer(ids))
    if strings and (turns := turns_of(run, ids, strings, first)):
        sample.turns = turns


def series_of(arrays: Mapping[str, Any], total: int, first: int | None) -> tuple[list[TokenSeries], list[str]]:
    """Return the series of a sample with `total` tokens, whose response begins at token `first`, and notes.

    They cover all tokens or the response, and are blank where the loss mask is 0; a note names one that does neither,
    and is not among them. If `first` is unknown, the arrays that are shorter tell it by their length.
    """
    read = {name: tokens.read_floats(values) for name, values in arrays.items()}
    found = {name: values for name, values in read.items() if values is not None and len(values)}
    notes: list[str] = []
    if not found:
        return [], notes
    if total and any(len(values) != total for values in found.values()):
        shorter = {len(values) for values in found.values() if len(values) < total}
        start = first if first is not None else total - shorter.pop() if len(shorter) == 1 else 0
        placed = tokens.place(found, total - start, start)
        found, notes = dict(placed.series), placed.notes
    series = [
        TokenSeries(name=name, values=tokens.packed(values), offset=max(0, total - len(values)))
        for name, values in found.items()
    ]
    if len({one.offset for one in series}) == 1:
        tokens.hide_masked(series, ("loss_mask",))
    return series, notes
