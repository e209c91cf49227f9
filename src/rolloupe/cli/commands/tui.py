"""`rolloupe tui`: show runs in the terminal."""

from dataclasses import dataclass
from typing import Any

import click

from rolloupe.cli.options import command
from rolloupe.errors import NotFound
from rolloupe.questions import option
from rolloupe.server.settings import STATE_DIR, RunPaths

MISSING = "the terminal needs Textual. Next: pip install 'rolloupe[tui]', or in a clone: pip install '.[tui]'"

MASK = r"<\|image_pad\|>|<\|imgpad\|>|<\|audio_comp_pad\|>"


THEME: dict[str, Any] = {
    "default": "auto", "about": "Colours; `sixteen` are those of the terminal itself.", "show_default": True,
    "type": click.Choice(["auto", "dark", "light", "sixteen"]),
}  # fmt: skip
MASK_PATTERN: dict[str, Any] = {
    "default": MASK, "metavar": "REGEX",
    "about": "Show each match as *, and a run of N as *×N; '' masks nothing. Default: padding of images and sound, "
    "which the page folds in any case.",
}  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class TerminalOptions:
    """What to show first, and how."""

    split: str = option("", "Begin in this split. Default: train, or the first.")
    theme: str = option(**THEME)
    mask_str: str = option(**MASK_PATTERN)
    state_dir: str | None = option(None, **STATE_DIR)


@command()
def tui(asked: TerminalOptions, place: RunPaths) -> None:
    """Show runs in the terminal, live.

    Needs the extra `rolloupe[tui]`. The terminal shows the same samples, lists, figures and tokens as the page, from
    the same index. No key changes a file of the run.

    Examples:
      rolloupe tui RUN_DIR  # One run, over SSH; `?` shows the keys
      rolloupe tui RUN_DIR --split eval/gsm8k  # One of its evaluations
      rolloupe tui RUN_DIR --mask-str ''  # With placeholders of images as they are
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
