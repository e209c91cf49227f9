"""The pages of the documentation that follow from the code: `python -m tools.pages` writes them."""

import inspect
from collections.abc import Callable, Iterable, Iterator
from itertools import groupby
from pathlib import Path

import click

from rolloupe.cli import main
from rolloupe.cli.frame import Command
from rolloupe.derive import METRICS, PREFIX, summary_of
from rolloupe.tui.keys import KEYS, LIST_KEYS, SCREENS, KeyHelp

DOCS = Path(__file__).parents[1] / "docs"

COMMANDS = """\
# Command line

This page is generated from the code: `make pages` writes it.
"""

KEYS_OF_TERMINAL = """\
# Keys of the terminal

This page is generated from the code: `make pages` writes it. [The terminal](terminal.md) says more about some keys.
"""

DERIVED = """\
# Derived metrics

This page is generated from the code: `make pages` writes it.

Rolloupe computes these values from the texts and the token series of every sample, in the background, while it indexes
a run. Filter, sort and chart by their names: on the page (`derived.think_chars > 2000`), on the command line (`rolloupe
query RUN --sort derived.repeated_4grams --desc`) and in Python. Each sample shows its own values, except those of token
series. You may leave out `derived.` (`max_kl > 1`) unless a sample metric or a tag of the run has the same name, which
then wins. A sample has no value until its text, or its tokens, are indexed; the answer says how many samples still have
none.

| name | label | value |
|---|---|---|
"""


def command_line() -> str:
    """Return docs/cli.md."""
    sections = [COMMANDS, _paragraphs(main)]
    sections += ["\n".join(_section(name, command)) for name, command in commands_of(main)]
    return "\n".join(sections)


def commands_of(group: click.Group, prefix: str = "") -> Iterator[tuple[str, Command]]:
    """Yield each command with its name, those of a group with the name of the group before it."""
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        if isinstance(command, click.Group):
            yield from commands_of(command, f"{prefix}{name} ")
        else:
            assert isinstance(command, Command)
            yield prefix + name, command


def _section(name: str, command: Command) -> Iterator[str]:
    arguments = [str(p.metavar) for p in command.params if isinstance(p, click.Argument)]
    yield f"## rolloupe {name}\n"
    yield f"```\n{' '.join(['rolloupe', name, '[OPTIONS]', *arguments])}\n```\n"
    yield _paragraphs(command)
    yield "| option | |\n|---|---|"
    for option in command.params:
        if isinstance(option, click.Option) and not option.hidden:
            value = f" {option.metavar}".replace("|", "\\|") if option.metavar else ""
            names = ", ".join(f"`{name}{value}`" for name in option.opts)
            default = f" Default: {option.default}." if option.show_default else ""
            about = f"{option.help}{default}".replace("|", "\\|").replace("*", "\\*")
            yield f"| {names} | {about} |"
    yield "\n```sh"
    for example in command.examples:
        yield f"# {example.meaning}\n{example.line}"
    yield "```\n"


def _paragraphs(command: click.Command) -> str:
    text = inspect.cleandoc(command.help or "")
    return "\n\n".join(" ".join(paragraph.split()) for paragraph in text.split("\n\n")) + "\n"


def terminal_keys() -> str:
    """Return docs/terminal-keys.md."""
    lines = [KEYS_OF_TERMINAL, "## The main screen\n"]
    for section, keys in groupby(KEYS, key=lambda key: key.section):
        lines += [f"### {section}\n", *_table(keys)]
    for screen in (LIST_KEYS, *SCREENS):
        lines += [f"## {screen[0].section}\n", *_table(screen)]
    return "\n".join(lines)


def _table(keys: Iterable[KeyHelp]) -> Iterator[str]:
    yield "| key | what it does |\n|---|---|"
    for key in keys:
        yield f"| {' '.join(f'`{name}`' for name in key.names)} | {key.meaning} |"
    yield ""


def derived_metrics() -> str:
    """Return docs/derived-metrics.md."""
    return DERIVED + "".join(
        f"| `{PREFIX}{name}` | {metric.label} | {summary_of(name)} |\n" for name, metric in sorted(METRICS.items())
    )


PAGES: dict[str, Callable[[], str]] = {
    "cli.md": command_line,
    "terminal-keys.md": terminal_keys,
    "derived-metrics.md": derived_metrics,
}
"""By name of the file in docs/."""

if __name__ == "__main__":
    for name, page in PAGES.items():
        (DOCS / name).write_text(page(), encoding="utf-8")
