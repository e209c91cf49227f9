"""A real server of SSH for the person who runs the tests, on loopback alone, with keys of its own."""

import os
import pwd
import shlex
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
UNPACKED = ROOT / "build/sshd"
START_S = 20.0

SERVER = """
ListenAddress 127.0.0.1
Port {port}
HostKey {folder}/host_key
AuthorizedKeysFile {folder}/user_key.pub
StrictModes no
UsePAM no
PidFile none
PasswordAuthentication no
"""
CLIENT = """
Host *
  HostName 127.0.0.1
  Port {port}
  IdentityFile {folder}/user_key
  UserKnownHostsFile {folder}/known_hosts
  StrictHostKeyChecking no
  LogLevel ERROR
Host behind
  ProxyCommand {ssh} -F {folder}/config -W %h:%p jump
"""
HERE = f"PYTHONPATH={shlex.quote(str(ROOT / 'src'))} {shlex.quote(sys.executable)} -m rolloupe"
"""Starts this Rolloupe in the shell of an account."""


def find() -> str | None:
    """Return the server: the system's, or the one that `make test` has unpacked."""
    places = os.pathsep.join([os.environ.get("PATH", ""), "/usr/sbin", str(UNPACKED / "usr/sbin")])
    return shutil.which("sshd", path=places)


@contextmanager
def serving(folder: Path) -> Iterator[dict[str, str]]:
    """Serve until the end of the block; yields the environment in which `ssh NAME` leads there, whatever the name.

    Hosts are `far`, and `behind`, which is reached through another. Skips the test where there is no server.
    """
    sshd, ssh = find(), shutil.which("ssh")
    if sshd is None or ssh is None:
        _do_without("sshd or ssh is missing: make sshd")
    assert sshd and ssh
    with socket.create_server(("127.0.0.1", 0)) as held:
        port = held.getsockname()[1]
    for name in ("host_key", "user_key"):
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", folder / name], check=True)
    (folder / "sshd_config").write_text(SERVER.format(port=port, folder=folder))
    (folder / "config").write_text(CLIENT.format(port=port, folder=folder, ssh=ssh))
    (folder / "bin").mkdir()
    (folder / "bin/ssh").write_text(f'#!/bin/sh\nexec {ssh} -F {folder}/config "$@"\n')
    (folder / "bin/ssh").chmod(0o755)
    if os.geteuid() == 0:
        Path("/run/sshd").mkdir(exist_ok=True)
    command = [sshd, "-D", "-f", str(folder / "sshd_config"), "-E", str(folder / "log")]
    libraries = os.pathsep.join(str(one.parent) for one in UNPACKED.rglob("libwrap.so.0"))
    server = subprocess.Popen(
        [*_as_seen_with_its_account(folder), *command],
        env={**os.environ, **({"LD_LIBRARY_PATH": libraries} if libraries else {})},
    )
    try:
        _wait(port, folder / "log")
        yield {**os.environ, "PATH": f"{folder}/bin{os.pathsep}{os.environ['PATH']}", "ROLLOUPE_REMOTE_COMMAND": HERE}
    finally:
        server.terminate()
        server.wait()


def _do_without(reason: str) -> None:
    (pytest.fail if os.environ.get("ROLLOUPE_SSHD") == "required" else pytest.skip)(reason)


def _as_seen_with_its_account(folder: Path) -> list[str]:
    """What to put before the command of a server that root starts where the package, which makes its account, is not.

    It sees a list of accounts of its own; nobody else does.
    """
    try:
        pwd.getpwnam("sshd")
    except KeyError:
        if os.geteuid() != 0:
            return []
    else:
        return []
    accounts = folder / "passwd"
    account = "sshd:x:64022:65534::/run/sshd:/usr/sbin/nologin\n"
    accounts.write_text(Path("/etc/passwd").read_text(encoding="utf-8") + account, encoding="utf-8")
    apart = ["unshare", "--mount", "--", "sh", "-c", f'mount --bind {accounts} /etc/passwd && exec "$@"', "sh"]
    if subprocess.run([*apart, "true"], check=False, capture_output=True).returncode:
        _do_without("sshd has no account here, and none can be lent to it")
    return apart


def _wait(port: int, log: Path) -> None:
    began = time.monotonic()
    with socket.socket() as asking:
        while asking.connect_ex(("127.0.0.1", port)):
            if time.monotonic() - began > START_S:
                pytest.fail(log.read_text() if log.exists() else "sshd does not answer")
            time.sleep(0.05)
