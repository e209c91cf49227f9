"""An open run: what it is, and how far it is indexed.

DuckDB and pyarrow take longer to load than a run to open: modules that need them are imported on first use.
"""

import contextlib
from collections.abc import Callable, Iterable, Sequence
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rolloupe.api.arguments import sample_query
from rolloupe.storage import address_of

if TYPE_CHECKING:
    from rolloupe.index import OpenRun
    from rolloupe.query import CurveQuery, Reader, SampleQuery


__all__ = ["OpenedRun", "lists", "queries", "text_search"]


class LazyModule:
    """Replaces a module until one of its names is used."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, name: str) -> Any:
        return getattr(import_module(self._name), name)


if TYPE_CHECKING:
    from rolloupe import query as queries
    from rolloupe.api import lists
    from rolloupe.query import search as text_search
else:
    queries = LazyModule("rolloupe.query")
    lists = LazyModule("rolloupe.api.lists")
    text_search = LazyModule("rolloupe.query.search")


class OpenedRun:
    """A run that may still be indexed; the answers of its methods wait for that."""

    def __init__(self, opened: "Callable[[], OpenRun]", *, wait: bool, state_dir: Path | None = None) -> None:
        self._opened = opened
        self._state_dir = state_dir
        self._wait = wait
        self._reading: Reader | None = None

    @property
    def id(self) -> str:
        """The run's name in addresses and on the command line."""
        return self._opened().id

    @property
    def name(self) -> str:
        """The name of its folder."""
        return self._opened().info.name

    @property
    def path(self) -> str:
        """Path of the run."""
        return address_of(self._opened().info.root)

    @property
    def format(self) -> str:
        """The name of the format that Rolloupe reads it as."""
        return self._opened().info.format

    @property
    def reason(self) -> str:
        """Why Rolloupe reads it as that format."""
        return self._opened().info.reason

    def wait(self, timeout_s: float | None = None, *, texts: bool = False) -> bool:
        """Wait until the numbers of all samples are indexed, or their texts as well; False if time ran out."""
        run = self._opened()
        return run.wait_all(timeout_s) if texts else run.wait(timeout_s)

    def changed_s(self) -> float | None:
        """Return how many seconds ago a file with samples last changed; None without such a file."""
        return self._opened().sources.changed_s()

    def indexed_bytes(self) -> tuple[int, int]:
        """Return how many bytes of the run's files are indexed, and their total size."""
        progress = self._opened().progress()
        return progress.done_bytes, progress.total_bytes

    @property
    def is_shard(self) -> bool:
        """True while other shards of the run are not indexed: see `rolloupe index --shard`."""
        return self._opened().is_shard

    @property
    def unsent(self) -> str:
        """Why the shared index lacks files that were indexed here; empty if it has them all."""
        return self._opened().unsent

    def __repr__(self) -> str:
        return f"<Run {self.id!r} ({self.format}) at {self.path!r}>"

    def indexed(self, *, derived: bool = False) -> "OpenRun":
        """Return the run for functions of `rolloupe.query`, once its numbers, or `derived` metrics, are indexed.

        It does not wait if the run was opened without `wait`.
        """
        run = self._opened()
        if self._wait:
            wait = run.wait_all if derived else run.wait
            wait()
        return run

    def _ready_for(self, names: Iterable[str], filters: Iterable[str] = ()) -> "OpenRun":
        """Return the run as `indexed` does, with derived metrics and tokens if these names or filters need any."""
        queried = [sample_query(where=where) for where in filters]
        for query in queried:
            if query.where:
                self._ready_with_derived(query)
        run = self.indexed()
        run = self.indexed(
            derived=any(queries.kind_of(run, one) == "derived" or queries.needs_tokens(run, one) for one in names)
        )
        return self._judged(run) if any(map(queries.judgements_in, queried)) else run

    def _ready_for_curves(self, curves: "Sequence[CurveQuery]") -> "OpenRun":
        """Return the run as `indexed` does, once everything that these curves and their filters need is indexed."""
        asked = [*curves, *(one.x for one in curves if one.x is not None)]
        names = (one.name for one in asked if one.kind in ("sample", "cumulative", "token"))
        return self._ready_for(names, (one.options.where for one in asked))

    def _ready_with_derived(self, query: "SampleQuery") -> "OpenRun":
        """Return the run as `indexed` does, with derived metrics, tokens and judgements if the query names any."""
        run = self.indexed()
        run = self.indexed(derived=queries.needs_whole_index(query, *queries.value_names(run)))
        return self._judged(run) if queries.judgements_in(query) else run

    def _judged(self, run: "OpenRun") -> "OpenRun":
        """Return the run with a person's judgements; creates nothing."""
        from rolloupe.insight import judgements
        from rolloupe.state import State

        if not State.is_there(self._state_dir):
            return judgements.with_marks(run, ())
        with contextlib.closing(State(self._state_dir)) as state:
            return judgements.with_judgements(run, state)

    def _reader(self) -> "Reader":
        opened = self.indexed()
        if self._reading is None:
            self._reading = queries.Reader(opened)
        return self._reading

    def _first_split(self) -> str:
        return next((summary.name for summary in queries.splits(self.indexed(), quick=True)), "train")
