"""The command line: `rolloupe COMMAND`. One file a command; what each prints comes from `rolloupe.api`.

Nothing heavy is imported before a command runs, so that `--help` answers at once.
"""

import click

from rolloupe._version import __version__
from rolloupe.cli.commands.convert import convert
from rolloupe.cli.commands.demo import demo
from rolloupe.cli.commands.doctor import doctor
from rolloupe.cli.commands.index import index
from rolloupe.cli.commands.ls import ls
from rolloupe.cli.commands.query import query
from rolloupe.cli.commands.search import search
from rolloupe.cli.commands.show import show
from rolloupe.cli.commands.steps import steps
from rolloupe.cli.commands.view import view
from rolloupe.cli.frame import Commands

__all__ = ["main"]


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, message="%(prog)s %(version)s")
def main() -> None:
    """Read what the model wrote, from the files that the trainer writes.

    PATH is a folder, one file, or several of them; a folder may hold many runs. Files are read where they lie and never
    changed. The index lies in your cache directory and can be deleted at any time. Without a COMMAND, `rolloupe PATH`
    is `rolloupe view PATH`; a PATH that is called like a command is written ./PATH.

    Exit codes: 0 done, 1 nothing matched, 2 the command line cannot be understood, 3 a path cannot be read or written,
    or parts of the index are missing, so that the answer may not be whole. Standard error says which, and what to do.
    """


for command in (view, demo, ls, steps, show, query, search, doctor, index, convert):
    main.add_command(command)
