"""What has a run to ask."""

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rolloupe.index import OpenRun
    from rolloupe.query import Reader


class Asked:
    """What has a run to ask."""

    _state_dir: Path | None = None

    def _ready(self) -> "OpenRun":
        """The run to ask, indexed as far as was wished."""
        raise NotImplementedError

    def _reader(self) -> "Reader":
        """Reads samples of the run."""
        raise NotImplementedError

    def _first_split(self) -> str:
        from rolloupe import query

        names = [summary.name for summary in query.splits(self._ready(), quick=True)]
        return names[0] if names else "train"
