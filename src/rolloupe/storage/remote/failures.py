"""Failures of object stores, as errors of a file system with words that say what to do next."""

import errno
import json
import re

from rolloupe.storage.address import Interrupted
from rolloupe.storage.remote.stores import NOWHERE, region_of

EXTRA = "reading it needs a package that is not installed. Next: pip install 'rolloupe[remote]'"


class ReplacedObject(Interrupted):
    """Raised by a file whose object was replaced since it was opened: bytes of both would mix."""

    def __init__(self, path: str) -> None:
        super().__init__(errno.ESTALE, "was replaced while it was read; it will be read again", path)


class OtherBytes(Interrupted):
    """Raised when a store sends other bytes than it lists, although its listing has not changed."""

    def __init__(self, path: str) -> None:
        reason = "the store sends other bytes than it lists. Next: check the server and what lies between"
        super().__init__(errno.EIO, reason, path)


class Throttled(Interrupted):
    """Raised when a store keeps refusing requests because they are too many."""


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
    r"SlowDown|status code: (?:429|503)|429 Client Error|TooManyRequests|ServerBusy|RequestLimitExceeded|Throttling"
    r"|rateLimitExceeded"
)
_FORBIDDEN = re.compile(
    r"status code: 40[13]|40[13] Client Error|AccessDenied|AuthorizationFailure|PublicAccessNotPermitted"
)
_CLOCK = re.compile(r"RequestTimeTooSkewed|RequestExpired")
_UNREACHABLE = re.compile(r"error sending request|timed out|dns error|[Cc]onnection|error decoding|body error")
_CAUSES = {
    "InvalidCertificate": "this machine does not trust its certificate. Next: set SSL_CERT_FILE to a file with its "
    "authority, or check the address",
    "InvalidContentType|HandshakeFailure": "it does not speak TLS. Next: write http:// if it should not, or check the "
    "address and --endpoint",
    "dns error": "no machine has its name. Next: check the network, the address and --endpoint",
    "ConnectionRefused": "nothing listens there. Next: check the address and --endpoint",
    "TimedOut|Timeout": "no answer came in time. Next: check the network; then try again",
    "IncompleteBody|UnexpectedEof": "its answers end too soon. Next: check the network and the server; then try again",
}
"""Why no answer came, by words in the details of obstore."""
_NO_LISTING = re.compile(r"Got invalid list response: (?P<why>.*)|(?P<year>year \S+ is out of range)")
_STATUS = re.compile(r"(?:status code: |\b(?=\d+ (?:Client|Server) Error))(?P<status>[345]\d\d[A-Za-z -]*)")
_CODE = re.compile(r"<Code>(\w{1,60})</Code>")
_NOISE = re.compile(r"^Generic \w+ error: |\S+://\S+|\bin [\d.]+.?s\b")
"""Addresses may hold a signature."""
_NO_RANGES = re.compile(r"non-partial response|Range request not supported|RangeNotSupported|NotPartial")
_ODD_KEY = re.compile(r"invalid path: (?P<why>.*)", re.DOTALL)


_MISSING = {"NotFoundError", "EntryNotFoundError", "RemoteEntryNotFoundError", "RevisionNotFoundError"}
_HIDDEN = {"RepositoryNotFoundError", "GatedRepoError"}
_UNREACHED = frozenset(
    "ConnectError ConnectTimeout ReadError ReadTimeout RemoteProtocolError OfflineModeIsEnabled".split()
)
_REFUSALS = {"PermissionDeniedError", "UnauthenticatedError"}


def failure(error: BaseException, scheme: str, bucket: str, path: str) -> OSError:
    """Convert an error of obstore to one of a file system."""
    if isinstance(error, OSError) and "Next:" in (error.strerror or ""):
        return error
    text, _, details = str(error).partition("\n\nDebug source")
    text, kind = text.replace("retry_timeout", ""), type(error).__name__
    where = f"{scheme}://{bucket}"
    if kind == "PreconditionError" or "status code: 416" in text:
        return ReplacedObject(path)
    if _NO_BUCKET.search(text):
        reason = f"{where} does not exist. Next: check its name, and --endpoint for another provider"
        return FileNotFoundError(errno.ENOENT, reason, path)
    if kind in _HIDDEN:
        reason = f"{where} does not exist, or needs a login. Next: {_CREDENTIALS['hf']}"
        return PermissionError(errno.EACCES, reason, path)
    if isinstance(error, FileNotFoundError) or kind in _MISSING:
        return FileNotFoundError(errno.ENOENT, "does not exist", path)
    if scheme == "s3" and _REGION.search(text):
        match = _RIGHT_REGION.search(text)
        region = next(filter(None, match.groups())) if match else region_of(bucket) or "its region"
        return OSError(errno.EREMOTE, f"{where} is in another region. Next: set AWS_REGION to {region}", path)
    if _THROTTLED.search(text):
        reason = f"{where} asks for fewer requests, and still did after waiting. Next: try again later"
        return Throttled(errno.EAGAIN, reason, path)
    if _NO_CREDENTIALS.search(text):
        return PermissionError(errno.EACCES, f"no credentials were found. Next: {_CREDENTIALS.get(scheme, '')}", path)
    if NOWHERE in details:
        reason = f"{where} redirects to another host, which is not followed"
        return OSError(errno.EREMOTE, f"{reason}. Next: name the address where the data are", path)
    if _EXPIRED.search(text):
        reason = f"{where} refuses the credentials, which are wrong or have expired. Next: sign in again"
        return PermissionError(errno.EACCES, reason, path)
    if _CLOCK.search(text):
        reason = f"the clocks of {where} and this machine differ. Next: set the clock of this machine"
        return PermissionError(errno.EACCES, reason, path)
    if isinstance(error, PermissionError) or kind in _REFUSALS or _FORBIDDEN.search(text):
        step = _CREDENTIALS.get(scheme, "name an address that needs no login")
        return PermissionError(errno.EACCES, f"{where} does not let these credentials read it. Next: {step}", path)
    if _NO_RANGES.search(text):
        reason = "the server sends whole files only, no ranges of them. Next: download it, and open it"
        return OSError(errno.ENOTSUP, reason, path)
    if (match := _ODD_KEY.search(text)) is not None:
        why = json.dumps(match["why"], ensure_ascii=False)[1:-1].replace('\\"', '"')[:300]
        return OSError(errno.EILSEQ, f"a name there cannot be read ({why}). Next: rename that object", path)
    if (match := _NO_LISTING.search(text)) is not None:
        why = match["why"] or match["year"]
        reason = f"{where} sends a list that cannot be read ({why[:200]}). Next: check the address and --endpoint"
        return Interrupted(errno.EIO, reason, path)
    if _UNREACHABLE.search(text) or kind in _UNREACHED:
        causes = (words for cause, words in _CAUSES.items() if re.search(cause, details or text))
        why = next(causes, "the connection broke. Next: check the network, the address and --endpoint")
        return Interrupted(errno.EHOSTUNREACH, f"{where} cannot be reached: {why}", path)
    if (match := _STATUS.search(text)) is not None:
        code = _CODE.search(text)
        words = match["status"].strip() + (f", {code[1]}" if code else "")
        step = ". Next: try again later" if words.startswith("5") else ""
        return Interrupted(errno.EIO, f"{where} answers {words}{step}", path)
    # obstore's own words: the body of an answer follows a colon, and may say anything
    own = re.split(r"(?i)\b(?:response|status)\b[^:\n]*: |[<\n]", text, maxsplit=1)[0]
    return Interrupted(errno.EIO, f"{where} failed: {_NOISE.sub('', own).strip()[:200]}", path)


def unusable(error: BaseException, scheme: str, bucket: str) -> OSError:
    """Return the error for a place that cannot be opened. Obstore's words may quote a file, so they are left out."""
    path = f"/{scheme}:/{bucket}"
    known = failure(error, scheme, bucket, path)
    if known is error or (known.errno == errno.EACCES and scheme in _CREDENTIALS):
        return known
    if scheme not in _CREDENTIALS:
        return OSError(errno.EINVAL, "is not the address of a web server. Next: check it", path)
    reason = f"the credentials set here cannot be used. Next: check them; or {_CREDENTIALS[scheme]}"
    return PermissionError(errno.EACCES, reason, path)
