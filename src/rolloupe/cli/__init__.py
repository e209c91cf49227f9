"""The command line: `rolloupe COMMAND`. Each module of `cli/commands`, and of its folders, holds the command of its
name; commands print what `rolloupe.api` returns.

It imports nothing heavy before a command runs, so that `--help` answers at once.
"""

import os
from pkgutil import walk_packages

import click

from rolloupe._version import __version__
from rolloupe.cli import commands
from rolloupe.cli.frame import Commands

__all__ = ["main"]


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, message="%(prog)s %(version)s")
def main() -> None:
    """Read what the model wrote, from the files that the trainer writes.

    PATH is one or more folders or files; a folder may hold many runs. Rolloupe reads files where they are and never
    changes them. The index is in your cache directory; you can delete it at any time. Without a COMMAND,
    `rolloupe PATH` is `rolloupe view PATH`; write ./PATH if a path has the name of a command.

    PATH may be on another machine: HOST:PATH or USER@HOST:PATH. The command then runs there, over SSH, where Rolloupe
    must be installed, and answers here; ROLLOUPE_REMOTE_COMMAND names it there if it is not found.

    Exit codes: 0 done, 1 nothing matched, 2 the command line cannot be understood, 3 a path cannot be read or written,
    or parts of the index are missing, so that the answer may be incomplete. Standard error explains, and says what to
    do next.
    """
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # products here are small: threads would wait for each other


main.modules.update(
    (module.name.rpartition(".")[2], module.name)
    for module in walk_packages(commands.__path__, f"{commands.__name__}.")
    if not module.ispkg
)
