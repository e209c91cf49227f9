"""Where Amazon's tools look for credentials and a region, as far as obstore does not look there itself.

obstore reads environment variables and asks the machine or the container. The files of a profile are read here; for a
profile that signs in (SSO, another role, a command) boto3 does it, if it is installed.
"""

import configparser
import http.client
import os
import re
import urllib.error
import urllib.request
from typing import Any

ASKING_S = 5.0

_KEYS = ("aws_access_key_id", "aws_secret_access_key", "aws_session_token")
_SIGNS_IN = ("sso_session", "sso_start_url", "role_arn", "credential_process")


def provider(*, anonymous: bool) -> dict[str, Any]:
    """Return what signs in with boto3, if a profile needs that and boto3 is installed; else nothing."""
    if anonymous or "AWS_ACCESS_KEY_ID" in os.environ or not any(key in _profile() for key in _SIGNS_IN):
        return {}
    try:
        from obstore.auth.boto3 import Boto3CredentialProvider
    except ImportError:
        raise PermissionError(
            13, "the AWS profile signs in, which needs boto3 here. Next: pip install boto3", ""
        ) from None
    return {"credential_provider": Boto3CredentialProvider()}


def config(known: dict[str, Any], *, anonymous: bool) -> dict[str, Any]:
    """Add the region, and the keys of the profile if the environment has none."""
    found = dict(known)
    profile = _profile()
    if not any(name in os.environ for name in ("AWS_REGION", "AWS_DEFAULT_REGION")):
        found["region"] = profile.get("region", "us-east-1")
    if not anonymous and "AWS_ACCESS_KEY_ID" not in os.environ:
        found |= {name: value for name, value in profile.items() if name in _KEYS}
    return found


def endpoint() -> str:
    """Return the address of another store that a variable or the profile names; empty for Amazon's own."""
    names = ("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL", "AWS_ENDPOINT")
    return next(filter(None, map(os.environ.get, names)), "") or _profile().get("endpoint_url", "")


def region_of(bucket: str) -> str:
    """Ask without credentials for the region of a bucket: redirects name it, obstore's errors do not. Or nothing."""
    place = os.environ.get("ROLLOUPE_ENDPOINT") or endpoint() or "https://s3.amazonaws.com"
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
    def redirect_request(self, *_: Any) -> None:
        """Send no other request: the answer that would lead to one names the region itself."""


def _profile() -> dict[str, str]:
    """The settings of the chosen profile, from both files of the AWS command line."""
    name = os.environ.get("AWS_PROFILE") or os.environ.get("AWS_DEFAULT_PROFILE") or "default"
    found: dict[str, str] = {}
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
            found |= dict(parser.items(section))
    return found
