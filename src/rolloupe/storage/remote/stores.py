"""Opens buckets with obstore, with credentials and addresses from where the tools of their providers take them."""

import datetime as dt
import errno
import os
import re
from typing import Any

from rolloupe.storage.remote import aws
from rolloupe.storage.remote.failures import ANONYMOUS, ENDPOINT

RETRIES = 2
"""Of obstore, for failures that go by."""

READ_TIMEOUT_S = 30.0
"""How long a server may send nothing."""

HOST_HAS_LOGIN = "holds a login, which would be shown. Next: name an address without one, or download the file"
NO_QUERY = "has a query, which may hold a signature, and is not read. Next: download the file, and open it"
_BUCKET = re.compile(r"[A-Za-z0-9$][A-Za-z0-9._:-]*")
_SERVER = re.compile(r"https?://(\[[\da-fA-F:.]+\]|[\w.-]+)(:\d{1,5})?(/[\w./~-]*)?", re.ASCII)


def check(scheme: str, bucket: str, key: str) -> None:
    """Raise OSError for a web address that holds what is secret."""
    if scheme in ("http", "https") and ("@" in bucket or "?" in key):
        reason = HOST_HAS_LOGIN if "@" in bucket else NO_QUERY
        raise OSError(errno.EINVAL, reason, f"/{scheme}:/{bucket}/{key}")


def _check_names(scheme: str, bucket: str, endpoint: str) -> None:
    """Raise OSError for names that obstore breaks down on."""
    path = f"/{scheme}:/{bucket}"
    if scheme in ("http", "https"):
        return
    if _BUCKET.fullmatch(bucket) is None:
        raise OSError(errno.EINVAL, f"names no bucket. Next: write {scheme}://BUCKET/PATH", path)
    if _SERVER.fullmatch(f"http://{endpoint}") is not None:
        raise OSError(errno.EINVAL, f"--endpoint is a URL. Next: write https://{endpoint}, or http://{endpoint}", path)
    if endpoint and _SERVER.fullmatch(endpoint) is None:
        raise OSError(errno.EINVAL, "--endpoint is no address of a server. Next: write http://HOST:PORT", path)


def opened_store(scheme: str, bucket: str) -> Any:
    """Open a bucket as its provider's tools do: credentials come from the environment, a login or the machine."""
    from obstore import store

    endpoint = _endpoint(scheme)
    _check_names(scheme, bucket, endpoint)
    anonymous = bool(os.environ.get(ANONYMOUS))
    common: dict[str, Any] = {
        "client_options": {
            "allow_http": scheme == "http" or endpoint.startswith("http://"),
            "connect_timeout": "5s",
            "read_timeout": f"{READ_TIMEOUT_S:.0f}s",
            "timeout": "120s",
        },
        "retry_config": {
            "max_retries": RETRIES,
            "retry_timeout": dt.timedelta(seconds=30),
            "backoff": {
                "init_backoff": dt.timedelta(milliseconds=100),
                "max_backoff": dt.timedelta(seconds=2),
                "base": 2,
            },
        },
    }
    config: Any = {"skip_signature": True} if anonymous else {}
    if scheme == "s3":
        config |= {"endpoint": endpoint} if endpoint else {}
        config = aws.config(config, anonymous=anonymous)
        return store.S3Store(bucket, config=config, **aws.provider(anonymous=anonymous), **common)
    if scheme == "gs":
        config |= {"base_url": endpoint} if endpoint else {}
        return store.GCSStore(bucket, config=config, **common)
    if scheme == "az":
        config |= {"endpoint": endpoint} if endpoint else {}
        return store.AzureStore(bucket, config=config, **common)
    return store.HTTPStore.from_url(f"{scheme}://{bucket}", **common)


def _endpoint(scheme: str) -> str:
    """Return the address of another server, which the provider's tools know from elsewhere; empty for its own."""
    if own := os.environ.get(ENDPOINT):
        return own
    return aws.endpoint() if scheme == "s3" else os.environ.get("AZURE_ENDPOINT", "") if scheme == "az" else ""
