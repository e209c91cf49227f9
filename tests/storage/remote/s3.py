"""A real server of S3, moto's, in a process of its own on loopback, and a bucket there."""

import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import obstore
from obstore.store import S3Store

START_S = 60.0
KEYS = {"AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test", "AWS_REGION": "us-east-1"}
SIGNED = {"Authorization": "AWS4-HMAC-SHA256 Credential=test/20260101/us-east-1/s3/aws4_request, Signature=0"}

SERVER = """
import contextlib, sys, threading
from werkzeug.serving import make_server
from moto.moto_server.werkzeug_app import DomainDispatcherApplication, create_backend_app
moto, lock = DomainDispatcherApplication(create_backend_app), threading.Lock()
def app(environ, start):  # stores compare and swap in one step, moto in two
    swaps = environ["REQUEST_METHOD"] == "PUT" and {"HTTP_IF_MATCH", "HTTP_IF_NONE_MATCH"} & environ.keys()
    with lock if swaps else contextlib.nullcontext():
        return moto(environ, start)
server = make_server("127.0.0.1", 0, app, threaded=True)
print(server.port, flush=True)
server.serve_forever()
"""


@contextmanager
def serving() -> Iterator[str]:
    """Serve until the end of the block; yields the address."""
    server = subprocess.Popen(
        [sys.executable, "-c", SERVER], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    try:
        assert server.stdout is not None
        yield f"http://127.0.0.1:{int(server.stdout.readline())}"
    finally:
        server.kill()
        server.wait()
        assert server.stdout is not None
        server.stdout.close()


def request(address: str, method: str, acl: str = "") -> bytes:
    """Send a request that the server takes for one of the owner."""
    headers = SIGNED | ({"x-amz-acl": acl} if acl else {})
    asked = urllib.request.Request(address, headers=headers, method=method)
    with urllib.request.urlopen(asked, timeout=30) as reply:
        body: bytes = reply.read()
        return body


@dataclass(frozen=True)
class Bucket:
    """A bucket of its own for a test."""

    name: str
    endpoint: str
    scheme = "s3"

    @property
    def environ(self) -> dict[str, str]:
        """What the command line needs to know."""
        return {**KEYS, "AWS_ENDPOINT_URL": self.endpoint}

    @property
    def url(self) -> str:
        """What `rolloupe` is given."""
        return f"{self.scheme}://{self.name}"

    def store(self) -> Any:
        """The bucket for obstore."""
        return S3Store(
            self.name,
            endpoint=self.endpoint, access_key_id="test", secret_access_key="test", region="us-east-1",
            client_options={"allow_http": True},
        )  # fmt: skip

    def put(self, key: str, data: bytes, part_bytes: int | None = None) -> None:
        """Put an object, in parts of a size if one is given: its tag depends on that."""
        if part_bytes is None:
            obstore.put(self.store(), key, data, use_multipart=False)
        else:
            obstore.put(self.store(), key, data, use_multipart=True, chunk_size=part_bytes)

    def upload(self, folder: Path, prefix: str) -> None:
        """Put all files below a folder."""
        for path in sorted(folder.rglob("*")):
            if path.is_file():
                self.put(f"{prefix}/{path.relative_to(folder).as_posix()}", path.read_bytes())

    def delete(self, key: str) -> None:
        """Delete an object."""
        obstore.delete(self.store(), key)

    def tag(self, key: str) -> str:
        """Its ETag."""
        return str(obstore.head(self.store(), key)["e_tag"])


def created(name: str, endpoint: str) -> Bucket:
    """Create a bucket."""
    ends = time.monotonic() + START_S
    while True:
        try:
            request(f"{endpoint}/{name}", "PUT")
            return Bucket(name, endpoint)
        except urllib.error.URLError:
            if time.monotonic() > ends:
                raise
            time.sleep(0.1)
