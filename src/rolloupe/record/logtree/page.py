"""A logtree as a page: a single file without scripts that loads nothing else, readable in light and dark mode.

Invariant: this module escapes every text, and only this package names tags and attributes, so nothing that a model or
an environment wrote can become markup. A content security policy in the page forbids everything else.
"""

import html
import json
from collections.abc import Iterable, Iterator
from typing import Any

from rolloupe.record.logtree.nodes import OutlineNode
from rolloupe.text import clean

_POLICY = "default-src 'none'; style-src 'unsafe-inline'"
_STYLE = """
:root { color-scheme: light dark; --fg: #1f2328; --bg: #fff; --soft: #f3f4f6; --line: #d5d9df; --dim: #59636e;
  --user: #1769aa; --assistant: #6f42a5; --system: #9a6700; --tool: #2a7a3b; --bad: #b42318; }
@media (prefers-color-scheme: dark) { :root { --fg: #e2e5e9; --bg: #14171b; --soft: #1e2329; --line: #39414a;
  --dim: #9aa4af; --user: #6cb4f0; --assistant: #c39af5; --system: #e0b341; --tool: #6fce84; --bad: #ff8a80; } }
body { max-width: 62rem; margin: 0 auto; padding: 1.5rem; color: var(--fg); background: var(--bg);
  font: 15px/1.5 system-ui, sans-serif; }
h1, h2, h3, h4, h5, h6 { margin: 1rem 0 .4rem; line-height: 1.25; font-size: 1rem; }
h1 { font-size: 1.5rem; } h2 { font-size: 1.25rem; } h3 { font-size: 1.1rem; }
.lt-subtitle, .lt-table-caption, .lt-message-role, .lt-tool-call-label { color: var(--dim); font-size: .87rem; }
p, pre, .lt-text-part, .lt-details-body, td { white-space: pre-wrap; overflow-wrap: anywhere; }
.lt-section-body { padding-left: .8rem; border-left: 2px solid var(--line); }
.lt-section-body > *, .lt-conversation > * { margin-block: .4rem; }
pre, code { font: .87rem/1.45 ui-monospace, monospace; }
pre, details, .lt-message, .lt-tool-call-part { margin: .4rem 0; padding: .4rem .7rem; border-radius: 4px; }
pre, .lt-message { background: var(--soft); }
details, .lt-tool-call-part { border: 1px solid var(--line); background: var(--bg); }
summary { cursor: pointer; color: var(--dim); }
table { border-collapse: collapse; margin: .3rem 0 .8rem; }
th, td { border: 1px solid var(--line); padding: .15rem .5rem; text-align: left; vertical-align: top; }
th { background: var(--soft); }
.lt-message { border-left: 3px solid var(--dim); }
.lt-message-user { border-left-color: var(--user); } .lt-message-assistant { border-left-color: var(--assistant); }
.lt-message-system { border-left-color: var(--system); } .lt-message-tool { border-left-color: var(--tool); }
.lt-tool-call-name { font-weight: 600; }
.lt-exc, .lt-error { border-color: var(--bad); color: var(--bad); }
""".strip()

_ROLES = ("user", "assistant", "system", "tool", "developer")
_INLINE = ("span", "strong", "em", "b", "i", "u", "s", "code", "sub", "sup", "small")


def page(title: str, root: OutlineNode) -> bytes:
    """Return a whole page in UTF-8."""
    head = (
        f'<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n<title>{_escaped(title)}</title>\n'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<style>\n{_STYLE}\n</style>\n</head>\n"
    )
    return (head + "".join(_element(root)) + "</html>\n").encode("utf-8", "replace")


def _escaped(text: str) -> str:
    return html.escape(clean(text)).replace("\0", "\ufffd")


def _element(node: OutlineNode) -> Iterator[str]:
    attrs = "".join(f' {key}="{_escaped(value)}"' for key, value in node.attrs.items())
    yield f"<{node.tag}{attrs}>"
    if node.data is not None:
        yield from _data(node.data)
    else:
        for child in list(node.children):
            if isinstance(child, str):
                yield _escaped(child)
            else:
                yield from _element(child)
    yield f"</{node.tag}>" + ("" if node.tag in _INLINE else "\n")


# The HTML of nodes with data


def _data(data: dict[str, Any]) -> Iterator[str]:
    messages = data.get("messages")
    if data.get("type") == "conversation" and isinstance(messages, list):
        yield from conversation(messages)
    else:
        yield f"<pre>{_escaped(json.dumps(data, ensure_ascii=False, indent=1))}</pre>"


def conversation(messages: list[dict[str, Any]]) -> Iterator[str]:
    """Yield the HTML of messages as `messages_of` returns them."""
    yield '<div class="lt-conversation">\n'
    for message in messages:
        yield from _message(message)
    yield "</div>"


def _message(message: dict[str, Any]) -> Iterator[str]:
    role = str(message.get("role"))
    shown = role if role in _ROLES else "other"
    name = message.get("name")
    yield f'<div class="lt-message lt-message-{shown}"><span class="lt-message-role">{_escaped(role)}'
    yield f" {_escaped(str(name))}:</span>" if name else ":</span>"
    yield '<div class="lt-message-content">'
    yield from _content(message.get("content"))
    yield from (_call(call) for call in _objects(message.get("tool_calls")))
    yield from (_unparsed(call) for call in _objects(message.get("unparsed_tool_calls")))
    yield "</div></div>\n"


def _objects(value: object) -> Iterable[dict[str, Any]]:
    return (one for one in value if isinstance(one, dict)) if isinstance(value, list) else ()


def _content(content: Any) -> Iterator[str]:
    for part in content if isinstance(content, list) else [content]:
        if part is None:
            continue
        if not isinstance(part, dict):
            yield _text(str(part))
        elif isinstance(part.get("text"), str):
            yield _text(part["text"])
        elif isinstance(part.get("thinking"), str):
            shown = _escaped(part["thinking"])
            yield f'<details class="lt-thinking-part"><summary>Thinking</summary><pre>{shown}</pre></details>'
        elif "image" in str(part.get("type")):
            yield '<br><span class="lt-image-part">[Image]</span>'
        else:
            yield f"<pre>{_escaped(json.dumps(part, ensure_ascii=False))}</pre>"


def _text(text: str) -> str:
    return f'<span class="lt-text-part">{_escaped(text)}</span>'


def _call(call: dict[str, Any]) -> str:
    inner = call.get("function")
    function = inner if isinstance(inner, dict) else call
    arguments = function.get("arguments", "")
    shown = arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)
    name = f'<span class="lt-tool-call-name">{_escaped(str(function.get("name", "")))}</span>'
    label = '<span class="lt-tool-call-label">calls</span>'
    return f'<div class="lt-tool-call-part">{label} {name} <code>{_escaped(shown)}</code></div>'


def _unparsed(call: dict[str, Any]) -> str:
    raw, error = (_escaped(str(call.get(key, ""))) for key in ("raw_text", "error"))
    label = '<span class="lt-tool-call-label">call that could not be parsed</span>'
    return (
        f'<div class="lt-unparsed-tool-call-part">{label} <code>{raw}</code><div class="lt-error">{error}</div></div>'
    )
