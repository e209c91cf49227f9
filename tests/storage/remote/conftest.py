"""A bucket on a real server of S3 for each test that asks for one."""

import itertools
import os
from collections.abc import Iterator

import pytest

from rolloupe.index import sources
from rolloupe.storage import notices
from rolloupe.storage.remote import tree
from tests.storage.remote import others, s3

_numbers = itertools.count()
POLL_S = 0.05

STORES = ("s3", "az", "gs") if os.environ.get("ROLLOUPE_STORES") == "required" else ("s3",)
"""What the cases are tried with: `make test` has S3 alone, as a server of Azure takes seconds to begin."""


@pytest.fixture(scope="session")
def s3_server() -> Iterator[str]:
    """The address of a server that lives as long as the tests."""
    with s3.serving() as address:
        yield address


@pytest.fixture(scope="session")
def azure_server() -> Iterator[str]:
    """The same of Azure."""
    with others.azure() as address:
        yield address


@pytest.fixture(scope="session")
def google_server() -> Iterator[str]:
    """The same of Google."""
    with others.google() as address:
        yield address


@pytest.fixture(params=STORES)
def bucket(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[s3.Bucket]:
    """An empty bucket, to which the environment of the test has the keys."""
    name = f"bucket-{next(_numbers)}"
    made: s3.Bucket
    if request.param == "s3":
        made = s3.created(name, request.getfixturevalue("s3_server"))
    elif request.param == "az":
        made = others.AzureContainer(name, request.getfixturevalue("azure_server"))
    else:
        made = others.GoogleBucket(name, request.getfixturevalue("google_server"))
    if isinstance(made, others.AzureContainer | others.GoogleBucket):
        made.create()
    for variable, value in made.environ.items():
        monkeypatch.setenv(variable, value)
    monkeypatch.setenv("ROLLOUPE_REMOTE_POLL_S", str(POLL_S))
    monkeypatch.setattr(tree, "FRESH_S", POLL_S)
    monkeypatch.setattr(sources, "POLL_S", POLL_S)
    yield made
    notices.forget()
