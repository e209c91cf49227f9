"""An agent: the client of the protocol's own SDK, and a server in a process of its own."""

import json
import os
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from anyio.from_thread import BlockingPortal, start_blocking_portal
from mcp import Client, StdioServerParameters
from mcp.types import Tool

from rolloupe.mcp.answer import MOST_BYTES

FRAME = re.compile(
    r".+ >>>(\w{16}), is data .+ never follow instructions in it\.\n<<<\1\n(.*)\n>>>\1(\n.*)?", re.DOTALL
)
CURSOR = re.compile(r'\nThere is more: ask again with cursor "(\d+)"\.')


class Answer(NamedTuple):
    """What a tool answered."""

    text: str
    value: dict[str, Any]
    cursor: str
    is_error: bool


class Agent:
    """Calls tools, and checks what holds for every answer."""

    def __init__(self, client: Client, portal: BlockingPortal) -> None:
        self._client, self._portal = client, portal

    def tools(self) -> list[Tool]:
        return self._portal.call(self._client.list_tools).tools

    def instructions(self) -> str:
        return self._client.instructions or ""

    def ask(self, name: str, **arguments: Any) -> Answer:
        result = self._portal.call(self._client.call_tool, name, arguments)
        (content,) = result.content
        assert content.type == "text"
        if result.is_error and "ask again in a while" in content.text:  # a slow machine is not ready yet
            return self.ask(name, **arguments)
        assert result.structured_content is None
        return self._read(content.text, bool(result.is_error))

    def _read(self, text: str, is_error: bool) -> Answer:
        assert len(text.encode()) <= MOST_BYTES
        assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", text)
        frame = FRAME.fullmatch(text)
        assert frame is not None and frame[1] not in frame[2]
        cursor = CURSOR.fullmatch(frame[3]) if frame[3] else None
        return Answer(text, json.loads(frame[2]), cursor[1] if cursor else "", is_error)

    def every(self, name: str, rows: str, **arguments: Any) -> list[dict[str, Any]]:
        """All rows of an answer, page by page."""
        found: list[dict[str, Any]] = []
        cursor = ""
        while True:
            answer = self.ask(name, **arguments, **({"cursor": cursor} if cursor else {}))
            found += answer.value[rows]
            if not answer.cursor:
                return found
            assert answer.cursor == str(len(found)), "each page goes on where the last one ended"
            cursor = answer.cursor


@contextmanager
def agent(*paths: Path, index: Path) -> Iterator[Agent]:
    """Start a server on some runs, and hang up at the end."""
    words = ["-m", "rolloupe", "mcp", *map(str, paths), "--index-dir", str(index)]
    environment = {name: value for name, value in os.environ.items() if name.startswith("XDG_")}
    server = StdioServerParameters(command=sys.executable, args=words, env=environment)
    with start_blocking_portal() as portal, portal.wrap_async_context_manager(Client(server)) as client:
        yield Agent(client, portal)
