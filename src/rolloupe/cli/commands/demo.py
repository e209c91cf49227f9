"""`rolloupe demo`: the page over runs that come with the package."""

from typing import Any

import click

from rolloupe.cli.commands.view import serving, start
from rolloupe.cli.frame import Command, Example
from rolloupe.cli.options import RunPaths

EXAMPLES = (
    Example("rolloupe demo", "Look around"),
    Example("rolloupe demo --port 8090 --no-browser", "On this port, and print the address only"),
)


@click.command(cls=Command, examples=EXAMPLES)
@serving
@click.option("--index-dir", metavar="DIR", help="Where the index lies. Default: the user's cache directory.")
def demo(index_dir: str | None, **server: Any) -> None:
    """Show runs that come with Rolloupe.

    They are small: some real, some made by the framework's own writer; the README.md beside them says which. The
    options are those of `rolloupe view`.
    """
    from rolloupe.demo import FIRST, RUNS, dated

    dated()
    start(RunPaths((str(FIRST), str(RUNS)), index_dir), **server)
