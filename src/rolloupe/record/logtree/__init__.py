"""Logs what happens in a step as an outline, from any function called within a trace; writes it as a page and as JSON.

The functions have the names of the Tinker cookbook's `utils/logtree.py`, and the same tools read their output. Outside
of a trace, and while logging is disabled, each function does nothing, so an environment can log unconditionally.
Logged text stays text: it never becomes markup.
"""

from rolloupe.record.logtree.content import (
    ConversationFormatter,
    Formatter,
    conversation,
    details,
    header,
    log_formatter,
    log_html,
    log_text,
    table,
    table_from_dict,
    table_from_dict_of_lists,
)
from rolloupe.record.logtree.scopes import (
    Trace,
    carried,
    current_trace,
    flush_trace,
    init_trace,
    optional_enable_logging,
    scope_details,
    scope_disable,
    scope_div,
    scope_header,
    scope_header_decorator,
    write_trace_json,
)

__all__ = [
    "ConversationFormatter",
    "Formatter",
    "Trace",
    "carried",
    "conversation",
    "current_trace",
    "details",
    "flush_trace",
    "header",
    "init_trace",
    "log_formatter",
    "log_html",
    "log_text",
    "optional_enable_logging",
    "scope_details",
    "scope_disable",
    "scope_div",
    "scope_header",
    "scope_header_decorator",
    "table",
    "table_from_dict",
    "table_from_dict_of_lists",
    "write_trace_json",
]
