"""Read the rollouts of RL post-training straight from the files that trainers write.

Start with `rolloupe.open(path)`; docs/python.md has the rest. Importing this loads neither DuckDB nor pyarrow nor
a server, so training code may import it; heavy modules are imported when they are first used.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from rolloupe import errors
from rolloupe._version import __version__
from rolloupe.errors import BadQuery, NotFound, NotRecognised, RolloupeError, SourceChanged, UnreadablePath
from rolloupe.model import Problem, Sample, SampleKey

if TYPE_CHECKING:
    from rolloupe.api import Run, Runs, compare, compare_curves, compare_rewards, open  # noqa: A004 - it is called as rolloupe.open
    from rolloupe.query import Condition, SampleItem, SampleQuery
    from rolloupe.record import Recorder

__all__ = [
    "BadQuery",
    "Condition",
    "NotFound",
    "NotRecognised",
    "Problem",
    "Recorder",
    "RolloupeError",
    "Run",
    "Runs",
    "Sample",
    "SampleItem",
    "SampleKey",
    "SampleQuery",
    "SourceChanged",
    "UnreadablePath",
    "__version__",
    "compare",
    "compare_curves",
    "compare_rewards",
    "errors",
    "open",
]

_LATE = {
    **dict.fromkeys(["Run", "Runs", "compare", "compare_curves", "compare_rewards", "open"], "rolloupe.api"),
    **dict.fromkeys(["Condition", "SampleItem", "SampleQuery"], "rolloupe.query"),
    "Recorder": "rolloupe.record",
}


def __getattr__(name: str) -> Any:
    """Import heavy modules when they are first used."""
    if name not in _LATE:
        raise AttributeError(f"module 'rolloupe' has no attribute {name!r}")
    value = getattr(import_module(_LATE[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_LATE} - {"Any", "TYPE_CHECKING", "import_module"})
