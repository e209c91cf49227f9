"""The texts in a Telescope run's tables: plain, or zstd frames of UTF-8, unpacked within a budget for each sample."""

import sys

from rolloupe import text
from rolloupe.formats.reading.codecs import MAX_WINDOW_LOG

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

MAX_TEXT_BYTES = 64 * 2**20
"""Maximum amount of text for one sample."""

_FRAME = b"\x28\xb5\x2f\xfd"
_WINDOW: dict[int, int] = {zstd.DecompressionParameter.window_log_max: MAX_WINDOW_LOG}


class UnpackedTexts:
    """The texts of one sample, unpacked as long as the budget lasts."""

    def __init__(self) -> None:
        self.left = MAX_TEXT_BYTES
        self.notes: list[str] = []

    def of(self, value: object) -> str:
        """A text, packed or not."""
        if isinstance(value, str):
            return text.clean(value)
        if not isinstance(value, bytes) or not value:
            return ""
        data = self._unpacked(value) if value.startswith(_FRAME) else value[: self.left]
        self.left -= len(data)
        return text.clean(data.decode("utf-8", errors="replace"))

    def _unpacked(self, value: bytes) -> bytes:
        try:
            decoder = zstd.ZstdDecompressor(options=_WINDOW)
            data = decoder.decompress(value, max_length=max(1, self.left))
            if not decoder.eof:
                self._note(
                    f"more than {MAX_TEXT_BYTES >> 20} MiB of text, or text that is cut off: the rest is not shown"
                )
        except (zstd.ZstdError, EOFError, ValueError) as error:
            self._note(f"a text could not be unpacked: {str(error)[:200]}")
            return b""
        return data

    def _note(self, what: str) -> None:
        if what not in self.notes:
            self.notes.append(what)
