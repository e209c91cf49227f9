"""Whatever fails, one line says what, and what to do next."""

import errno
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest

from rolloupe.index import Library, RunSearch
from rolloupe.lru import Lru
from rolloupe.storage import notices
from rolloupe.storage.remote import calls, connection, stores, tree
from tests.cli.support import rolloupe as command
from tests.index.support import eventually
from tests.storage.remote.s3 import Bucket, request

UNREADABLE = 3
LINE = b'{"prompt": "p", "response": "r", "reward": 1.0, "step": 1}\n'


class Quiet(ThreadingHTTPServer):
    """A server whose clients may hang up without a word about it on stderr, which the tests read."""

    def handle_error(self, request: Any, client_address: Any) -> None:
        if not isinstance(sys.exc_info()[1], ConnectionError):
            super().handle_error(request, client_address)


@contextmanager
def answering(*replies: tuple[int, str], headers: Mapping[str, str] = MappingProxyType({})) -> Iterator[str]:
    """A server with these answers, of which the last is for all requests after it."""
    left = list(replies)

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            code, body = left.pop(0) if len(left) > 1 else left[0]
            self.send_response(code)
            for header in headers.items():
                self.send_header(*header)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(body.encode())

        do_HEAD = do_PUT = do_GET  # noqa: N815

        def log_message(self, format: str, *args: object) -> None:
            pass

    with Quiet(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


def error(code: str, more: str = "") -> str:
    """The body of an error of S3."""
    return f"<?xml version='1.0'?><Error><Code>{code}</Code><Message>{code}</Message>{more}</Error>"


@pytest.fixture(autouse=True)
def fresh(monkeypatch: pytest.MonkeyPatch) -> None:
    """Connect anew, wait briefly, and take back what options set."""
    for name in ("ROLLOUPE_ENDPOINT", "ROLLOUPE_ANONYMOUS"):
        monkeypatch.setenv(name, "")
    monkeypatch.setattr(connection, "connections", {})
    monkeypatch.setattr(calls, "FIRST_WAIT_S", 0.05)
    monkeypatch.setattr(calls, "PATIENCE_S", 0.5)


def failed(*words: str | Path) -> str:
    """Run a command that fails, without a traceback; returns its one line."""
    done = command(*words)
    assert done.code == UNREADABLE, done
    assert done.out == "" and done.err.startswith("Error: ") and done.err.count("\n") == 1, done.err
    return done.err


def test_no_bucket_and_nothing_there(bucket: Bucket) -> None:
    missing = failed("ls", "s3://no-such-bucket/runs")
    assert "s3://no-such-bucket does not exist. Next: check its name, and --endpoint" in missing
    assert f"{bucket.url}/runs: does not exist. Next: check the address" in failed("ls", f"{bucket.url}/runs")


@pytest.mark.usefixtures("bucket")
@pytest.mark.parametrize(
    ("status", "body", "said"),
    [
        (403, error("AccessDenied"), "does not let these credentials read it. Next: set AWS_PROFILE"),
        (403, error("ExpiredToken"), "refuses the credentials, which are wrong or have expired. Next: sign in again"),
        (403, error("InvalidAccessKeyId"), "refuses the credentials, which are wrong or have expired"),
        (301, error("PermanentRedirect"), "is in another region. Next: set AWS_REGION to its region"),
        (
            400,
            error("AuthorizationHeaderMalformed", "<Region>eu-west-1</Region>"),
            "is in another region. Next: set AWS_REGION to eu-west-1",
        ),
        (400, "Missing AccessKeyId", "no credentials were found. Next: set AWS_PROFILE"),
        (500, error("InternalError"), "s3://refused answers 500 Internal Server Error, InternalError. Next: try again"),
        (403, error("RequestTimeTooSkewed"), "and this machine differ. Next: set the clock of this machine"),
        (200, "<Contents><Key>\N{NULL}</Key>", "sends a list that cannot be read ("),
    ],
)
def test_what_a_store_refuses(monkeypatch: pytest.MonkeyPatch, status: int, body: str, said: str) -> None:
    monkeypatch.setattr(stores, "RETRIES", 0)
    with answering((status, body)) as address:
        assert said in failed("ls", "s3://refused/runs", "--endpoint", address)


@pytest.mark.usefixtures("bucket")
def test_a_store_that_asks_for_fewer_requests_gets_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stores, "RETRIES", 0)
    monkeypatch.setattr(calls, "PATIENCE_S", 60.0)
    with answering((503, error("SlowDown")), (503, error("SlowDown")), (404, error("NoSuchBucket"))) as address:
        done = command("ls", "s3://throttled/runs", "--endpoint", address)
    said, failure = done.err.splitlines()
    assert said == "s3://throttled asks for fewer requests: waiting 0.1 s", "once, not for each wait"
    assert "does not exist" in failure and done.code == UNREADABLE
    assert notices.notice("s3://throttled") == ""
    monkeypatch.setattr(calls, "PATIENCE_S", 0.2)
    with answering((503, error("SlowDown"))) as address:
        done = command("ls", "s3://always-throttled/runs", "--endpoint", address)
        assert done.err.endswith(
            "s3://always-throttled asks for fewer requests, and still did after waiting. Next: try again later\n"
        )


def test_an_endpoint_without_a_scheme() -> None:
    pytest.importorskip("obstore")
    said = failed("ls", "s3://some/runs", "--endpoint", "127.0.0.1:9")
    assert "--endpoint is a URL. Next: write https://127.0.0.1:9, or http://127.0.0.1:9" in said


def test_the_endpoint_of_a_profile(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "config"))
    assert stores.aws_endpoint() == ""
    (tmp_path / "config").write_text("[default]\nendpoint_url = http://minio:9000\n")
    assert stores.aws_endpoint() == "http://minio:9000"
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://other:9000")
    assert stores.aws_endpoint() == "http://other:9000"


@pytest.mark.usefixtures("bucket")
def test_a_bucket_in_another_region_names_it() -> None:
    with answering((301, error("PermanentRedirect")), headers={"x-amz-bucket-region": "eu-west-3"}) as address:
        assert "Next: set AWS_REGION to eu-west-3" in failed("ls", "s3://elsewhere/runs", "--endpoint", address)


@pytest.mark.usefixtures("bucket")
def test_no_network() -> None:
    said = failed("ls", "s3://far-away/runs", "--endpoint", "http://127.0.0.1:9")
    assert "s3://far-away cannot be reached: nothing listens there. Next: check the address and --endpoint" in said
    said = failed("ls", "s3://far-away-2/runs", "--endpoint", "http://no-such-host.invalid")
    assert "cannot be reached: no machine has its name. Next: check the network, the address and --endpoint" in said
    with answering((404, "")) as address:
        said = failed("ls", address.replace("http", "https") + "/run.jsonl")
    assert "cannot be reached: it does not speak TLS. Next: write http://" in said


@pytest.mark.usefixtures("bucket")
def test_a_store_that_is_silent_or_never_ends_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(calls, "SILENCE_S", 0.05)
    monkeypatch.setattr(calls, "MOST_S", 0.2)
    page = "<ListBucketResult><IsTruncated>true</IsTruncated><NextContinuationToken>1</NextContinuationToken>"
    with answering((200, f"{page}</ListBucketResult>")) as address:
        done = command("ls", "s3://endless/runs", "--endpoint", address)
    *said, failure = done.err.splitlines()
    assert {*said} == {"s3://endless has not answered for 0 s: waiting"}
    assert "s3://endless did not end an answer within 0 s: nothing of that was seen. Next: name a folder" in failure


@pytest.mark.usefixtures("bucket")
@pytest.mark.parametrize(
    ("address", "said"),
    [
        ("s3://", "s3://: s3:// names no bucket. Next: write s3://BUCKET/PATH"),
        ("s3://no bucket/run", "names no bucket. Next: write s3://BUCKET/PATH"),
        ("https://me:secret@localhost/a", "https://***@localhost/a: holds a login, which would be shown. Next:"),
        ("https://localhost/a?sig=secret", "https://localhost/a?***: has a query, which may hold a signature,"),
    ],
)
def test_addresses_that_are_none_or_hold_a_secret(address: str, said: str) -> None:
    assert said in (line := failed("ls", address)) and "secret" not in line


@pytest.mark.usefixtures("bucket")
def test_what_is_set_wrongly_is_said_without_its_contents(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    said = failed("ls", "s3://bucket/run", "--endpoint", "me:secret@nowhere")
    assert "--endpoint is not an address of a server. Next: write http://HOST:PORT" in said and "secret" not in said
    (tmp_path / "key.json").write_text('{"type": "secret"}')
    monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", str(tmp_path / "key.json"))
    monkeypatch.setenv("ROLLOUPE_ENDPOINT", "")
    said = failed("ls", "gs://bucket/run")
    assert "the credentials set here cannot be used. Next: check them" in said and "secret" not in said


def test_no_credentials(bucket: Bucket, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path))
    with answering((404, "")) as address:  # a machine without a role
        monkeypatch.setenv("AWS_METADATA_ENDPOINT", address)
        said = failed("ls", f"{bucket.url}/runs")
    assert "no credentials were found. Next: set AWS_PROFILE, or AWS_ACCESS_KEY_ID" in said


def test_the_keys_of_a_profile_are_those_of_the_files(
    bucket: Bucket, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    bucket.put("a.jsonl", LINE)
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_REGION"):
        monkeypatch.delenv(name)
    (tmp_path / "credentials").write_text("[lab]\naws_access_key_id = test\naws_secret_access_key = test\n")
    (tmp_path / "config").write_text("[profile lab]\nregion = us-east-1\n[profile sso]\nsso_session = x\n")
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "credentials"))
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "config"))
    monkeypatch.setenv("AWS_PROFILE", "lab")
    assert command("ls", f"{bucket.url}/a.jsonl", "--index-dir", tmp_path / "index").code == 0
    monkeypatch.setattr(connection, "connections", {})
    monkeypatch.setattr(tree, "listings", Lru(10))
    monkeypatch.setenv("AWS_PROFILE", "sso")
    monkeypatch.setitem(sys.modules, "obstore.auth.boto3", None)
    assert "the AWS profile signs in, which needs boto3 here. Next: pip install boto3" in failed("ls", bucket.url)


def test_a_public_bucket_needs_no_keys(bucket: Bucket, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    bucket.put("a.jsonl", LINE)
    request(f"{bucket.endpoint}/{bucket.name}/a.jsonl?acl", "PUT", acl="public-read")
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.delenv(name)
    place = f"{bucket.url}/a.jsonl"
    assert command("ls", place, "--anonymous", "--index-dir", tmp_path).code == 0


def test_a_key_that_is_no_path(bucket: Bucket) -> None:
    request(f"{bucket.endpoint}/{bucket.name}/odd//a.jsonl", "PUT")
    assert "contained empty path segment). Next: rename that object" in failed("ls", f"{bucket.url}/odd")


def test_places_that_cannot_have_an_index(bucket: Bucket) -> None:
    bucket.put("a.jsonl", LINE)
    said = failed("ls", f"{bucket.url}/a.jsonl", "--index-dir", "https://localhost/index")
    assert "the index cannot lie at https://localhost/index. Next: name a folder, or s3://" in said
    said = failed("ls", f"{bucket.url}/a.jsonl", "--index-dir", "s3://nowhere-at-all/index")
    assert "cannot share an index at s3://nowhere-at-all/index: s3://nowhere-at-all does not exist. Next:" in said


def test_the_extra_is_not_installed(bucket: Bucket, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "obstore", None)
    assert "needs a package that is not installed. Next: pip install 'rolloupe[remote]'" in failed("ls", bucket.url)


def test_a_web_server_lists_no_folders() -> None:
    with answering((404, "")) as address:
        assert "does not exist" in failed("ls", f"{address}/runs")


def test_a_search_that_stops_shows_no_secret(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def refuse(*_: object) -> None:
        if threading.current_thread().name == "first search":  # which the library does not wait for
            begin.wait(10)
        raise OSError(errno.EACCES, "refused. Next: sign in", "/https:/me:secret@localhost/a")

    begin = threading.Event()
    monkeypatch.setattr(tree, "path_state", refuse)
    place = Path("https://me:secret@localhost/a")
    with Library([place], index_dir=tmp_path, follow=True, search=RunSearch(waits=True, patience_s=0.0)) as library:
        assert library.is_searching
        begin.set()
        assert eventually(lambda: library.notes != [])
        said = f"{library.notes} {library.awaited}"
    assert "https://***@localhost/a: refused. Next: sign in" in said and "secret" not in said
