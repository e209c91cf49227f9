"""Texts of token ids, for formats whose records hold only ids, and the choice of a run's tokenizer."""

import os
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from itertools import accumulate, compress
from typing import Any

import numpy as np

from rolloupe import text, tokenizer, tokens
from rolloupe.errors import UnreadablePath
from rolloupe.formats.reading import value_parsers as parsers
from rolloupe.formats.reading.files import links_of
from rolloupe.formats.registry import by_name
from rolloupe.model import Location, Reading, RunInfo, Sample, SampleRow, Scanned, TokenizerFile, TokenSeries, Turn
from rolloupe.storage import is_file
from rolloupe.tokenizer import Tokenizer

MAX_CHARS = 64 * 2**20
"""Maximum length of the text of one record: a few ids of long tokens must not fill the memory."""


def own_tokenizer(run: RunInfo, folder: str = "") -> list[Location | str]:
    """Return the tokenizer in a folder of a run, if any, as `Format.tokenizers` does."""
    place = Location(os.path.join(run.root, folder) if folder else run.root, links_of(run))
    found = None if is_file(run.root) else tokenizer.find_tokenizer(place)
    return [found] if found else []


def tokenizer_of(run: RunInfo) -> Tokenizer | None:
    """Return the tokenizer of a run; None without one. Raises `UnreadablePath` if its file changed."""
    return tokenizer.load_unchanged(run.tokenizer) if run.tokenizer else None


def strings_of(run: RunInfo, ids: Sequence[int]) -> list[str] | None:
    """Return the text that each token adds; None without a tokenizer, and for a text that is too long."""
    decoder = tokenizer_of(run)
    if decoder is None or tokenizer.most_chars(decoder, ids) > MAX_CHARS:
        return None
    return tokenizer.decode_tokens(decoder, ids)


def add_strings(run: RunInfo, sample: Sample) -> None:
    """Decode the token strings of a sample that has ids and no strings; say which ids are parts of characters."""
    if sample.token_ids and not sample.token_strings:
        sample.token_strings = strings_of(run, sample.token_ids) or []
        sample.is_decoded = bool(sample.token_strings)
    decoder = tokenizer_of(run) if sample.is_decoded else None
    if decoder is not None:
        sample.partial_tokens = tokenizer.partial_pieces(decoder, sample.token_ids)


def strings_of_prompt(sample: Sample) -> int:
    """Return how many token strings of a sample belong to the prompt: none if they cover only the response."""
    is_response = len(sample.token_strings) == sample.row.response_tokens
    return (sample.row.prompt_tokens or 0) if sample.is_decoded and not is_response else 0


def turns_of(run: RunInfo, ids: Sequence[int], strings: Sequence[str], first: int) -> list[Turn]:
    """Return the turns of a sequence whose response begins at the token `first`; empty without a known template.

    A turn begins only at a special token: a model that spells `<|im_start|>` with ordinary tokens begins no turn.
    """
    decoder = tokenizer_of(run)
    if decoder is None:
        return []
    starts = [0, *accumulate(map(len, strings))]
    special = set(compress(starts, map(decoder.special.__contains__, ids)))
    edge = starts[min(first, len(ids))]
    prompt, response = "".join(strings[:first]), "".join(strings[first:])
    of_prompt = {at for at in special if at < edge}
    of_response = {at - edge for at in special if at >= edge}
    if not (text.begins_any_turn(prompt, of_prompt) or text.begins_any_turn(response, of_response)):
        return []
    turns = text.split_prompt(prompt, of_prompt) if prompt else []
    turns += text.split_response(response, of_response) if response else []
    stop = 0
    for turn, end in zip(turns, accumulate(len(text.verbatim(turn)) for turn in turns), strict=True):
        turn.token_start, stop = stop, bisect_left(starts, end, 0, len(ids))
        turn.token_stop, turn.tokens = stop, stop - turn.token_start
    return turns


def note_without_tokenizer(ids: Sequence[int]) -> str:
    """Say what is shown while no tokenizer is known, and what to do next."""
    return f"the file holds token ids and no text: {len(ids):,} ids, no tokenizer. Next: open it with --tokenizer"


def note_of(run: RunInfo, ids: Sequence[int], strings: Sequence[str] | None) -> str:
    """Say where the text of a sequence comes from, and how it differs from the tokens."""
    count = f"{len(ids):,} token id{'' if len(ids) == 1 else 's'}"
    decoder = tokenizer_of(run)
    if decoder is None:
        return note_without_tokenizer(ids)
    if strings is None:
        return f"{count} are a text of more than {MAX_CHARS // 2**20} Mi characters: ids are shown"
    unknown = sum(token_id not in decoder for token_id in ids)
    shown = f"; {unknown:,} of them are not in its vocabulary, and shown as <token ID>" if unknown else ""
    return f"the text is decoded from {count} with {decoder.file.path}{shown}"


def ids_of(value: object) -> list[int]:
    """Return token ids, -1 for an element that is not an id; empty if the value is not a list."""
    found = tokens.read_floats(value)
    if found is None:
        return []
    is_id = np.isfinite(found) & (np.abs(found) < parsers.MAX_STEP)
    ids: list[int] = np.where(is_id, found, -1).astype(np.int64).tolist()
    return ids


def shown(ids: Sequence[int]) -> str:
    """Return ids as a text, for a sample whose text is unknown."""
    return " ".join(map(str, ids))


def texts_of(run: RunInfo, ids: Sequence[int], first: int) -> tuple[str, str]:
    """Return prompt and response, which begins at token `first`, by the run's tokenizer, or else as ids.

    They are decoded together, as the first token of a text may lose its blank.
    """
    strings = strings_of(run, ids)
    if strings is None:
        return shown(ids[:first]), shown(ids[first:])
    return "".join(strings[:first]), "".join(strings[first:])


def add_texts(run: RunInfo, rows: Sequence[Scanned], ids: Sequence[int]) -> None:
    """Give rows of a record the texts of its ids, if the run's tokenizer makes texts of them."""
    strings = strings_of(run, ids)
    for row in rows:
        if strings is not None and isinstance(row, SampleRow):
            row.prompt, row.response = "".join(strings[: row.prompt_tokens]), "".join(strings[row.prompt_tokens :])


def add_tokens(run: RunInfo, sample: Sample, ids: Sequence[int], first: int, *, has_text: bool) -> None:
    """Add the ids of a sample whose response begins at token `first`, and its texts by the run's tokenizer."""
    sample.token_ids = list(ids)
    add_strings(run, sample)
    if has_text or not ids:
        return
    strings = sample.token_strings if sample.is_decoded else None
    sample.notes.append(note_of(run, ids, strings))
    if strings and (turns := turns_of(run, ids, strings, first)):
        sample.turns = turns


def series_of(arrays: Mapping[str, Any], total: int, first: int | None) -> tuple[list[TokenSeries], list[str]]:
    """Return the series of a sample with `total` tokens, whose response begins at token `first`, and notes.

    Series cover all tokens or the response, and are blank where the loss mask is 0; a note names any other array, which
    is left out. If `first` is unknown, the length of the shorter arrays determines it.
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
    if len({values.offset for values in series}) == 1:
        tokens.hide_masked(series, ("loss_mask",))
    return series, notes


class TokenizerChoice:
    """The tokenizers of runs: those that a person chose, else those that the runs name. Raises `UnreadablePath`."""

    def __init__(self, reading: Reading) -> None:
        self.notes: list[tuple[str, str]] = []
        """Places, each with the reason why its tokenizer is not used."""
        self._download = reading.download_tokenizer
        self._chosen = tokenizer.load(reading.tokenizer, download=self._download).file if reading.tokenizer else None

    def of(self, run: RunInfo) -> TokenizerFile | None:
        """Return the tokenizer that reads the ids of a run."""
        if self._chosen is not None:
            return self._chosen
        for place in by_name(run.format).tokenizers(run):
            try:
                if isinstance(place, str):
                    return tokenizer.load_named(place, download=self._download).file
                return tokenizer.load_at(place).file
            except UnreadablePath as error:
                if self._download and isinstance(place, str):
                    raise
                self.notes.append((run.root, f"its token ids are not decoded: {error}"))
        return None
