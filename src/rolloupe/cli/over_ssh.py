"""Runs on a remote machine: a command whose PATH is `host:path` runs there over SSH, and prints its answer here.

No file of a run is copied: Rolloupe reads it where it is, with the index there, and answers travel. `ssh` itself knows
about users, keys, jump hosts and `~/.ssh/config`.
"""

import contextlib
import os
import re
import secrets
import shlex
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from typing import IO, Any, NamedTuple, TextIO
from urllib.parse import quote

import click

from rolloupe.errors import BadQuery, UnreadablePath
from rolloupe.server.process.serve import PORT_TAKEN, READY
from rolloupe.storage import is_remote, own_place, place_of
from rolloupe.text.visible import visible

PATH = re.compile(r"(?P<host>(?:[\w.+][\w.+-]*@)?[A-Za-z0-9_][\w.-]*):(?!//)(?P<path>.*)", re.ASCII | re.DOTALL)
"""As `scp` writes it. A drive of Windows has one letter, an address has two slashes, an option of `ssh` a hyphen."""

COMMAND = "ROLLOUPE_REMOTE_COMMAND"
"""The environment variable that names Rolloupe on the other machine, where it is not found by itself."""

FIND = """
PATH="$HOME/.local/bin:$PATH"
if command -v rolloupe >/dev/null 2>&1; then exec rolloupe "$@"; fi
if python3 -c "import rolloupe" 2>/dev/null; then exec python3 -m rolloupe "$@"; fi
if command -v uvx >/dev/null 2>&1; then exec uvx --from "rolloupe[tui]" rolloupe "$@"; fi
exit 127
"""
"""Starts Rolloupe on the remote machine, where the shell of SSH lacks the settings of a login."""

SSH_FAILED, NOT_FOUND = 255, 127
FAR_PORTS = range(20_000, 32_000)
"""Below the ports that systems give to outgoing connections."""

PORTS_TRIED = 5
PIECE_BYTES = 64 * 1024
"""The most bytes to read of a line at once: the remote machine may never end the line."""

ENDING_S = 3.0
"""Time for the viewer on the other machine to end."""

LOCAL = {"data_dirs", "host", "port", "no_browser", "token", "no_token", "rotate_token", "in_terminal"}
"""Options for this machine alone: paths, and some options of `view`."""


class FarCommand(NamedTuple):
    """A command to run on another machine."""

    host: str
    name: str
    """As people write it: `view`, `export html`."""
    command: click.Command
    words: list[str]
    values: Mapping[str, Any]
    """The options as they were written."""


def far_command(command: click.Command, ctx: click.Context, args: Sequence[str]) -> FarCommand | None:
    """Return what to run elsewhere, or None for runs on this machine. A usage error for runs on two machines."""
    if not any(PATH.fullmatch(word.partition("=")[2] if word.startswith("--") else word) for word in args):
        return None
    values, _, _ = command.make_parser(ctx).parse_args(list(args))
    about = command.get_help_option(ctx)
    both = [value for name in ("source", "target") if isinstance(value := values.get(name), str)]
    words = [*(values.get("data_dirs") or ()), *(values.get("paths") or values.get("words") or both)]
    if not words or (about and about.name in values):
        return None
    places = [(word, _far(word)) for word in words]
    first, last = places[0][1], places[-1][1]
    if first is None:
        if both and last:
            raise click.UsageError(f"{both[-1]} is on another machine: name a DST of this one.", ctx)
        return None
    host = first["host"]
    elsewhere = [word for word, place in places if place and place["host"] != host]
    if other := next((word for word in elsewhere if "/" in word), None):
        raise click.UsageError(f"{words[0]} and {other} are on two machines; start a command for each.", ctx)
    if both and (elsewhere or last is None):
        raise click.UsageError(f"SRC and DST must be on one machine: name a DST on {host}, and copy it.", ctx)
    here = [place["path"] or "." if place and place["host"] == host else word for word, place in places]
    group = ctx.parent.command.name if ctx.parent and ctx.parent.parent else ""
    return FarCommand(host, f"{group} {command.name}".strip(), command, here, values)


def _far(word: str) -> "re.Match[str] | None":
    """Split a word that names a place on a remote machine into host and path. A path that exists here is local."""
    match = PATH.fullmatch(word)
    if match is None or is_remote(place_of(word)) or os.path.lexists(word):
        return None
    return None if len(match["host"]) == 1 and os.name == "nt" else match


def run(far: FarCommand) -> int:
    """Run the command and return its exit code. Raises `UnreadablePath` where SSH itself fails."""
    if "output" in far.values:  # a command that writes a file: it is written here
        from rolloupe.storage.atomic import replacing

        output = str(far.values["output"])
        if output.endswith("/"):
            raise BadQuery(f"a folder of files does not come over SSH: name a file, or write it there: ssh {far.host}")
        with replacing(own_place(output)) as file:
            if code := _print(far._replace(values={**far.values, "output": "-"}), ("stderr",), stdout=file):
                raise click.exceptions.Exit(code)
        return 0
    if far.command.name == "tui" or far.values.get("in_terminal"):
        return _checked(far.host, _start(["ssh", "-t", far.host, line_of(["tui", *written(far)[1:]])]).wait())
    if far.command.name != "view":
        return _print(far, ("stdout", "stderr"))
    if far.values.get("host"):
        raise BadQuery(
            "--host is for runs on this machine; the page of a remote run can be opened only on this machine"
        )
    codes = (view_there(far) for _ in range(PORTS_TRIED))
    return next((code for code in codes if code != PORT_TAKEN), PORT_TAKEN)


def written(far: FarCommand) -> list[str]:
    """Write the command line for the other machine: its name, its options and its words."""
    words = far.name.split()
    for option in far.command.params:
        value = far.values.get(option.name or "")
        if not isinstance(option, click.Option) or value is None or value == () or option.name in LOCAL:
            continue
        name = max(option.opts, key=len)
        if option.is_flag:
            words.append(name if value else max(option.secondary_opts, key=len))
            continue
        for one in value if option.multiple else [value]:
            words += [name, *([one] if option.nargs == 1 else one)]
    return [*words, "--", *far.words]


def line_of(words: Sequence[str]) -> str:
    """Return the line that the shell on the other machine gets."""
    if chosen := os.environ.get(COMMAND):
        return f"{chosen} {shlex.join(words)}"
    return shlex.join(["sh", "-c", FIND, "rolloupe", *words])


def _print(far: FarCommand, names: Sequence[str], **streams: Any) -> int:
    """Run a command and copy what it writes; to a terminal, without control characters."""
    targets = {name: stream for name in names if (stream := getattr(sys, name)).isatty()}
    streams |= dict.fromkeys(targets, subprocess.PIPE)
    ssh = _start(["ssh", "-T", far.host, line_of(written(far))], stdin=subprocess.DEVNULL, **streams)

    def show(name: str, target: TextIO) -> None:
        for piece in _pieces(getattr(ssh, name)):
            with contextlib.suppress(OSError):
                target.buffer.write(visible(piece).encode(target.encoding, "backslashreplace"))
                target.flush()

    copies = [threading.Thread(target=show, args=pair, daemon=True) for pair in targets.items()]
    for copy in copies:
        copy.start()
    for copy in copies:
        copy.join()
    return _checked(far.host, ssh.wait())


def _pieces(source: IO[bytes]) -> Iterator[str]:
    """Yield the lines of another machine, long ones in pieces."""
    with source:
        while piece := source.readline(PIECE_BYTES):
            yield piece.replace(b"\r\n", b"\n").decode("utf-8", "replace")


def view_there(far: FarCommand) -> int:
    """Show the page until interrupted: the viewer runs there, and a port of this machine leads to it."""
    from rolloupe.server.process.console import say, tell
    from rolloupe.server.process.serve import listening, open_page

    port = far.values.get("port")
    if port is not None and not port.isdecimal():
        raise BadQuery(f"{port!r} is not a port; leave --port out to get a free one")
    with listening("127.0.0.1", None if port is None else int(port)) as listener:
        local_port = listener.getsockname()[1]
    far_port = secrets.choice(FAR_PORTS)
    token = "" if far.values.get("no_token") else far.values.get("token") or secrets.token_urlsafe(32)
    words = written(far)
    words[1:1] = ["--over-ssh", "--no-browser", "--port", str(far_port), *([] if token else ["--no-token"])]
    forward = ["-o", "ExitOnForwardFailure=yes", "-o", "ServerAliveInterval=15"]
    forward += ["-L", f"127.0.0.1:{local_port}:127.0.0.1:{far_port}"]
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # for SSH and its child processes: they end with the viewer
    ssh = _start(["ssh", "-T", *forward, far.host, line_of(words)], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    shown, ended = threading.Event(), threading.Event()

    def end(*_: object) -> None:
        """End the viewer by closing its standard input. SSH ends after it, or is ended."""
        ended.set()
        with contextlib.suppress(OSError, ValueError):
            ssh.stdin.close()  # type: ignore[pyrefly:missing-attribute]
        timer = threading.Timer(ENDING_S if shown.is_set() else 0, ssh.terminate)
        timer.daemon = True
        timer.start()

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, end)
    assert ssh.stdin is not None
    assert ssh.stdout is not None
    with contextlib.suppress(OSError):  # SSH has ended, and said why
        ssh.stdin.write(f"{token}\n".encode())
        ssh.stdin.flush()
    for line in _pieces(ssh.stdout):
        if shown.is_set() or line.strip() != READY:
            say(f"{far.host}: {line.rstrip()}")  # it may look like an address of this program
            continue
        shown.set()
        prefix = str(far.values.get("base_path") or "").strip("/")
        address = f"http://127.0.0.1:{local_port}/{prefix and prefix + '/'}"
        address += f"#token={quote(token, safe='')}" if token else ""
        tell(f"Rolloupe is at {address}  (Ctrl-C ends it)")
        say(f"It runs on {far.host}, which reads the runs where they are.")
        if not far.values.get("no_browser"):
            open_page(address)
    code = ssh.wait()
    with contextlib.suppress(OSError):
        ssh.stdin.close()
    if ended.is_set():
        return 0
    if shown.is_set() and (code < 0 or code == SSH_FAILED):
        raise UnreadablePath(f"the connection to {far.host} was lost. Next: start it again")
    return _checked(far.host, code)


def _start(line: Sequence[str], **streams: Any) -> "subprocess.Popen[bytes]":
    sys.stdout.flush()
    try:
        return subprocess.Popen(line, **streams)
    except FileNotFoundError:
        raise UnreadablePath("the command `ssh` is missing here. Next: install OpenSSH's client") from None


def _checked(host: str, code: int) -> int:
    if code == SSH_FAILED:
        raise UnreadablePath(f"SSH to {host} failed. Next: try  ssh {host} true")
    if code == NOT_FOUND:
        raise UnreadablePath(
            f"{host} has no command `rolloupe`. Next: install it there, or set {COMMAND} here to what starts it there, "
            "such as venv/bin/rolloupe"
        )
    return code
