"""Opens buckets with obstore. Credentials and addresses come from the same places as for the tools of the providers.

obstore reads environment variables and asks the machine or the container. This module reads the files of an AWS
profile; boto3, if it is installed, serves a profile that signs in (SSO, another role, a command).
"""

import configparser
import datetime as dt
import errno
import http.client
import os
import re
import urllib.error
import urllib.request
from typing import Any
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

ASKING_S = 5.0

_KEYS = ("aws_access_key_id", "aws_secret_access_key", "aws_session_token")
_SIGNS_IN = ("sso_session", "sso_start_url", "role_arn", "credential_process")


def _aws_options(config: dict[str, Any], *, anonymous: bool) -> dict[str, Any]:
    """Add the region and, if the environment has no keys, those of the profile or a sign-in through boto3."""
    profile, options = _profile(), dict[str, Any](config=config)
    if not any(name in os.environ for name in ("AWS_REGION", "AWS_DEFAULT_REGION")):
        config["region"] = profile.get("region", "us-east-1")
    if anonymous or "AWS_ACCESS_KEY_ID" in os.environ:
        return options
    config |= {name: value for name, value in profile.items() if name in _KEYS}
    if any(key in profile for key in _SIGNS_IN):
        try:
            from obstore.auth.boto3 import Boto3CredentialProvider
        except ImportError:
            reason = "the AWS profile signs in, which needs boto3 here. Next: pip install boto3"
            raise PermissionError(13, reason, "") from None
        options["credential_provider"] = Boto3CredentialProvider()
    return options


def aws_endpoint() -> str:
    """Return the address of another store that a variable or the profile names; empty for Amazon's own."""
    names = ("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL", "AWS_ENDPOINT")
    return next(filter(None, map(os.environ.get, names)), "") or _profile().get("endpoint_url", "")


def region_of(bucket: str) -> str:
    """Ask without credentials for the region of a bucket, which obstore's errors do not name; empty if unknown."""
    place = os.environ.get("ROLLOUPE_ENDPOINT") or aws_endpoint() or "https://s3.amazonaws.com"
    request = urllib.request.Request(f"{place.rstrip('/')}/{bucket}", method="HEAD")  # noqa: S310 - checked
    try:
        with urllib.request.build_opener(_NoRedirects).open(request, timeout=ASKING_S) as reply:
            headers = reply.headers
    except urllib.error.HTTPError as refusal:
        headers = refusal.headers
    except (OSError, http.client.HTTPException, ValueError):
        return ""
    match = re.fullmatch(r"[a-z0-9-]{1,40}", headers.get("x-amz-bucket-region", ""))
    return match[0] if match else ""


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_: Any, **__: Any) -> None:
        """Follow no redirect: the answer itself names the region."""


def _profile() -> dict[str, str]:
    """The settings of the chosen profile, from both files of the AWS command line."""
    name = os.environ.get("AWS_PROFILE") or os.environ.get("AWS_DEFAULT_PROFILE") or "default"
    settings: dict[str, str] = {}
    for variable, file, section in (
        ("AWS_CONFIG_FILE", "config", name if name == "default" else f"profile {name}"),
        ("AWS_SHARED_CREDENTIALS_FILE", "credentials", name),
    ):
        parser = configparser.RawConfigParser()
        try:
            parser.read(os.path.expanduser(os.environ.get(variable) or os.path.join("~", ".aws", file)), "utf-8")
        except (configparser.Error, OSError, UnicodeDecodeError):
            continue
        if parser.has_section(section):
            settings |= dict(parser.items(section))
    return settings


ANONYMOUS, ENDPOINT = "ROLLOUPE_ANONYMOUS", "ROLLOUPE_ENDPOINT"
"""Environment variables, so that worker processes have what `--anonymous` and `--endpoint` set."""

NOWHERE = "127.0.0.1:0"
"""An address where nothing can listen: requests that may not be sent go there."""

RETRIES = 2
"""How often obstore repeats a request after a failure that may pass."""

READ_TIMEOUT_S = 30.0
"""The longest silence of a server."""

HOST_HAS_LOGIN = "holds a login, which would be shown. Next: name an address without one, or download the file"
NO_QUERY = "has a query, which may hold a signature, and is not read. Next: download the file, and open it"
SIGN_IN = {
    "s3": ("169.254.169.254", "169.254.170.2", "169.254.170.23", "amazonaws.com"),
    "gs": ("169.254.169.254", "metadata.google.internal", "googleapis.com"),
    "az": ("169.254.169.254", "localhost", "login.microsoftonline.com"),
}
"""The hosts that give credentials: those of a provider, and those of a machine in its cloud."""
_BUCKET = re.compile(r"[A-Za-z0-9$][A-Za-z0-9._:-]*")
_SERVER = re.compile(r"https?://(\[[\da-fA-F:.]+\]|[\w.-]+)(:\d{1,5})?(/[\w./~-]*)?", re.ASCII)


def check(scheme: str, bucket: str, key: str) -> None:
    """Raise OSError for a web address that holds a secret."""
    if scheme in ("http", "https") and ("@" in bucket or "?" in key):
        reason = HOST_HAS_LOGIN if "@" in bucket else NO_QUERY
        raise OSError(errno.EINVAL, reason, f"/{scheme}:/{bucket}/{key}")


def _check_names(scheme: str, bucket: str, endpoint: str) -> None:
    """Raise OSError for names that make obstore fail."""
    path = f"/{scheme}:/{bucket}"
    if scheme in ("http", "https"):
        return
    if _BUCKET.fullmatch(bucket) is None:
        raise OSError(errno.EINVAL, f"names no bucket. Next: write {scheme}://BUCKET/PATH", path)
    if _SERVER.fullmatch(f"http://{endpoint}") is not None:
        raise OSError(errno.EINVAL, f"--endpoint is a URL. Next: write https://{endpoint}, or http://{endpoint}", path)
    if endpoint and _SERVER.fullmatch(endpoint) is None:
        raise OSError(errno.EINVAL, "--endpoint is not an address of a server. Next: write http://HOST:PORT", path)


def opened_store(scheme: str, bucket: str) -> Any:
    """Open a bucket as its provider's tools do: credentials come from the environment, a login or the machine."""
    from obstore import store

    endpoint = os.environ.get(ENDPOINT, "")
    if not endpoint and scheme in ("s3", "az"):
        endpoint = aws_endpoint() if scheme == "s3" else os.environ.get("AZURE_ENDPOINT", "")
    _check_names(scheme, bucket, endpoint)
    anonymous = bool(os.environ.get(ANONYMOUS))
    keys = {"s3": "AWS_ACCESS_KEY_ID", "az": "AZURE_STORAGE_ACCOUNT_KEY"}.get(scheme, "")
    address = f"{scheme}://{bucket}" if scheme.startswith("http") else endpoint
    common: dict[str, Any] = {
        "client_options": {
            **fence(scheme, address, signs_in=not (anonymous or os.environ.get(keys))),
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
    if endpoint:
        config["base_url" if scheme == "gs" else "endpoint"] = endpoint
    if scheme == "s3":
        return store.S3Store(bucket, **_aws_options(config, anonymous=anonymous), **common)
    if scheme == "gs":
        return store.GCSStore(bucket, config=config, **common)
    if scheme == "az":
        return store.AzureStore(bucket, config=config, **common)
    return store.HTTPStore.from_url(f"{scheme}://{bucket}", **common)


def fence(scheme: str, address: str, *, signs_in: bool) -> dict[str, str]:
    """Return the options that keep redirects on the host of an address: all other requests go where nothing listens.

    The hosts of a provider itself, and the hosts behind a proxy of this machine, are not restricted. A machine that
    signs in by its cloud must reach the hosts for that too: only over TLS, so that no redirect leads there.
    """
    parts = urlsplit(address)
    if parts.scheme not in ("http", "https") or parts.hostname is None:
        return {}
    proxies = getproxies()
    if (parts.scheme in proxies or "all" in proxies) and not proxy_bypass(parts.hostname):
        return {}
    others = SIGN_IN.get(scheme, ()) if signs_in and parts.scheme == "https" else ()
    return {"proxy_url": f"http://{NOWHERE}", "proxy_excludes": ",".join((parts.hostname, *others))}
