"""`rolloupe mcp`: answer an agent."""

from typing import Any

import click

from rolloupe.cli import options
from rolloupe.cli.frame import NOTHING, OK, Command, Example
from rolloupe.errors import NotFound

EXAMPLES = (
    Example("rolloupe mcp RUN_DIR", "What an agent starts; it waits for questions on standard input"),
    Example("claude mcp add rolloupe -- rolloupe mcp RUN_DIR", "Add it to Claude Code"),
)

MISSING = "this needs the SDK of the protocol. Next: pip install 'rolloupe[mcp]', or in a clone: pip install '.[mcp]'"


@click.command(cls=Command, examples=EXAMPLES)
@options.paths
@options.reading
def mcp(**place: Any) -> int:
    """Answer an agent that speaks the Model Context Protocol, over standard input and output.

    Needs the extra `rolloupe[mcp]`. The tools only read: they answer from the index, as the page does, and change no
    file of a run. Nothing listens on a port. docs/mcp.md shows how to add the server to an agent, and an agent that
    finds a reward hack with it.
    """
    named = options.place_of(**place)
    try:
        import mcp.server  # noqa: F401
    except ImportError:
        raise NotFound(MISSING) from None
    from rolloupe import api
    from rolloupe.mcp.serve import serve

    with api.runs_at(named.paths, index_dir=named.index_dir, reading=named.reading, follow=True) as runs:
        if not len(runs):
            options.explain_nothing(runs)
            return NOTHING
        serve(runs)
    return OK
