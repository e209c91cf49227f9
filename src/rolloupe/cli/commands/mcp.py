"""`rolloupe mcp`: answer an agent."""

from rolloupe.cli.options import command
from rolloupe.cli.runs import explain_nothing, open_runs
from rolloupe.cli.terminal import NOTHING, OK
from rolloupe.errors import NotFound
from rolloupe.server.settings import RunPaths

MISSING = "this needs the SDK of the protocol. Next: pip install 'rolloupe[mcp]', or in a clone: pip install '.[mcp]'"


@command(has_run=False)
def mcp(place: RunPaths) -> int:
    """Answer an agent that speaks the Model Context Protocol, over standard input and output.

    Needs the extra `rolloupe[mcp]`. The tools only read: they answer from the index, as the page does, and change no
    file of a run. Nothing listens on a port. docs/mcp.md shows how to add the server to an agent, and an agent that
    finds a reward hack with it.

    Examples:
      rolloupe mcp RUN_DIR  # What an agent starts; it waits for questions on standard input
      claude mcp add rolloupe -- rolloupe mcp RUN_DIR  # Add it to Claude Code
    """
    try:
        import mcp.server  # noqa: F401
    except ImportError:
        raise NotFound(MISSING) from None
    from rolloupe.mcp.serve import serve

    with open_runs(place, follow=True) as runs:
        if not len(runs):
            explain_nothing(runs)
            return NOTHING
        serve(runs)
    return OK
