"""Processes that begin with everything imported: forked from one that imports it once a test run.

To start Python, and to import DuckDB, Arrow and the server, takes a second of processor time; hundreds of tests start
a viewer, and each viewer its indexers. What is started here behaves as any process does: it has pipes of its own, an
environment, a parent that waits for it, and it takes signals.
"""

import atexit
import contextlib
import gc
import importlib
import io
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path
from typing import IO, Any
from unittest import mock

from rolloupe.formats import registry
from rolloupe.index import execution

ADDRESS = "ROLLOUPE_TESTS_FORKS"
"""The variable that says where the process listens that forks."""

IMPORTED = (
    "rolloupe.server.process.serve", "rolloupe.server.app", "rolloupe.server.process.front",
    "rolloupe.server.process.uvicorn_server",
    "rolloupe.index.execution", "rolloupe.query", "rolloupe.api", "rolloupe.cli", "rolloupe.cli.runs",
    "rolloupe.state.scores", "uvicorn.protocols.http.h11_impl", "uvicorn.lifespan.off", "uvicorn.loops.asyncio",
    "duckdb.value.constant", "encodings.idna", "importlib.metadata", "numpy.ma", "pyarrow.compute", "rich.console",
)  # fmt: skip
"""What processes of the tests import one after the other, beside the formats."""

STARTS_WITHIN_S = 60

RARELY = 50_000, 20, 100
"""When the garbage collector passes: little garbage of tests has cycles, and a fourteenth of their time went here."""

_ANSWER_BYTES = 16
"""Each answer has as many: the end of a process may follow its number at once."""


class Fork:
    """A process that calls a function of a module, with what `subprocess.Popen` has of one. Its warnings are errors."""

    def __init__(self, function: str, *args: str, errors: bool = True, terminal: int | None = None) -> None:
        self._written = b"", b""
        self.stderr: IO[bytes] | None
        self.stdin, stdin = _pipe(to_child=True)
        self.stdout, stdout = _pipe(to_child=False)
        self.stderr, stderr = _pipe(to_child=False) if errors else (None, os.open(os.devnull, os.O_WRONLY))
        if terminal is not None:  # all it reads and writes is there
            for number in (stdin, stdout, stderr):
                os.dup2(terminal, number)
        request = {"function": function, "args": args, "environ": dict(os.environ), "folder": os.getcwd()}
        self._line = _connected(os.environ[ADDRESS])
        with tempfile.TemporaryFile() as file:  # too long for one message, where the environment is
            file.write(json.dumps(request).encode())
            file.seek(0)
            socket.send_fds(self._line, [b"\n"], [stdin, stdout, stderr, file.fileno()])
            self.pid = int(self._line.recv(_ANSWER_BYTES))
        for number in (stdin, stdout, stderr):
            os.close(number)
        self.returncode: int | None = None

    def poll(self) -> int | None:
        """Its exit code, None while it runs; less than 0 is a signal."""
        with contextlib.suppress(TimeoutError, BlockingIOError):
            self.wait(0)
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        """Wait for its end. Raises `TimeoutError`."""
        if self.returncode is None:
            self._line.settimeout(timeout)
            self.returncode = int(self._line.recv(_ANSWER_BYTES) or -signal.SIGKILL)
            self._line.close()
        return self.returncode

    def send_signal(self, number: int) -> None:
        """Send a signal, unless it has ended."""
        if self.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, number)

    def kill(self) -> None:
        """End it at once."""
        self.send_signal(signal.SIGKILL)

    def communicate(self, timeout: float | None = None) -> tuple[bytes, bytes]:
        """Wait for its end: what it wrote. Both together must fit into a pipe."""
        self.wait(timeout)
        if not self.stdout.closed:
            self._written = self.stdout.read(), self.stderr.read() if self.stderr else b""
            self.close()
        return self._written

    def close(self) -> None:
        """Close this end of the pipes."""
        for pipe in (self.stdin, self.stdout, self.stderr):
            if pipe is not None:
                pipe.close()
        self._line.close()


def _pipe(*, to_child: bool) -> tuple[IO[bytes], int]:
    reading, writing = os.pipe()
    return (open(writing, "wb", buffering=0), reading) if to_child else (open(reading, "rb"), writing)


def _connected(address: str) -> socket.socket:
    """A line to the process that forks, which may still be importing."""
    late = time.monotonic() + STARTS_WITHIN_S
    while not os.path.exists(address):
        assert time.monotonic() < late, "tests/forks.py did not start"
        time.sleep(0.01)
    line = socket.socket(socket.AF_UNIX)
    line.connect(address)
    return line


def index_worker() -> Fork:
    """A process that indexes: what `rolloupe.index.execution` starts, sooner."""
    return Fork("tests.forks:_index", *sys.path, errors=False)


def _index(*path: str) -> None:
    sys.path[:] = path  # packages with formats may lie there
    os.nice(execution.NICENESS)
    execution.main()


START_WORKER = execution.start_process
"""What a viewer starts its indexers with."""


def patch_workers() -> None:
    """Have this process take its indexers from here."""
    execution.start_process = index_worker  # type: ignore[pyrefly:bad-assignment]


def program(code: str, *args: str, **environ: str) -> Fork:
    """A process that runs a program as `python -c` does, with more in its environment."""
    with mock.patch.dict(os.environ, environ):
        return Fork("tests.forks:_execute", code, *args)


def _execute(code: str, *args: str) -> None:
    sys.argv = ["-c", *args]
    exec(compile(code, "<program>", "exec"), {"__name__": "__main__"})


def begin() -> None:
    """Start the process that forks, unless one was, and say where in the environment; it ends with this one."""
    if ADDRESS in os.environ:
        return
    address = str(Path(tempfile.mkdtemp(prefix="rolloupe-forks-")) / "socket")
    line = [sys.executable, "-W", "error", "-m", "tests.forks", address]
    root = Path(__file__).parents[1]
    environ = {**os.environ, "PYTHONPATH": os.pathsep.join([str(root), os.environ.get("PYTHONPATH", "")])}
    process = subprocess.Popen(line, stdin=subprocess.PIPE, cwd=root, env=environ)
    atexit.register(process.kill)
    os.environ[ADDRESS] = address


def _listen(address: str) -> None:
    """Fork a process for each that connects."""
    for name in IMPORTED:
        importlib.import_module(name)
    registry.built_in_formats()
    execution.keep_pandas_out()  # the first array of each process would import it
    gc.freeze()  # no pass over what all share, which would copy it
    gc.set_threshold(*RARELY)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for those in the middle
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(f"{address}.new")
    listener.listen(64)
    os.rename(f"{address}.new", address)
    while True:
        line, _ = listener.accept()
        if os.fork() == 0:
            listener.close()
            _between(line)
        line.close()


def _between(line: socket.socket) -> None:
    """Fork the process that was asked for, and tell when it has ended."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    _, numbers, _, _ = socket.recv_fds(line, 1, 4)
    with open(numbers.pop(), "rb") as file:
        request = json.loads(file.read())
    pid = os.fork()
    if pid == 0:
        line.close()
        _run(request, numbers)
    for number in numbers:
        os.close(number)
    with contextlib.suppress(OSError):
        line.send(str(pid).encode().ljust(_ANSWER_BYTES))
    _, status = os.waitpid(pid, 0)
    with contextlib.suppress(OSError):
        line.send(str(os.waitstatus_to_exitcode(status)).encode().ljust(_ANSWER_BYTES))
    os._exit(0)


def _run(request: dict[str, Any], numbers: list[int]) -> None:
    """Be that process."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for place, number in enumerate(numbers):
        os.dup2(number, place)
        os.close(number)
    sys.stdin, sys.stderr = open(0, closefd=False), open(2, "w", closefd=False)  # noqa: SIM115
    sys.stdout = io.TextIOWrapper(open(1, "wb", buffering=0, closefd=False), write_through=True)  # noqa: SIM115
    os.environ.clear()
    os.environ.update(request["environ"])
    os.chdir(request["folder"])
    warnings.simplefilter("error")
    module, name = request["function"].split(":")
    code = 1
    try:
        getattr(importlib.import_module(module), name)(*request["args"])
        code = 0
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else int(end.code is not None)
        if isinstance(end.code, str):
            print(end.code, file=sys.stderr)
    except KeyboardInterrupt:
        code = -signal.SIGINT
    except BaseException as error:
        sys.excepthook(type(error), error, error.__traceback__)
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


if __name__ == "__main__":
    _listen(sys.argv[1])
