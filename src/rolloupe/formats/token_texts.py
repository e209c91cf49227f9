"""Texts of token ids, for formats whose records hold nothing else, and the choice of the tokenizer for a run."""

from bisect import bisect_left
from collections.abc import Sequence
from itertools import accumulate, compress

from rolloupe import text, tokenizer
from rolloupe.errors import UnreadablePath
from rolloupe.formats.registry import by_name
from rolloupe.model import Location, Reading, RunInfo, Sample, TokenizerFile, Turn
from rolloupe.tokenizer import Tokenizer

MAX_CHARS = 64 * 2**20
"""Maximum length of the text of one record: a few ids of long tokens must not fill the memory."""


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
    """Return how many of a sample's token strings are those of its prompt: a framework stores the response's alone."""
    is_response = len(sample.token_strings) == sample.row.response_tokens
    return (sample.row.prompt_tokens or 0) if sample.is_decoded and not is_response else 0


def turns_of(run: RunInfo, ids: Sequence[int], strings: Sequence[str], first: int) -> list[Turn]:
    """Return the turns of a sequence whose response begins at the token `first`; empty without a known template.

    A turn begins only at a special token: a model that writes out `<|im_start|>` in other tokens begins none.
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
    """Say where the text of a sequence comes from, and where it is not what the tokens say."""
    count = f"{len(ids):,} token id{'' if len(ids) == 1 else 's'}"
    decoder = tokenizer_of(run)
    if decoder is None:
        return note_without_tokenizer(ids)
    if strings is None:
        return f"{count} are a text of more than {MAX_CHARS // 2**20} Mi characters: ids are shown"
    unknown = sum(token_id not in decoder for token_id in ids)
    shown = f"; {unknown:,} of them are not in its vocabulary, and shown as <token ID>" if unknown else ""
    return f"the text is decoded from {count} with {decoder.file.path}{shown}"


class TokenizerChoice:
    """The tokenizers of runs, as a person chose them, else as the runs name them. Raises `UnreadablePath`."""

    def __init__(self, reading: Reading) -> None:
        self.notes: list[tuple[str, str]] = []
        """Places, and why a tokenizer there is not used."""
        self._download = reading.download_tokenizer
        self._chosen = tokenizer.load(reading.tokenizer, download=self._download).file if reading.tokenizer else None

    def of(self, run: RunInfo) -> TokenizerFile | None:
        """Return the tokenizer that reads the ids of a run."""
        if self._chosen is not None:
            return self._chosen
        for place in by_name(run.format).tokenizers(run):
            try:
                return self._loaded(place).file
            except UnreadablePath as error:
                if self._download and isinstance(place, str):
                    raise
                self.notes.append((run.root, f"its token ids are not decoded: {error}"))
        return None

    def _loaded(self, place: Location | str) -> Tokenizer:
        if isinstance(place, str):
            return tokenizer.load_named(place, download=self._download)
        return tokenizer.load_at(place)
