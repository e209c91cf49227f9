"""An OpenID provider in a process of its own, where whoever is asked for may log in."""

import json
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from urllib.parse import urljoin

import httpx

CODE = "import sys, warnings; warnings.simplefilter('ignore'); from oidc_provider_mock.__main__ import run; run()"
PEOPLE: tuple[Mapping[str, object], ...] = (
    {"sub": "ada", "email": "ada@example.org", "email_verified": True},
    {"sub": "zed", "email": "zed@example.org"},
    {"sub": "new", "email": "root@example.org", "email_verified": False},
    {"sub": "odd", "email": "ada@example.org, root@example.org"},
    {"sub": "nobody"},
)


def free_port() -> int:
    """A port that nobody listens on."""
    with closing(socket.socket()) as line:
        line.bind(("127.0.0.1", 0))
        return int(line.getsockname()[1])


@contextmanager
def providing() -> Iterator[str]:
    """Serve logins; yields the issuer."""
    port = free_port()
    people = [word for person in PEOPLE for word in ("--user-claims", json.dumps(person))]
    words = [sys.executable, "-c", CODE, "--host", "127.0.0.1", "--port", str(port), *people]
    process = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    issuer = f"http://127.0.0.1:{port}"
    try:
        until = time.monotonic() + 60
        while time.monotonic() < until and process.poll() is None:
            with suppress(httpx.TransportError):
                if httpx.get(f"{issuer}/.well-known/openid-configuration").status_code == 200:
                    break
            time.sleep(0.05)
        yield issuer
    finally:
        process.kill()
        process.wait()


class LoginBrowser:
    """Somebody's browser: it has cookies, and follows what it is told to."""

    def __init__(self, server: str) -> None:
        self.client = httpx.Client(timeout=30)
        self.server = server
        self.visited: list[str] = []

    def page(self, target: str) -> httpx.Response:
        """Go to a page, wherever that leads: the last answer."""
        return self._followed(self.client.get(self.server + target, headers={"accept": "text/html,*/*"}))

    def api(self, target: str) -> httpx.Response:
        """Ask as a script of the page does."""
        return self.client.get(self.server + target, headers={"accept": "application/json"})

    def log_in(self, form: httpx.Response, **fields: str) -> httpx.Response:
        """Fill in the provider's form: the last answer."""
        return self._followed(self.client.post(form.url, data=fields))

    def _followed(self, answer: httpx.Response) -> httpx.Response:
        while answer.has_redirect_location:
            self.visited.append(urljoin(str(answer.url), answer.headers["location"]))
            answer = self.client.get(self.visited[-1], headers={"accept": "text/html,*/*"})
        return answer
