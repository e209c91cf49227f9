"""`rolloupe tui`: show runs in the terminal."""

from typing import Annotated, Any

import click
from msgspec import Struct

from rolloupe.cli.frame import Example
from rolloupe.cli.options import command
from rolloupe.errors import NotFound
from rolloupe.questions import option
from rolloupe.server.settings import RunPaths, StateDir

EXAMPLES = (
    Example("rolloupe tui RUN_DIR", "One run, over SSH; `?` shows the keys"),
    Example("rolloupe tui RUN_DIR --split eval/gsm8k", "One of its evaluations"),
    Example("rolloupe tui RUN_DIR --mask-str ''", "With placeholders of images as they are"),
)

MISSING = "the terminal needs Textual. Next: pip install 'rolloupe[tui]', or in a clone: pip install '.[tui]'"

MASK = r"<\|image_pad\|>|<\|imgpad\|>|<\|audio_comp_pad\|>"

Theme = Annotated[
    str,
    option(
        "Colours; `sixteen` are those of the terminal itself.",
        type=click.Choice(["auto", "dark", "light", "sixteen"]), show_default=True,
    ),
]  # fmt: skip
MaskPattern = Annotated[
    str,
    option(
        "Show each match as *, and a run of N as *×N; '' masks nothing. Default: padding of images and sound.", "REGEX"
    ),
]


class TerminalOptions(Struct, frozen=True, kw_only=True):
    """What to show first, and how."""

    split: Annotated[str, option("Begin in this split. Default: train, or the first.")] = ""
    theme: Theme = "auto"
    mask_str: MaskPattern = MASK
    state_dir: StateDir = None


@command(examples=EXAMPLES)
def tui(asked: TerminalOptions, place: RunPaths) -> None:
    """Show runs in the terminal, live.

    Needs the extra `rolloupe[tui]`. The terminal shows the same samples, lists, figures and tokens as the page, from
    the same index. No key changes a file of the run.
    """
    start(place, asked.theme, split=asked.split, mask=asked.mask_str, state_dir=asked.state_dir)


def start(place: RunPaths, theme: str = "auto", **how: Any) -> None:
    """Show the runs until the person leaves. Raises `NotFound` without Textual."""
    try:
        import textual  # noqa: F401
    except ImportError:
        raise NotFound(MISSING) from None
    from rolloupe.tui.start import RunChoice, show

    show(RunChoice(*place, **how), theme)
