"""Traces and scopes: where in the outline a task logs, and where the outline is written at the end.

A context variable holds the place, as an immutable value: an asyncio task logs in the scope that created it, whatever
other tasks do meanwhile. Threads do not inherit the place; `carried` passes it to one.
"""

import contextlib
import functools
import inspect
import logging
import os
import traceback
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar, copy_context
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple, ParamSpec, TypeVar, overload

from rolloupe.record.logtree.nodes import OutlineNode, attributes, marked
from rolloupe.record.logtree.page import page
from rolloupe.record.values.plain import dumped, text_of
from rolloupe.storage import atomic

MAX_SCOPES = 40
"""Deepest nesting of scopes; deeper content goes into the last of them."""

_OWN_FILES = (__file__, contextlib.__file__)
"""Frames of scopes, which a traceback leaves out: they do not show where an exception came from."""

_MARK = "__rolloupe_logged__"

_log = logging.getLogger(__name__)
_P = ParamSpec("_P")
_R = TypeVar("_R")


class Trace:
    """An outline, which grows until its `init_trace` ends."""

    def __init__(self, title: str, path: str | os.PathLike[str] | None, json_path: str | os.PathLike[str] | None):
        self.title = title
        self.path = None if path is None else Path(path)
        self.json_path = None if json_path is None else Path(json_path)
        self.started_at = datetime.now(UTC).astimezone().replace(tzinfo=None)
        shown = f"Generated {self.started_at.isoformat(timespec='seconds')}"
        self.root = marked("body", "lt-root", marked("h1", "lt-title", title), marked("div", "lt-subtitle", shown))

    def to_dict(self) -> dict[str, Any]:
        """Return the outline in the form of `_logtree.json`."""
        path = None if self.path is None else os.path.abspath(self.path)
        started = self.started_at.isoformat()
        return {"title": self.title, "started_at": started, "path": path, "root": self.root.as_json()}

    def get_html(self) -> str:
        """Return the outline as a page."""
        return page(self.title, self.root).decode()

    def write(self) -> None:
        """Write the page and the JSON to their paths, if set. Raises `OSError`."""
        if self.path is not None:
            atomic.write(self.path, page(self.title, self.root))
        if self.json_path is not None:
            write_trace_json(self, self.json_path)


class _Place(NamedTuple):
    """Where the next node goes. `level` is the level of the enclosing heading, `depth` the number of scopes."""

    trace: Trace
    node: OutlineNode
    level: int = 1
    depth: int = 0
    silent: bool = False


_place: ContextVar[_Place | None] = ContextVar("rolloupe_logtree", default=None)


def here() -> _Place | None:
    """Return where the next node goes; None if logging is off."""
    place = _place.get()
    return None if place is None or place.silent else place


def add(*nodes: OutlineNode) -> None:
    """Log nodes at the current place."""
    if place := here():
        place.node.children.extend(nodes)


@contextmanager
def _at(place: _Place | None) -> Iterator[None]:
    """Log at a place. Record an exception at the innermost place that it leaves, and pass it on."""
    before = _place.get()
    _place.set(place)
    try:
        yield
    except GeneratorExit:
        raise
    except BaseException as error:
        if place is not None and not place.silent:
            _record(place, error)
        raise
    finally:
        _place.set(before)  # no token: another context may close a generator


def _record(place: _Place, error: BaseException) -> None:
    if getattr(error, _MARK, None) is place.trace:
        return
    with contextlib.suppress(Exception):
        setattr(error, _MARK, place.trace)
    message = text_of(error)
    summary = f"Exception: {type(error).__name__}: {message}" if message else f"Exception: {type(error).__name__}"
    frames = traceback.TracebackException.from_exception(error)
    frames.stack[:] = [frame for frame in frames.stack if frame.filename not in _OWN_FILES]
    attrs = {"class": "lt-exc lt-escaped", "open": "open"}
    told_whole: list[OutlineNode | str] = [
        OutlineNode("summary", {}, [summary]),
        OutlineNode("pre", {}, ["".join(frames.format())]),
    ]
    place.node.children.append(OutlineNode("details", attrs, told_whole))


@contextmanager
def init_trace(
    title: str,
    path: str | os.PathLike[str] | None = None,
    *,
    json_path: str | os.PathLike[str] | None = None,
    write_on_error: bool = True,
) -> Iterator[Trace]:
    """Start an outline, and write it at the end: the page to `path`, the JSON to `json_path`.

    With `write_on_error`, write it even if an exception ends the block. A file that cannot be written is logged as a
    warning, not raised: an outline must not end a training run.
    """
    trace = Trace(text_of(title), path, json_path)
    wanted = write_on_error
    try:
        with _at(_Place(trace, trace.root)):
            yield trace
        wanted = True
    finally:
        if wanted:
            _written(trace)


def _written(trace: Trace) -> bool:
    try:
        trace.write()
    except (OSError, ValueError) as error:
        _log.warning("the outline %r could not be written: %s", trace.title, error)
        return False
    return trace.path is not None or trace.json_path is not None


def flush_trace() -> bool:
    """Write the current outline as it is so far; returns whether it wrote anything."""
    place = _place.get()
    return place is not None and _written(place.trace)


def current_trace() -> Trace | None:
    """Return the current outline."""
    place = here()
    return None if place is None else place.trace


@contextmanager
def scope_header(title: str, **attrs: object) -> Iterator[None]:
    """Log a section with a heading; the section contains everything logged in the block.

    `group`, `trajectory` and `turn` name the rollout of the section (by the numbers of the rollout summaries, from 0),
    so that a viewer shows a conversation inside it with that rollout. Nested scopes may each name one of them.
    """
    place = here()
    if place is None or place.depth >= MAX_SCOPES:
        yield
        return
    level = min(6, place.level + 1)
    body = marked("div", "lt-section-body")
    heading = marked(f"h{level}", f"lt-h{level}", text_of(title))
    add(OutlineNode("section", {"class": "lt-section"} | attributes(attrs), [heading, body]))
    with _at(place._replace(node=body, level=level, depth=place.depth + 1)):
        yield


@overload
def scope_header_decorator(title: str) -> Callable[[Callable[_P, _R]], Callable[_P, _R]]: ...
@overload
def scope_header_decorator(title: Callable[_P, _R]) -> Callable[_P, _R]: ...
def scope_header_decorator(title: str | Callable[..., Any]) -> Any:
    """Put every call of a function, async or not, into a section titled `title`, or the function's name by default."""
    if callable(title):
        return _decorated(title, getattr(title, "__name__", "call"))
    return lambda function: _decorated(function, title)


def _decorated(function: Callable[..., Any], title: str) -> Callable[..., Any]:
    if inspect.iscoroutinefunction(function):

        @functools.wraps(function)
        async def awaited(*args: Any, **kwargs: Any) -> Any:
            with scope_header(title):
                return await function(*args, **kwargs)

        return awaited

    @functools.wraps(function)
    def called(*args: Any, **kwargs: Any) -> Any:
        with scope_header(title):
            return function(*args, **kwargs)

    return called


@contextmanager
def scope_div(**attrs: object) -> Iterator[None]:
    """Log a block without a heading. Takes the attributes of `scope_header`."""
    with _block(OutlineNode("div", attributes(attrs)), None):
        yield


@contextmanager
def scope_details(summary: str) -> Iterator[None]:
    """Log a collapsed block."""
    body = marked("div", "lt-details-body")
    with _block(marked("details", "lt-details", OutlineNode("summary", {}, [text_of(summary)]), body), body):
        yield


@contextmanager
def _block(node: OutlineNode, inner: OutlineNode | None) -> Iterator[None]:
    place = here()
    if place is None or place.depth >= MAX_SCOPES:
        yield
        return
    add(node)
    with _at(place._replace(node=inner or node, depth=place.depth + 1)):
        yield


@contextmanager
def optional_enable_logging(enable: bool) -> Iterator[None]:
    """Log the contents of the block only if `enable` is true."""
    place = _place.get()
    with _at(place if enable or place is None else place._replace(silent=True)):
        yield


def scope_disable() -> AbstractContextManager[None]:
    """Disable logging in the block."""
    return optional_enable_logging(False)


def carried(function: Callable[_P, _R]) -> Callable[_P, _R]:
    """Return the function bound to the current place in the outline, so that a thread can call it."""
    context = copy_context()

    @functools.wraps(function)
    def called(*args: _P.args, **kwargs: _P.kwargs) -> _R:
        return context.copy().run(function, *args, **kwargs)

    return called


def write_trace_json(trace: Trace, path: str | os.PathLike[str]) -> None:
    """Write an outline as JSON, in the cookbook's form. Raises `OSError`."""
    atomic.write(Path(path), dumped(trace.to_dict(), indent=2))
