"""The records of a rescoring: what grades, within which limits, and what came of each sample."""

import os
import re
import sys
from collections.abc import Callable
from typing import Literal, NamedTuple, TypeAlias

from msgspec import Struct

from rolloupe.errors import BadQuery
from rolloupe.query import SampleItem

FailureKind = Literal["timeout", "exception", "memory", "crash", "not_finite", "wrong_type", "unreadable"]

NamedGrader: TypeAlias = "str | os.PathLike[str] | Callable[..., object]"
"""A grader as a person names it: `grader.py:fn`, or a function at the top of a file."""

PREFIX = "rescored."
"""The prefix of the columns that a rescoring adds."""

FAILED, REASON = "failed", "reason"
"""The names of the tags of a sample that could not be graded, behind the name of the score."""

_NAME = re.compile(r"[A-Za-z0-9_-]{1,60}")


class GraderLimits(NamedTuple):
    """What a grader may use: seconds for a sample, and bytes of address space. They limit accidents: no sandbox."""

    seconds: float = 2.0
    memory_bytes: int = 10**9


class GraderFile(NamedTuple):
    """A function in a Python file, the name of its scores, and the interpreter that runs it."""

    path: str
    function: str
    name: str
    python: str = sys.executable


class Verdict(Struct, frozen=True, kw_only=True):
    """What came of one sample: a score, with other values of the grader; or the kind of failure, and why in words."""

    score: float | None = None
    metrics: dict[str, float] = {}
    tags: dict[str, str] = {}
    failed: FailureKind | None = None
    reason: str = ""


class Graded(NamedTuple):
    """A sample, the word for its place, and its verdict."""

    item: SampleItem
    place: str
    verdict: Verdict


def grader_file(
    grader: "str | os.PathLike[str] | Callable[..., object]", name: str = "", python: str = ""
) -> GraderFile:
    """Return the function that `grader.py:fn` names, or a function that a file defines. Raises `BadQuery`."""
    path, function = _place_of(grader)
    name = name or function.replace(".", "_")
    if not _NAME.fullmatch(name):
        raise BadQuery(f"{name[:80]!r} is no name for scores: use letters, digits, - and _, at most 60")
    if not os.path.isfile(path):
        raise BadQuery(f"there is no file {path!r} with a grader. Next: name it as grader.py:fn")
    return GraderFile(os.path.abspath(path), function, name, python or sys.executable)


def _place_of(grader: NamedGrader) -> tuple[str, str]:
    if isinstance(grader, str | os.PathLike):
        path, _, function = os.fspath(grader).rpartition(":")
        if not path or not all(part.isidentifier() for part in function.split(".")):
            raise BadQuery(f"{os.fspath(grader)[:200]!r} names no function. Next: write grader.py:fn")
        return path, function
    path, function = _file_of(grader), getattr(grader, "__qualname__", "")
    if not (path.endswith(".py") and all(part.isidentifier() for part in function.split("."))):
        raise BadQuery("a grader runs in another process, which imports it: put it at the top of a file, grader.py:fn")
    return path, function


def _file_of(function: Callable[..., object]) -> str:
    import inspect

    try:
        return inspect.getsourcefile(function) or ""
    except TypeError:
        return ""
