"""`rolloupe view`: listens, prints the address, opens the runs, and stops at once on a signal.

The server listens before it looks at any run; requests wait for the library. Its log is sanitised and has no line for
each request: addresses are hostile.
"""

import contextlib
import errno
import os
import secrets
import signal
import socket
import sys
import threading
import webbrowser
from collections.abc import Callable
from concurrent.futures import Future
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from rolloupe.errors import BadQuery, UnreadablePath
from rolloupe.garbage import collect_as_usual, importing
from rolloupe.server.process.console import say, tell
from rolloupe.server.process.token_file import MIN_CHARS, secrets_of
from rolloupe.server.settings import RunPaths, Settings, ViewerOptions, base_path_of, bracketed, hosts_of, origins_of
from rolloupe.storage import is_remote, notices, place_of

if TYPE_CHECKING:
    from rolloupe.index import Library
    from rolloupe.server.process.front import Front


def open_page(address: str) -> None:
    """Open an address in the background; some browsers' commands return only after the browser closes.

    Does nothing where no browser can appear on the person's screen: over SSH, or without a display.
    """

    def open_browser() -> None:
        with contextlib.suppress(webbrowser.Error, OSError):
            webbrowser.open(address)

    is_remote_shell = any(os.environ.get(name) for name in ("SSH_CONNECTION", "SSH_CLIENT", "SSH_TTY"))
    is_desktop = sys.platform in ("darwin", "win32")
    if not is_remote_shell and (is_desktop or any(map(os.environ.get, ("DISPLAY", "WAYLAND_DISPLAY")))):
        threading.Thread(target=open_browser, name="browser", daemon=True).start()


READY = "ready"
"""Tells the command at the other end of an SSH connection that the port is open."""

PORT_TAKEN = 98
"""Exit code for the command at the other end of an SSH connection: its random port is in use."""

PORT = 8080
PORTS_TRIED = 50
OTHERS = "choose another --host or --port"


class PortTaken(BadQuery):
    """The port that was asked for is in use."""


def listening(host: str, port: int | None) -> socket.socket:
    """Listen on a port, or on 8080 or the next free one. The socket queues connections until the server accepts them.

    Raises `PortTaken` if the port is in use, and `BadQuery` if the host is not an address of this machine.
    """
    ports = range(PORT, PORT + PORTS_TRIED) if port is None else (port,)
    if not 0 <= ports[-1] < 2**16:  # getaddrinfo would read 70000 as 4464
        raise BadQuery(f"cannot listen on {host} port {port}: ports are numbers from 0 to 65535; {OTHERS}")
    for number in ports:
        try:
            found = socket.getaddrinfo(host, number, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
            family, *_, place = found[0]
            is_dual = family == socket.AF_INET6 and socket.has_dualstack_ipv6()
            return socket.create_server(place, family=family, backlog=128, dualstack_ipv6=is_dual)
        except OSError as error:
            if error.errno == errno.EADDRINUSE:
                continue
            reason = str(error).partition(" (while")[0]
            raise BadQuery(f"cannot listen on {host} port {number}: {reason}; {OTHERS}") from error
    if port is None:
        raise BadQuery(f"ports {PORT} to {ports[-1]} are all taken; choose one with --port")
    raise PortTaken(f"port {port} is taken; leave --port out to get the next free one")


PATIENCE_S = 1.0
"""The page first shows the runs found within this time, then each other run once it is found."""
FIRST_LOOK_S = 5.0
"""How long texts, tokens and features wait for the first sample to be shown: indexing them would delay it."""
SWITCH_S = 0.001
"""A thread that imports or indexes gives way to a request after this time, at each step of the request; Python's 5 ms
would add up to tenths of a second until the first sample.
"""
CLOSING_S = 0.5
"""Time for the indexers to stop. They rename complete files into place, so stopping them damages nothing."""


def serve(
    place: RunPaths,
    options: ViewerOptions,
    *,
    over_ssh: bool = False,
    mask_str: str = "",
    opens_on: str = "",
    view: str = "",
) -> None:
    """Show the runs at some paths until interrupted, or the one run that the place names.

    The start page leads to the run `opens_on`, or is the list of runs.

    With `over_ssh`, the server reads the token from standard input, and ends when that closes. A command line would
    show the token to everybody on the machine, and the viewer would outlive a lost connection. With `view`, samples
    open in that view.

    Raises `UnreadablePath` for a missing path or tokenizer, `NotRecognised` if a given format does not fit,
    `BadQuery` for invalid options (such as a port in use).
    """
    check_places(place)
    token = options.token
    if over_ssh and not options.no_token:
        token = sys.stdin.readline().strip() or None
    settings = Settings(
        host=options.host,
        base_path=base_path_of(options.base_path),
        view=view,
        allow_hosts=hosts_of(options.allow_hosts),
        cors=origins_of(options.cors),
        state_dir=options.state_dir,
        opens_on=opens_on,
        cache_memory_mb=options.cache_memory_mb,
        cache_entries=options.cache_entries,
        mask_str=mask_str,
        **access_of(token, no_token=options.no_token, rotate=options.rotate_token),
    )
    notices.listen(say)
    listener = listening(options.host, options.port)
    port = listener.getsockname()[1]
    if over_ssh:
        threading.Thread(target=end_with_input, name="standard input", daemon=True).start()
        tell(READY)
    else:
        announce(settings, port)
    if not options.no_browser:
        open_page(address(settings, port, settings.first_token))
    with listener:
        run(settings, listener, place, state_dir=options.state_dir, budget_bytes=options.budget_bytes)


def end_with_input() -> None:
    """Stop as at SIGTERM once standard input is closed, however the other side has ended."""
    while sys.stdin.read(4096):
        pass
    os.kill(os.getpid(), signal.SIGTERM)


def check_places(place: RunPaths) -> None:
    """Raise `UnreadablePath` for a missing path or tokenizer: the library opens only after the address is printed."""
    for path in place.paths:
        if not (is_remote(place_of(path)) or os.path.exists(os.path.expanduser(path))):
            raise UnreadablePath(f"{path} does not exist. Next: check the path")
    if place.reading.tokenizer:
        from rolloupe import tokenizer

        tokenizer.load(place.reading.tokenizer, download=place.reading.download_tokenizer)


def access_of(token: str | None, *, no_token: bool, rotate: bool) -> dict[str, Any]:
    """Return the fields of `Settings` that control access."""
    if no_token:
        if token is not None:
            raise BadQuery("--token and --no-token exclude each other; leave one of them out")
        return {"token": None}
    if token is not None and not (
        len(token) >= MIN_CHARS and token.isascii() and token.isprintable() and " " not in token
    ):
        raise BadQuery(
            f"--token must have at least {MIN_CHARS} letters, digits and symbols; leave it out to get a random one"
        )
    server_secrets = secrets_of(rotate=rotate)
    return {
        "token": token or server_secrets.token,
        "is_token_chosen": token is not None,
        "cookie_key": server_secrets.cookie_key,
        "first_token": secrets.token_urlsafe(32),
    }


def address(settings: Settings, port: int, token: str | None) -> str:
    """Return the address to open, with the token in the fragment, which browsers do not send and proxies do not log."""
    named = next((name for name in settings.allow_hosts if name != "*"), "127.0.0.1")
    host = named if settings.host in ("", "0.0.0.0", "::") else settings.host  # noqa: S104
    fragment = f"#token={quote(token, safe='')}" if token else ""
    query = f"?view={settings.view}" if settings.view else ""
    return f"http://{bracketed(host)}:{port}{settings.base_path}/{query}{fragment}"


def announce(settings: Settings, port: int) -> None:
    """Print where the page is, and warnings about access."""
    tell(f"Rolloupe is at {address(settings, port, settings.token)}  (Ctrl-C ends it)")
    if not (settings.is_loopback or settings.allow_hosts):
        name = socket.gethostname()
        say(f"To open it on other machines, add --allow-host with this machine's name there, such as {name}.")
    if settings.token is None:
        who = "on this machine" if settings.is_loopback else f"who can reach port {port} of this machine"
        say(f"Warning: without a token, everybody {who} can read these runs.")
        if "*" in settings.cors:
            say("Warning: --cors '*' without a token also lets any web page that you visit read them.")


def opening(
    front: "Front", place: RunPaths, *, state_dir: Path | str | None = None, hides_runs: bool = False, **work: Any
) -> "Future[Library]":
    """Start to import the application, and then to open the library, in a thread: searching folders takes time.

    Two threads that import NumPy at once may both find it half made, so no other thread may import it meanwhile.
    """
    future: Future[Library] = Future()
    looked_at = threading.Event()

    def import_and_open() -> None:
        try:
            with importing():
                from rolloupe.index.execution import keep_pandas_out

                keep_pandas_out()  # before DuckDB is imported
                from rolloupe import query
                from rolloupe.index import IndexWork, Library, RunSearch
                from rolloupe.server.app import App
                from rolloupe.state.scores import ScoreFiles

                query.prepare()
            front.becomes(App(future, front.settings, front.shell))
            search = RunSearch(place.reading, patience_s=PATIENCE_S, only=place.run_id, hides_runs=hides_runs)
            index_work = IndexWork(**work, looked_at=looked_at, first=front.settings.opens_on)
            library = Library(
                place.paths, index_dir=place.index_dir, follow=True, search=search,
                work=index_work, scores=ScoreFiles(state_dir),
            )  # fmt: skip
            future.set_result(library)
        except BaseException as error:
            future.set_exception(error)
        else:
            prepare()
            looked_at.wait(FIRST_LOOK_S)
            library.go_on()

    threading.Thread(target=import_and_open, name="opening", daemon=True).start()
    return future


def prepare() -> None:
    """Import what the first list and the first sample need, while the browser still reads the page."""
    with importing(), contextlib.suppress(ImportError):
        for name in ("numpy.ma", "pyarrow.compute"):
            import_module(name)
    collect_as_usual()


def run(settings: Settings, listener: socket.socket, place: RunPaths, **opens: Any) -> None:
    """Serve until interrupted, from before the application is imported. `opens` are the options of `opening`.

    Raises the library's error if it could not open.
    """
    ending = threading.Event()
    on_signal(ending.set)
    sys.setswitchinterval(SWITCH_S)
    from rolloupe.server.process.front import Front
    from rolloupe.server.process.uvicorn_server import Server

    front = Front(settings)
    server = Server(front)
    on_signal(server.stop)
    if ending.is_set():
        server.stop()
    library = opening(front, place, **opens)
    library.add_done_callback(lambda one: server.stop() if one.exception() else say_what_is_missing(one.result()))
    server.run(sockets=[listener])
    if library.done() and (error := library.exception()) is not None:
        raise error
    front.close()
    if not closed(library) or (front.app is not None and front.app.context.threads.running):
        # a query or a scan is in a long call that nothing can interrupt, and its result is not needed
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(0)


def on_signal(then: Callable[[], None]) -> None:
    """Set what Ctrl-C does. The handler raises nothing, so that it cannot break off an import or a loop."""
    if threading.current_thread() is threading.main_thread():
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, lambda *_: then())


def say_what_is_missing(library: "Library") -> None:
    """Say what was left out of curves that a person named, and why there are no runs: the page waits for the first."""
    if library.is_searching:
        once = threading.Lock()

        def look(*_: object) -> None:
            if not library.is_searching and once.acquire(blocking=False):
                unsubscribe()
                say_what_is_missing(library)

        unsubscribe = library.subscribe(look)
        look()  # the search may have ended just before
        return
    for run in library.runs:
        if run.info.reading.metrics:
            from rolloupe import query

            for source in query.curve_sources(run):
                if source.is_named and source.note:
                    say(f"{source.path}: {source.note}")
    if library.runs:
        return
    say("No run has been found yet. The page will show the first one that starts. `rolloupe doctor PATH` says more.")
    for note in library.notes[:5]:
        say(f"  {note.path}: {note.reason}")


def closed(library: "Future[Library]") -> bool:
    """Close the library; False if its threads did not end in time."""
    if not library.done():
        return False
    closing = threading.Thread(target=library.result().close, name="closing", daemon=True)
    closing.start()
    closing.join(CLOSING_S)
    return not closing.is_alive()
