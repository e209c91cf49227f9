"""`rolloupe view`: open the page in the browser."""

from dataclasses import dataclass

import click

from rolloupe.cli.commands import tui
from rolloupe.cli.options import command
from rolloupe.questions import option
from rolloupe.server.process.serve import PORT_TAKEN, PortTaken, serve
from rolloupe.server.settings import RunPaths, ViewerOptions

VIEWS = ("transcript", "tokens", "group", "text", "raw")


@dataclass(frozen=True, kw_only=True)
class ViewOptions:
    """Where the runs are shown."""

    in_terminal: bool = option(False, "Show them in this terminal instead, as `rolloupe tui` does.", flags=("--tui",))
    over_ssh: bool = option(False, "Take the token from standard input, and end with it.", hidden=True)
    view: str | None = option(
        None,
        "The view in which samples open: transcript, tokens, group, text or raw.",
        "VIEW",
        type=click.Choice(VIEWS),
    )
    theme: str = option(**tui.THEME)
    mask_str: str = option(**tui.MASK_PATTERN)


@command()
def view(asked: ViewOptions, server: ViewerOptions, place: RunPaths) -> None:
    """Show runs in the browser, live; with --tui in the terminal.

    Prints the address, and opens a browser if there is one. The page follows the runs at PATH while they grow. The
    server listens only on this machine and requires a token, which the address contains. Ctrl-C stops it.

    Examples:
      rolloupe view RUN_DIR  # One run, or all below a folder
      rolloupe view outputs/token_exports --view tokens  # The samples of an export, as tokens
      rolloupe view RUNS --run RUN_ID --metrics curves.csv  # One of several runs, with curves from a file
      rolloupe view RUN_DIR --format generic --port 8090  # As this format, on this port
      rolloupe view gpu-box:runs/today  # Of another machine, over SSH, on which Rolloupe is installed, too
      rolloupe view RUN_DIR --host 0.0.0.0 --allow-host gpu-box  # For a network, with the token
      rolloupe view RUN_DIR --host 0.0.0.0 --no-token --cors '*'  # Open to everybody who can reach the port
    """
    if asked.in_terminal:
        tui.start(place, asked.theme, mask=asked.mask_str, state_dir=server.state_dir)
        return
    mask_str = "" if asked.mask_str == tui.MASK else asked.mask_str  # the page folds these in any case
    if mask_str:
        from rolloupe.query.search.pattern import mask_of

        mask_of(mask_str)
    try:
        serve(place, server, over_ssh=asked.over_ssh, mask_str=mask_str, view=asked.view or "")
    except PortTaken:
        if not asked.over_ssh:
            raise
        click.get_current_context().exit(PORT_TAKEN)
