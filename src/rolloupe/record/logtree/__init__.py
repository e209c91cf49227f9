"""Logs a step as an outline, from any function called within a trace, and writes it as a page and as JSON.

The functions have the names of the Tinker cookbook's `utils/logtree.py`, and the same tools read their output. Outside
of a trace, and while logging is disabled, each function does nothing, so an environment can log unconditionally.
Logged text never becomes markup.
"""

import contextlib
import functools
import inspect
import logging
import os
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar, copy_context
from datetime import UTC, datetime
from itertools import zip_longest
from pathlib import Path
from typing import Any, NamedTuple, ParamSpec, Protocol, TypeVar, overload

from rolloupe.record.logtree.messages import messages_of
from rolloupe.record.logtree.outline import OutlineNode, attributes, from_html, marked, page, table_of
from rolloupe.record.logtree.outline import conversation as conversation_html
from rolloupe.record.plain import dumped, jsonable, text_of
from rolloupe.storage import atomic

MAX_SCOPES = 40
"""How deep scopes are nested; deeper content goes into the last of them."""

_OWN_FILES = (__file__, contextlib.__file__)
"""Files whose frames tracebacks leave out: they do not show where an exception came from."""

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
    """Where the next node goes, and how many headings and scopes are above it."""

    trace: Trace
    node: OutlineNode
    level: int = 1
    depth: int = 0
    silent: bool = False


_place: ContextVar[_Place | None] = ContextVar("rolloupe_logtree", default=None)


def _here() -> _Place | None:
    """Return where the next node goes; None if logging is off."""
    place = _place.get()
    return None if place is None or place.silent else place


def _add(*nodes: OutlineNode) -> None:
    if place := _here():
        place.node.children.extend(nodes)


@contextmanager
def _at(place: _Place | None) -> Iterator[None]:
    """Log the block at a place; an exception is also logged, at the innermost place that it leaves."""
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
    summary = f"Exception: {type(error).__name__}: {text_of(error)}".removesuffix(": ")
    frames = traceback.TracebackException.from_exception(error)
    frames.stack[:] = [frame for frame in frames.stack if frame.filename not in _OWN_FILES]
    body = OutlineNode("pre", {}, ["".join(frames.format())])
    node = marked("details", "lt-exc lt-escaped", OutlineNode("summary", {}, [summary]), body)
    node.attrs["open"] = "open"
    place.node.children.append(node)


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
    is_wanted = write_on_error
    try:
        with _at(_Place(trace, trace.root)):
            yield trace
        is_wanted = True
    finally:
        if is_wanted:
            _write(trace)


def _write(trace: Trace) -> bool:
    """Write an outline, or log why it cannot be written; return whether it wrote anything."""
    try:
        trace.write()
    except (OSError, ValueError) as error:
        _log.warning("the outline %r could not be written: %s", trace.title, error)
        return False
    return trace.path is not None or trace.json_path is not None


def flush_trace() -> bool:
    """Write the current outline as it is so far; returns whether it wrote anything."""
    place = _place.get()
    return place is not None and _write(place.trace)


def current_trace() -> Trace | None:
    """Return the current outline."""
    place = _here()
    return None if place is None else place.trace


@contextmanager
def scope_header(title: str, **attrs: object) -> Iterator[None]:
    """Log a section with a heading; the section contains everything logged in the block.

    `group`, `trajectory` and `turn` name the rollout of the section (by the numbers of the rollout summaries, from 0),
    so that a viewer shows a conversation inside it with that rollout. Nested scopes may each name one of them.
    """
    place = _here()
    level = min(6, place.level + 1) if place else 1
    body = marked("div", "lt-section-body")
    heading = marked(f"h{level}", f"lt-h{level}", text_of(title))
    section = OutlineNode("section", {"class": "lt-section"} | attributes(attrs), [heading, body])
    with _block(section, body, level):
        yield


@overload
def scope_header_decorator(title: str) -> Callable[[Callable[_P, _R]], Callable[_P, _R]]: ...
@overload
def scope_header_decorator(title: Callable[_P, _R]) -> Callable[_P, _R]: ...
def scope_header_decorator(title: str | Callable[..., Any]) -> Any:
    """Put every call of a function, async or not, into a section titled `title`, or the function's name by default."""
    if not callable(title):
        return lambda function: _decorated(function, title)
    return _decorated(title, getattr(title, "__name__", "call"))


def _decorated(function: Callable[..., Any], title: str) -> Callable[..., Any]:
    if not inspect.iscoroutinefunction(function):
        return scope_header(title)(function)

    @functools.wraps(function)
    async def awaited(*args: Any, **kwargs: Any) -> Any:
        with scope_header(title):
            return await function(*args, **kwargs)

    return awaited


@contextmanager
def scope_div(**attrs: object) -> Iterator[None]:
    """Log a block without a heading. Takes the attributes of `scope_header`."""
    node = OutlineNode("div", attributes(attrs))
    with _block(node, node):
        yield


@contextmanager
def scope_details(summary: str) -> Iterator[None]:
    """Log a collapsed block."""
    body = marked("div", "lt-details-body")
    with _block(_details(summary, body), body):
        yield


@contextmanager
def _block(node: OutlineNode, inner: OutlineNode, level: int = 0) -> Iterator[None]:
    """Log a node, and the contents of the block in another node within it."""
    place = _here()
    if place is None or place.depth >= MAX_SCOPES:
        yield
        return
    _add(node)
    with _at(place._replace(node=inner, level=level or place.level, depth=place.depth + 1)):
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
    """Return the function bound to the current place in the outline, for calls from other threads."""
    context = copy_context()

    @functools.wraps(function)
    def called(*args: _P.args, **kwargs: _P.kwargs) -> _R:
        return context.copy().run(function, *args, **kwargs)

    return called


def write_trace_json(trace: Trace, path: str | os.PathLike[str]) -> None:
    """Write an outline as JSON, in the cookbook's form. Raises `OSError`."""
    atomic.write(Path(path), dumped(trace.to_dict(), indent=2))


def _harmless(log: Callable[_P, None]) -> Callable[_P, None]:
    """Make a function do nothing while logging is off, and log a placeholder for an object that it cannot show."""

    @functools.wraps(log)
    def logged(*args: _P.args, **kwargs: _P.kwargs) -> None:
        if _here() is None:
            return
        try:
            log(*args, **kwargs)
        except Exception as error:
            _add(marked("p", "lt-p", f"({log.__name__}: could not be shown: {type(error).__name__})"))

    return logged


class Formatter(Protocol):
    """An object that shows itself: as HTML, of which only known elements are kept, or as data, which is kept whole.

    For data it has `to_data() -> dict`, like the cookbook's formatters; `{"type": "conversation", "messages": [...]}`
    is a conversation.
    """

    def to_html(self) -> str:
        """Return HTML."""


class ConversationFormatter(NamedTuple):
    """Messages for `log_formatter`, like the cookbook's formatter of this name. `conversation` does it in one call."""

    messages: Sequence[object]

    def to_html(self) -> str:
        """Return the conversation as HTML."""
        return "".join(conversation_html(messages_of(self.messages)))

    def to_data(self) -> dict[str, Any]:
        """Return the conversation in the form of a logtree's JSON."""
        return {"type": "conversation", "messages": messages_of(self.messages)}


@_harmless
def log_text(text: str, *, div_class: str | None = None) -> None:
    """Log a paragraph."""
    _add(marked("div", text_of(div_class), text_of(text)) if div_class else marked("p", "lt-p", text_of(text)))


@_harmless
def log_html(html: str, *, div_class: str | None = None) -> None:
    """Log the text of some HTML; of its markup, keep only known elements, without attributes."""
    node = from_html(text_of(html))
    node.attrs = {"class": text_of(div_class)} if div_class else {}
    _add(node)


@_harmless
def log_formatter(formatter: Formatter) -> None:
    """Log an object by its `to_data()` if that returns a dict, else by its `to_html()`."""
    data, error = _called(getattr(formatter, "to_data", None))
    if isinstance(data, Mapping) and data.get("type") == "conversation":
        conversation(data.get("messages"))
    elif isinstance(data, Mapping):
        _add(OutlineNode("div", {}, [], jsonable(data)))
    else:
        html, error = _called(getattr(formatter, "to_html", None)) if not error else (None, error)
        log_text(f"({type(formatter).__name__} could not be shown: {error})") if error else log_html(text_of(html))


def _called(method: Callable[[], Any] | None) -> tuple[Any, str]:
    """Return a formatter's result, or an error message."""
    try:
        return (method() if callable(method) else None), ""
    except Exception as error:
        return None, f"{type(error).__name__}: {text_of(error)}"


@_harmless
def conversation(messages: object, *, aside: bool = False, **attrs: object) -> None:
    """Log the messages of a conversation: `{role, content, tool_calls ...}` each, or objects with these attributes.

    A viewer shows it with the rollout that the enclosing scopes name, or that `group=` and `trajectory=` name here. Set
    `aside` for a conversation about a rollout, such as a judge's, as opposed to the rollout's own.
    """
    marks = attributes({**attrs, "aside": "aside"} if aside else attrs)
    _add(OutlineNode("div", marks, [], {"type": "conversation", "messages": messages_of(messages)}))


@_harmless
def details(text: str, *, summary: str = "Details", pre: bool = True) -> None:
    """Log a text in a collapsed block; `pre` uses a fixed-width font."""
    _add(_details(summary, marked("pre" if pre else "div", "lt-details-body", text_of(text))))


def _details(summary: str, body: OutlineNode) -> OutlineNode:
    return marked("details", "lt-details", OutlineNode("summary", {}, [text_of(summary)]), body)


@_harmless
def header(text: str, *, level: int | None = None) -> None:
    """Log a heading, by default one level below the section's."""
    if level is None and (place := _here()):
        level = place.level + 1
    shown_level = max(1, min(6, level or 1))
    _add(marked(f"h{shown_level}", f"lt-h{shown_level}", text_of(text)))


@_harmless
def table(obj: Any, *, caption: str | None = None) -> None:
    """Log a table: a list of dicts, a list of lists without a header, a pandas DataFrame, or a dict as two columns.

    Anything else is logged as text.
    """
    if hasattr(obj, "to_dict") and hasattr(obj, "columns"):
        obj = obj.to_dict("records")
    if isinstance(obj, Mapping):
        table_from_dict(obj, caption=caption)
    elif not isinstance(obj, (list, tuple)):
        log_text(f"{caption}: {text_of(obj)}" if caption else text_of(obj))
    elif obj and all(isinstance(row, Mapping) for row in obj):
        columns = list(dict.fromkeys(key for row in obj for key in row))
        _captioned([columns, *([row.get(key, "") for key in columns] for row in obj)], caption, header=True)
    else:
        _captioned([row if isinstance(row, (list, tuple)) else [row] for row in obj], caption, header=False)


@_harmless
def table_from_dict(
    data: Mapping[Any, Any],
    *,
    caption: str | None = None,
    key_header: str = "key",
    value_header: str = "value",
    sort_by: str | None = None,
) -> None:
    """Log a table of keys and values, sorted by `sort_by` ("key", "value" or None) if the values can be sorted."""
    given: Any = data
    if not isinstance(given, Mapping):
        log_text(f"{caption}: {text_of(given)}" if caption else text_of(given))
        return
    items = list(data.items())
    if sort_by in ("key", "value"):
        items, _ = _called(lambda: sorted(items, key=lambda item: item[sort_by == "value"]))
    _captioned([[key_header, value_header], *(items or data.items())], caption, header=True)


@_harmless
def table_from_dict_of_lists(
    columns: Mapping[str, Sequence[Any]], *, caption: str | None = None, order: Sequence[str] | None = None
) -> None:
    """Log a table by columns, in the given order; shorter columns end in empty cells."""
    given: Any = columns
    if not isinstance(given, Mapping):
        table(given, caption=caption)
        return
    names = list(order or columns)
    lists = [
        list(values) if isinstance(values, Iterable) and not isinstance(values, str | bytes) else [values]
        for values in (given.get(name, ()) for name in names)
    ]
    _captioned([names, *zip_longest(*lists, fillvalue="")] if names else [], caption, header=True)


def _captioned(rows: Sequence[Sequence[Any]], caption: str | None, *, header: bool) -> None:
    if caption:
        _add(marked("div", "lt-table-caption", text_of(caption)))
    if rows:
        _add(table_of(rows, header=header))
