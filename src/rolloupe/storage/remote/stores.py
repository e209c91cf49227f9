"""Opens buckets with obstore, with credentials and addresses from where the tools of their providers take them."""

import datetime as dt
import errno
import os
import re
from typing import Any
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

from rolloupe.storage.remote import aws
from rolloupe.storage.remote.failures import ANONYMOUS, ENDPOINT, NOWHERE

RETRIES = 2
"""Of obstore, for failures that go by."""

READ_TIMEOUT_S = 30.0
"""How long a server may send nothing."""

HOST_HAS_LOGIN = "holds a login, which would be shown. Next: name an address without one, or download the file"
NO_QUERY = "has a query, which may hold a signature, and is not read. Next: download the file, and open it"
SIGN_IN = {
    "s3": ("169.254.169.254", "169.254.170.2", "169.254.170.23", "amazonaws.com"),
    "gs": ("169.254.169.254", "metadata.google.internal", "googleapis.com"),
    "az": ("169.254.169.254", "localhost", "login.microsoftonline.com"),
}
"""Where credentials come from: hosts of a provider, and of the machine in its cloud."""
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
    address = f"{scheme}://{bucket}" if scheme.startswith("http") else endpoint
    common: dict[str, Any] = {
        "client_options": {
            **fence(scheme, address, signs_in=not _has_keys(scheme)),
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


def fence(scheme: str, address: str, *, signs_in: bool) -> dict[str, str]:
    """Return the options that keep redirects on the host of an address: requests to others go where nothing listens.

    The hosts of a provider itself are its own affair, and where a proxy of the machine leads is that proxy's. A machine
    that signs in by its cloud must reach that too: only over TLS, so that no redirect leads there.
    """
    parts = urlsplit(address)
    if parts.scheme not in ("http", "https") or parts.hostname is None:
        return {}
    proxies = getproxies()
    if (parts.scheme in proxies or "all" in proxies) and not proxy_bypass(parts.hostname):
        return {}
    others = SIGN_IN.get(scheme, ()) if signs_in and parts.scheme == "https" else ()
    return {"proxy_url": f"http://{NOWHERE}", "proxy_excludes": ",".join((parts.hostname, *others))}


def _has_keys(scheme: str) -> bool:
    """Whether nobody needs to be asked for credentials."""
    keys = {"s3": "AWS_ACCESS_KEY_ID", "az": "AZURE_STORAGE_ACCOUNT_KEY"}
    return bool(os.environ.get(ANONYMOUS) or os.environ.get(keys.get(scheme, "")))


def _endpoint(scheme: str) -> str:
    """Return the address of another server, which the provider's tools know from elsewhere; empty for its own."""
    if own := os.environ.get(ENDPOINT):
        return own
    return aws.endpoint() if scheme == "s3" else os.environ.get("AZURE_ENDPOINT", "") if scheme == "az" else ""
