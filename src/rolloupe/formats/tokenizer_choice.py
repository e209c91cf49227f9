"""Which tokenizer reads the token ids of a run: the one that a person chose, else the run's own."""

from rolloupe import tokenizer
from rolloupe.errors import UnreadablePath
from rolloupe.formats.registry import by_name
from rolloupe.model import Location, Reading, RunInfo, TokenizerFile
from rolloupe.tokenizer import Tokenizer


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
