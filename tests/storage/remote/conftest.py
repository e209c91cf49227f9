"""A bucket on a real server of S3 for each test that asks for one."""

import itertools
from collections.abc import Iterator

import pytest

from rolloupe.storage import notices
from rolloupe.storage.remote import tree
from tests.storage.remote import s3

_numbers = itertools.count()
POLL_S = 0.2


@pytest.fixture(scope="session")
def s3_server() -> Iterator[str]:
    """The address of a server that lives as long as the tests."""
    with s3.serving() as address:
        yield address


@pytest.fixture
def bucket(s3_server: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[s3.Bucket]:
    """An empty bucket, to which the environment of the test has the keys."""
    for name, value in s3.KEYS.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("AWS_ENDPOINT_URL", s3_server)
    monkeypatch.setenv("ROLLOUPE_REMOTE_POLL_S", str(POLL_S))
    monkeypatch.setattr(tree, "FRESH_S", POLL_S)
    yield s3.created(f"bucket-{next(_numbers)}", s3_server)
    notices.forget()
