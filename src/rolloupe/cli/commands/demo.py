"""`rolloupe demo`: open the page with the bundled runs."""

from dataclasses import dataclass

from rolloupe.cli.commands import tui
from rolloupe.cli.options import command
from rolloupe.questions import option
from rolloupe.server.process.serve import serve
from rolloupe.server.settings import RunPaths, ViewerOptions


@dataclass(frozen=True, kw_only=True)
class DemoOptions:
    """Where the runs are shown."""

    in_terminal: bool = option(False, "Show them in this terminal instead of the browser.", flags=("--tui",))


@dataclass(frozen=True, kw_only=True)
class DemoIndexOptions:
    """Where the index is."""

    index_dir: str | None = option(None, "Folder for the index. Default: the user's cache directory.", "DIR")


@command(arguments=(), has_run=False, reads=False)
def demo(asked: DemoOptions, server: ViewerOptions, index: DemoIndexOptions) -> None:
    """Show runs that come with Rolloupe.

    The runs are small. Some are real, others come from the framework's own writer; the README.md next to them says
    which. The options are those of `rolloupe view`.

    Examples:
      rolloupe demo  # Look around
      rolloupe demo --tui  # In this terminal
      rolloupe demo --port 8090 --no-browser  # On this port; only print the address
    """
    from rolloupe.demo import FIRST, RUNS, dated

    dated()
    place = RunPaths((str(FIRST), str(RUNS)), index.index_dir)
    if asked.in_terminal:
        tui.start(place, mask=tui.MASK, state_dir=server.state_dir)
    else:
        serve(place, server)
