"""Writes docs/cli.md from the commands themselves: `python -m rolloupe.cli.reference > docs/cli.md`."""

import inspect
import sys
from collections.abc import Iterator

import click

from rolloupe.cli import main
from rolloupe.cli.frame import Command

OPENING = """\
# Command line

This page is generated from the code: `make pages` writes it.
"""


def describe() -> str:
    """Return docs/cli.md."""
    sections = [OPENING, _paragraphs(main)]
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


if __name__ == "__main__":
    sys.stdout.write(describe())
