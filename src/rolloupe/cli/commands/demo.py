"""`rolloupe demo`: open the page with the bundled runs."""

from typing import Any

import click

from rolloupe.cli.commands import tui
from rolloupe.cli.commands.view import serving, start
from rolloupe.cli.frame import Command, Example
from rolloupe.cli.options import RunPaths

EXAMPLES = (
    Example("rolloupe demo", "Look around"),
    Example("rolloupe demo --tui", "In this terminal"),
    Example("rolloupe demo --port 8090 --no-browser", "On this port; only print the address"),
)


@click.command(cls=Command, examples=EXAMPLES)
@click.option("--tui", "in_terminal", is_flag=True, help="Show them in this terminal instead of the browser.")
@serving
@click.option("--index-dir", metavar="DIR", help="Folder for the index. Default: the user's cache directory.")
def demo(index_dir: str | None, in_terminal: bool, **server: Any) -> None:
    """Show runs that come with Rolloupe.

    The runs are small. Some are real, others come from the framework's own writer; the README.md next to them says
    which. The options are those of `rolloupe view`.
    """
    from rolloupe.demo import FIRST, RUNS, dated

    dated()
    place = RunPaths((str(FIRST), str(RUNS)), index_dir)
    if in_terminal:
        tui.start(place, mask=tui.MASK, state_dir=server["state_dir"])
    else:
        start(place, **server)
