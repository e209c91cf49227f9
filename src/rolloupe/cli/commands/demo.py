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

    The page opens on a small training run; a press on its name leads to the others, among them long reasoning, agents
    with tools, and images. The README.md next to the runs has their origins and licences. The options are those of
    `rolloupe view`.

    Examples:
      rolloupe demo  # Look around
      rolloupe demo --tui  # In this terminal
      rolloupe demo --port 8090 --no-browser  # On this port; only print the address
    """
    from rolloupe.demo import DEMO_RUNS, FIRST, RUNS, dated

    dated()
    place = RunPaths(tuple(str(RUNS / run.folder) for run in DEMO_RUNS), index.index_dir)
    if asked.in_terminal:
        tui.start(place, mask=tui.MASK, state_dir=server.state_dir)
    else:
        serve(place, server, opens_on=FIRST.name)
