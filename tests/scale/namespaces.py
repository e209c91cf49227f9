"""Processes in a network of their own: what listens there, on whatever interface, nobody outside can reach."""

import fcntl
import os
import shutil
import socket
import struct
import subprocess
import sys
from functools import cache

import pytest

_SET_FLAGS = 0x8914
_UP_AND_RUNNING = 0x1 | 0x40
INSIDE = "ROLLOUPE_TESTS_NETWORK"
"""The variable that a process in such a network has."""


def alone(module: str, *args: str) -> "subprocess.Popen[str]":
    """A process that runs a module in a network with a loopback alone. Skips the test where that is impossible."""
    if not (way := _way()):
        if os.environ.get("ROLLOUPE_SCALE") == "required":
            pytest.fail("no network namespace can be made here")
        pytest.skip("no network namespace can be made here")
    return subprocess.Popen(
        [*way, sys.executable, "-m", module, *args],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, INSIDE: "1"},
    )


def bring_loopback_up() -> None:
    """Let the processes of this network reach each other. Called in it; fails elsewhere."""
    assert INSIDE in os.environ, "not in a network of its own"
    others = [name for _, name in socket.if_nameindex() if name != "lo"]
    assert all(_is_down(name) for name in others), f"not alone: {others}"
    with socket.socket() as line:
        fcntl.ioctl(line, _SET_FLAGS, struct.pack("16sh14x", b"lo", _UP_AND_RUNNING))


def _is_down(name: str) -> bool:
    with open(f"/sys/class/net/{name}/operstate", encoding="ascii") as file:
        return file.read().strip() == "down"


@cache
def _way() -> tuple[str, ...]:
    if shutil.which("unshare") is None:
        return ()
    ways = (("unshare", "--net"), ("unshare", "--user", "--map-root-user", "--net"))
    done = (way for way in ways if subprocess.run([*way, "true"], capture_output=True, check=False).returncode == 0)
    return next(done, ())
