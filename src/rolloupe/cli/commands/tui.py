"""`rolloupe tui`: show runs in the terminal."""

from collections.abc import Callable
from typing import Any, TypeVar

import click

from rolloupe.cli import options
from rolloupe.cli.frame import Command, Example
from rolloupe.errors import NotFound

EXAMPLES = (
    Example("rolloupe tui RUN_DIR", "One run, over SSH; `?` shows the keys"),
    Example("rolloupe tui RUN_DIR --split eval/gsm8k", "One of its evaluations"),
    Example("rolloupe tui RUN_DIR --mask-str ''", "With placeholders of images as they are"),
)

MISSING = "the terminal needs Textual. Next: pip install 'rolloupe[tui]', or in a clone: pip install '.[tui]'"

MASK = r"<\|image_pad\|>|<\|imgpad\|>|<\|audio_comp_pad\|>"


F = TypeVar("F", bound=Callable[..., Any])


def looks(command: F) -> F:
    """Add the options of the terminal."""
    for option in (
        click.option(
            "--mask-str",
            default=MASK,
            metavar="REGEX",
            help="Show each match as *, and a run of N as *×N; '' masks nothing. Default: padding of images and sound.",
        ),
        click.option(
            "--theme",
            type=click.Choice(["auto", "dark", "light", "sixteen"]),
            default="auto",
            show_default=True,
            help="Colours; `sixteen` are those of the terminal itself.",
        ),
    ):
        command = option(command)
    return command


@click.command(cls=Command, examples=EXAMPLES)
@options.paths
@options.one_run
@click.option("--split", default="", metavar="NAME", help="Begin in this split. Default: train, or the first.")
@looks
@options.state
@options.reading
def tui(run_id: str | None, split: str, mask_str: str, theme: str, state_dir: str | None, **place: Any) -> None:
    """Show runs in the terminal, live.

    Needs the extra `rolloupe[tui]`. The terminal shows the same samples, lists, figures and tokens as the page, from
    the same index. No key changes a file of the run.
    """
    start(options.place_of(**place), run_id=run_id, split=split, mask=mask_str, theme=theme, state_dir=state_dir)


def start(place: options.RunPaths, *, theme: str = "auto", **how: Any) -> None:
    """Show the runs until the person leaves. Raises `NotFound` without Textual."""
    try:
        import textual  # noqa: F401
    except ImportError:
        raise NotFound(MISSING) from None
    from rolloupe.tui.start import RunChoice, show

    show(RunChoice(place.paths, place.index_dir, place.reading, **how), theme)
