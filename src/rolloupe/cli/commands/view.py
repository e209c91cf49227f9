"""`rolloupe view`: open the page in the browser."""

from typing import Any

import click

from rolloupe.cli import options
from rolloupe.cli.commands import tui
from rolloupe.cli.frame import Command, Example
from rolloupe.server.process.serve import PORT_TAKEN, PortTaken

EXAMPLES = (
    Example("rolloupe view RUN_DIR", "One run, or all below a folder"),
    Example("rolloupe view RUNS --run RUN_ID --metrics curves.csv", "One of several runs, with curves from a file"),
    Example("rolloupe view RUN_DIR --format generic --port 8090", "As this format, on this port"),
    Example("rolloupe view gpu-box:runs/today", "Of another machine, over SSH, on which Rolloupe is installed, too"),
    Example("rolloupe view RUN_DIR --host 0.0.0.0 --allow-host gpu-box", "For a network, with the token"),
    Example("rolloupe view RUN_DIR --host 0.0.0.0 --no-token --cors '*'", "Open to everybody who can reach the port"),
)


serving = options.added(
    click.option("--host", default="127.0.0.1", show_default=True, metavar="ADDRESS", help="The address to listen on."),
    click.option("--port", type=click.IntRange(0, 65535), metavar="PORT", help="Default: 8080, or the next free one."),
    click.option("--base-path", default="", metavar="PREFIX", help="Prefix of all addresses, for a proxy: /rollouts."),
    options.cache(64, 1000),
    options.budget,
    options.state,
    click.option("--no-browser", is_flag=True, help="Do not open a browser."),
    click.option("--token", metavar="VALUE", help="Require this token. Default: a random one, kept across restarts."),
    click.option("--no-token", is_flag=True, help="Require no token: anyone who can reach the port can read the runs."),
    click.option("--rotate-token", is_flag=True, help="Generate a new random token, which ends all sessions."),
    click.option(
        "--allow-host",
        "allow_hosts",
        multiple=True,
        metavar="NAME",
        help="A name by which browsers may address this machine. Repeatable.",
    ),
    click.option(
        "--cors",
        multiple=True,
        metavar="ORIGIN",
        help="An origin whose pages may read the server's answers; * for any. Repeatable.",
    ),
)
"""Adds the server's options."""


def start(place: options.RunPaths, *, no_browser: bool, **server: Any) -> None:
    """Serve the runs until interrupted."""
    from rolloupe.server.process.serve import serve

    serve(
        place.paths,
        index_dir=place.index_dir,
        reading=place.reading,
        open_browser=not no_browser,
        **server,
    )


@click.command(cls=Command, examples=EXAMPLES)
@options.paths
@options.one_run
@click.option("--tui", "in_terminal", is_flag=True, help="Show them in this terminal instead, as `rolloupe tui` does.")
@click.option("--over-ssh", is_flag=True, hidden=True, help="Take the token from standard input, and end with it.")
@tui.looks
@serving
@options.reading
def view(
    paths: tuple[str, ...],
    data_dirs: tuple[str, ...],
    run_id: str | None,
    index_dir: str | None,
    format: str | None,
    follow_symlinks: bool,
    fields: tuple[tuple[str, str], ...],
    group_by: str,
    reward_key: str,
    reward_range: tuple[float, float] | None,
    tokenizer: str,
    download_tokenizer: bool,
    metrics: tuple[str, ...],
    metrics_step: str,
    in_terminal: bool,
    over_ssh: bool,
    mask_str: str,
    theme: str,
    **server: Any,
) -> None:
    """Show runs in the browser, live; with --tui in the terminal.

    Prints the address, and opens a browser if there is one. The page follows the runs at PATH while they grow. The
    server listens only on this machine and requires a token, which the address contains. Ctrl-C stops it.
    """
    place = options.place_of(
        paths, data_dirs, index_dir, format, follow_symlinks=follow_symlinks, fields=fields, group_by=group_by,
        reward_key=reward_key, reward_range=reward_range, tokenizer=tokenizer, download_tokenizer=download_tokenizer,
        metrics=metrics, metrics_step=metrics_step,
    )  # fmt: skip
    if in_terminal:
        tui.start(place, run_id=run_id, mask=mask_str, theme=theme, state_dir=server["state_dir"])
        return
    try:
        start(place, over_ssh=over_ssh, only=run_id, **server)
    except PortTaken:
        if not over_ssh:
            raise
        click.get_current_context().exit(PORT_TAKEN)
