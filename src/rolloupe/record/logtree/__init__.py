"""What happened in a step, as an outline: logged from anywhere below a trace, written as a page and as JSON.

The functions are those of the Tinker cookbook's `utils/logtree.py`, by the same names, and what they write is read by
the same tools. Outside of a trace, and where logging is switched off, each does nothing, so that an environment can log
without asking. All text is text: nothing that was logged becomes markup.
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
