"""A bucket for each test, and a person with a cache of their own."""

from tests.storage.remote.conftest import bucket, s3_server

__all__ = ["bucket", "s3_server"]
