"""Failures of object stores, as errors of a file system with words that say what to do next."""

import errno
import re

from rolloupe.storage.places import Interrupted

ANONYMOUS = "ROLLOUPE_ANONYMOUS"
ENDPOINT = "ROLLOUPE_ENDPOINT"
"""Environment variables, so that worker processes have what `--anonymous` and `--endpoint` set."""

EXTRA = "reading it needs a package that is not installed. Next: pip install 'rolloupe[remote]'"


class ReplacedObject(Interrupted):
    """Raised by a file whose object was replaced since it was opened: bytes of both would mix."""

    def __init__(self, path: str) -> None:
        super().__init__(errno.ESTALE, "was replaced while it was read; it will be read again", path)


class Throttled(Interrupted):
    """Raised when a store goes on refusing requests because they are too many."""


_CREDENTIALS = {
    "s3": "set AWS_PROFILE, or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY; --anonymous for a public bucket",
    "gs": "gcloud auth application-default login, or set GOOGLE_APPLICATION_CREDENTIALS; --anonymous for a public "
    "bucket",
    "az": "set AZURE_STORAGE_ACCOUNT_NAME, and AZURE_STORAGE_ACCOUNT_KEY or AZURE_STORAGE_SAS_TOKEN, or az login and "
    "AZURE_USE_AZURE_CLI=true; --anonymous for a public container",
    "hf": "hf auth login, or set HF_TOKEN",
}
_NO_CREDENTIALS = re.compile(
    r"169\.254\.|/latest/(?:api/token|meta-data)|metadata\.google\.internal|metadata/identity"
    r"|[Cc]redential(?:s|Provider)?\b.{0,40}not (?:found|loaded)|Missing ?(?:Credentials|Account|(?:Secret)?AccessKey)"
    r"|Account must be specified|azure cli|Token request"
)
_EXPIRED = re.compile(r"ExpiredToken|TokenRefreshRequired|token.{0,30}expired|InvalidAccessKeyId|SignatureDoesNotMatch")
_NO_BUCKET = re.compile(r"NoSuchBucket|ContainerNotFound|InvalidBucketName|specified bucket does not exist")
_REGION = re.compile(
    r"PermanentRedirect|AuthorizationHeaderMalformed|incorrectly configured region|Received redirect|"
    r"IllegalLocationConstraint"
)
_RIGHT_REGION = re.compile(r"<Region>([a-z0-9-]+)</Region>|expecting &?(?:apos|quot)?;?'?([a-z]+-[a-z0-9-]+-\d)")
_THROTTLED = re.compile(
    r"SlowDown|status code: (?:429|503)|TooManyRequests|ServerBusy|RequestLimitExceeded|Throttling|rateLimitExceeded"
)
_FORBIDDEN = re.compile(r"status code: 40[13]|AccessDenied|AuthorizationFailure|PublicAccessNotPermitted")
_UNREACHABLE = re.compile(r"error sending request|timed out|dns error|connection|Connection|error decoding")
_NO_RANGES = re.compile(r"non-partial response|Range request not supported|RangeNotSupported|NotPartial")
_ODD_KEY = re.compile(r"invalid path: (?P<why>.*)")


def failure(error: BaseException, scheme: str, bucket: str, path: str) -> OSError:
    """Return the error of a file system for one of obstore's."""
    if isinstance(error, OSError) and "Next:" in (error.strerror or ""):
        return error
    text, kind = str(error).partition("\n\nDebug source")[0].replace("retry_timeout", ""), type(error).__name__
    first = text.split("\n", 1)[0][:200]
    where = f"{scheme}://{bucket}"
    if kind == "PreconditionError" or "status code: 416" in text:
        return ReplacedObject(path)
    if _NO_BUCKET.search(text):
        return FileNotFoundError(
            errno.ENOENT, f"{where} does not exist. Next: check its name, and --endpoint for another provider", path
        )
    if kind in _HIDDEN:
        reason = f"{where} does not exist, or needs a login. Next: {_CREDENTIALS['hf']}"
        return PermissionError(errno.EACCES, reason, path)
    if isinstance(error, FileNotFoundError) or kind in _MISSING:
        return FileNotFoundError(errno.ENOENT, "does not exist", path)
    if _REGION.search(text):
        match = _RIGHT_REGION.search(text)
        region = next(filter(None, match.groups()), "its region") if match else "its region"
        return OSError(errno.EREMOTE, f"{where} is in another region. Next: set AWS_REGION to {region}", path)
    if _THROTTLED.search(text):
        return Throttled(
            errno.EAGAIN, f"{where} asks for fewer requests, and still did after waiting. Next: try again later", path
        )
    if _NO_CREDENTIALS.search(text):
        return PermissionError(errno.EACCES, f"no credentials were found. Next: {_CREDENTIALS.get(scheme, '')}", path)
    if _EXPIRED.search(text):
        return PermissionError(
            errno.EACCES, f"{where} refuses the credentials, which are wrong or have expired. Next: sign in again", path
        )
    if isinstance(error, PermissionError) or kind in _REFUSALS or _FORBIDDEN.search(text):
        step = _CREDENTIALS.get(scheme, "name an address that needs no login")
        return PermissionError(errno.EACCES, f"{where} does not let these credentials read it. Next: {step}", path)
    if _NO_RANGES.search(text):
        return OSError(
            errno.ENOTSUP, "the server sends whole files only, no ranges of them. Next: download it, and open it", path
        )
    if (match := _ODD_KEY.search(first)) is not None:
        return OSError(errno.EILSEQ, f"a name there cannot be read ({match['why']}). Next: rename that object", path)
    if _UNREACHABLE.search(text):
        return Interrupted(
            errno.EHOSTUNREACH, f"{where} cannot be reached. Next: check the network, the address and --endpoint", path
        )
    return Interrupted(errno.EIO, f"{where} failed: {first}", path)


_MISSING = {"NotFoundError", "EntryNotFoundError", "RemoteEntryNotFoundError", "RevisionNotFoundError"}
_HIDDEN = {"RepositoryNotFoundError", "GatedRepoError"}
_REFUSALS = {"PermissionDeniedError", "UnauthenticatedError"}
