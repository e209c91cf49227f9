"""Log texts, tables, details, formatters and conversations. No function here raises, whatever its arguments."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import wraps
from typing import Any, NamedTuple, ParamSpec, Protocol

from rolloupe.record.logtree.messages import messages_of
from rolloupe.record.logtree.nodes import OutlineNode, attributes, from_html, marked, table_of
from rolloupe.record.logtree.page import conversation as conversation_html
from rolloupe.record.logtree.scopes import add, here
from rolloupe.record.values.plain import jsonable, text_of

P = ParamSpec("P")


def _harmless(log: Callable[P, None]) -> Callable[P, None]:
    """Make a function raise nothing: a placeholder replaces an object that it cannot show."""

    @wraps(log)
    def logged(*args: P.args, **kwargs: P.kwargs) -> None:
        try:
            log(*args, **kwargs)
        except Exception as error:
            add(marked("p", "lt-p", f"({log.__name__}: could not be shown: {type(error).__name__})"))

    return logged


class Formatter(Protocol):
    """An object that shows itself: as HTML, of which only known elements are kept, or as data, which is kept whole.

    For data it has `to_data() -> dict`, like the cookbook's formatters; `{"type": "conversation", "messages": [...]}`
    is a conversation.
    """

    def to_html(self) -> str:
        """Return HTML."""
        ...


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
    if here():
        add(marked("div", text_of(div_class), text_of(text)) if div_class else marked("p", "lt-p", text_of(text)))


@_harmless
def log_html(html: str, *, div_class: str | None = None) -> None:
    """Log the text of some HTML; of its markup, keep only known elements, without attributes."""
    if here():
        node = from_html(text_of(html))
        node.attrs = {"class": text_of(div_class)} if div_class else {}
        add(node)


@_harmless
def log_formatter(formatter: Formatter) -> None:
    """Log an object by its `to_data()` if that returns a dict, else by its `to_html()`."""
    if not here():
        return
    data, error = _called(getattr(formatter, "to_data", None))
    if isinstance(data, Mapping) and data.get("type") == "conversation":
        conversation(data.get("messages"))
    elif isinstance(data, Mapping):
        add(OutlineNode("div", {}, [], jsonable(data)))
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
    if here():
        marks = attributes({**attrs, "aside": "aside"} if aside else attrs)
        add(OutlineNode("div", marks, [], {"type": "conversation", "messages": messages_of(messages)}))


@_harmless
def details(text: str, *, summary: str = "Details", pre: bool = True) -> None:
    """Log a text in a collapsed block; `pre` uses a fixed-width font."""
    if here():
        body = marked("pre" if pre else "div", "lt-details-body", text_of(text))
        add(marked("details", "lt-details", OutlineNode("summary", {}, [text_of(summary)]), body))


@_harmless
def header(text: str, *, level: int | None = None) -> None:
    """Log a heading, by default one level below the section's."""
    if place := here():
        found = max(1, min(6, place.level + 1 if level is None else level))
        add(marked(f"h{found}", f"lt-h{found}", text_of(text)))


@_harmless
def table(obj: Any, *, caption: str | None = None) -> None:
    """Log a table: a list of dicts, a list of lists without a header, a pandas DataFrame, or a dict as two columns.

    Anything else is logged as text.
    """
    if not here():
        return
    if hasattr(obj, "to_dict") and hasattr(obj, "columns"):
        obj = obj.to_dict("records")
    if isinstance(obj, Mapping):
        table_from_dict(obj, caption=caption)
    elif not isinstance(obj, list | tuple):
        log_text(f"{caption}: {text_of(obj)}" if caption else text_of(obj))
    elif obj and all(isinstance(row, Mapping) for row in obj):
        columns = list(dict.fromkeys(key for row in obj for key in row))
        _captioned([columns, *([row.get(key, "") for key in columns] for row in obj)], caption, header=True)
    else:
        _captioned([row if isinstance(row, list | tuple) else [row] for row in obj], caption, header=False)


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
    if not here() or not isinstance(data, Mapping):
        log_text(f"{caption}: {text_of(data)}" if caption else text_of(data))
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
    if not here() or not isinstance(columns, Mapping):
        table(columns, caption=caption)
        return
    names = list(order or columns)
    lists = [_listed(columns.get(name, ())) for name in names]
    longest = max(map(len, lists), default=0)
    rows = [[column[at] if at < len(column) else "" for column in lists] for at in range(longest)]
    _captioned([names, *rows] if names else [], caption, header=True)


def _listed(value: object) -> list[Any]:
    return list(value) if isinstance(value, Iterable) and not isinstance(value, str | bytes) else [value]


def _captioned(rows: Sequence[Sequence[Any]], caption: str | None, *, header: bool) -> None:
    if caption:
        add(marked("div", "lt-table-caption", text_of(caption)))
    if rows:
        add(table_of(rows, header=header))
