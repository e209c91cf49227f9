"""Finds out who sends requests to a team's server: people whom a proxy names, or who log in at an OpenID provider.

A proxy authenticates people, and sets a header on each request. A login is the code flow, by authlib: the browser then
carries a signed cookie with the name that the provider gave. The server keeps no sessions, so servers with the same
client secret accept each other's cookies.
"""

import hashlib
import ipaddress
import re
import warnings
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple, TypeAlias
from urllib.parse import parse_qs, quote, urlencode

from starlette.requests import Request
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

from rolloupe.errors import BadQuery
from rolloupe.server.people import Refused, checked_name
from rolloupe.server.security.auth import cookies
from rolloupe.server.security.layers import accepts_pages, is_api, plain_page
from rolloupe.server.settings import TeamOptions

HEADER = re.compile(r"header:([A-Za-z0-9-]{1,100})")
UNIX = "unix"
"""Placeholder for Unix-socket peers; file permissions decide access."""

Network: TypeAlias = ipaddress.IPv4Network | ipaddress.IPv6Network


class ProxyHeader:
    """Names the sender by a header that trusted proxies set."""

    logout = ""

    def __init__(self, header: str, proxies: Sequence[Network | str]) -> None:
        self._header = header.lower().encode()
        self._proxies = proxies

    def name(self, scope: Scope) -> str:
        """Return the name. Refuses, and never ignores, a header that cannot be trusted. See `Senders`."""
        values = [value for name, value in scope["headers"] if name.lower() == self._header]
        likes = [name for name, _ in scope["headers"] if _plain(name) == _plain(self._header)]
        next_ = "Use the address that your team was given"
        if not self._trusts(scope) and likes:
            raise Refused(403, "only a trusted proxy may say who sends a request", f"{next_}.")
        if not self._trusts(scope):
            raise Refused(401, "this address needs a login", f"{next_}, which has one.")
        if len(values) > 1 or len(likes) != len(values):
            next_ = "The proxy must replace that header, not add one."
            raise Refused(400, "the request says more than once who sends it", next_)
        if not values or not values[0].strip():
            raise Refused(401, "the proxy does not say who sends this request", "Log in at the proxy.")
        return checked_name(values[0].strip(b" \t"))  # HTTP allows space around a value

    def _trusts(self, scope: Scope) -> bool:
        client = scope.get("client")
        if not client or not client[0]:
            return UNIX in self._proxies
        try:
            address: Any = ipaddress.ip_address(client[0])
        except ValueError:
            return False
        address = getattr(address, "ipv4_mapped", None) or address
        return any(address in proxy for proxy in self._proxies if not isinstance(proxy, str))


def _plain(name: bytes) -> bytes:
    """Return a header name in the spelling of servers that treat `_` and `-` alike."""
    return name.lower().replace(b"_", b"-")


def header_of(users_from: str) -> str:
    """Return the header of `--users-from header:NAME`. Raises `BadQuery`."""
    found = HEADER.fullmatch(users_from)
    if found is None:
        raise BadQuery(
            f"--users-from {users_from!r} is not understood; give header:NAME, such as header:X-Forwarded-User"
        )
    return found[1]


def proxies_of(words: Iterable[str]) -> tuple[Network | str, ...]:
    """Return the peers of `--trusted-proxy`: addresses, networks, or `unix`. Raises `BadQuery`."""
    proxies: list[Network | str] = []
    for word in words:
        if word == UNIX:
            proxies.append(UNIX)
            continue
        try:
            proxies.append(ipaddress.ip_network(word))
        except ValueError as error:
            raise BadQuery(f"--trusted-proxy {word!r} is not an address or a network: {error}") from None
    return tuple(proxies)


LOGIN, CALLBACK, LOGOUT = "/auth/login", "/auth/callback", "/auth/logout"
SESSION_COOKIE, FLOW_COOKIE = "rolloupe-person", "rolloupe-login"
SESSION_S, FLOW_S = 12 * 3600, 600
"""How long a login lasts, and how long one may take."""

PROVIDER_S = 10.0
"""How long the provider may take to answer."""

SCOPE = "openid email profile"
ISSUER = re.compile(r"oidc:(?P<issuer>https://\S+|http://(localhost|127\.0\.0\.1|\[::1\])(:\d+)?(/\S*)?)")
VERIFIED = (None, True, "true")
"""Values of `email_verified` that allow an address as a name: some providers write a word, some nothing."""

AGAIN = "Open the page again to log in."
MISSING = "--users-from oidc needs authlib. Next: pip install 'rolloupe[serve]'"


class OidcClient(NamedTuple):
    """How a server is known to a provider."""

    issuer: str
    client_id: str
    client_secret: str
    public_url: str
    """The address of this server in people's browsers, without a final slash."""
    claim: str = "email"
    """The provider's fact about a person that is the name here."""


class OidcLogin:
    """Names the sender by the cookie of a login. See `Senders`."""

    def __init__(self, client: OidcClient) -> None:
        """Raises `BadQuery` without authlib."""
        try:
            with warnings.catch_warnings():
                import authlib.deprecate  # noqa: F401 - it changes the filter of warnings

                warnings.simplefilter("ignore")
                from authlib.integrations.starlette_client import OAuth
            from itsdangerous import URLSafeTimedSerializer
        except ImportError:
            raise BadQuery(MISSING) from None
        self._client = client
        self.logout = f"{client.public_url}{LOGOUT}"
        key = hashlib.sha256(f"rolloupe sessions\n{client.client_id}\n{client.client_secret}".encode()).digest()
        self.sessions, self._flows = (URLSafeTimedSerializer(key, salt=one) for one in (SESSION_COOKIE, FLOW_COOKIE))
        self._provider: Any = OAuth().register(
            "provider",
            client_id=client.client_id,
            client_secret=client.client_secret,
            server_metadata_url=f"{client.issuer}/.well-known/openid-configuration",
            client_kwargs={"scope": SCOPE, "code_challenge_method": "S256", "timeout": PROVIDER_S},
        )
        self._base_path = re.sub(r"^https?://[^/]*", "", client.public_url)

    def name(self, scope: Scope) -> str:
        """See `Senders`."""
        name = _read(self.sessions, _cookie(scope, SESSION_COOKIE), SESSION_S)
        if not isinstance(name, str):
            raise Refused(401, "nobody is logged in", AGAIN)
        return checked_name(name.encode())

    def before(self, app: ASGIApp) -> ASGIApp:
        """Return an app that answers requests that belong to a login, and passes on all others."""

        async def answer(scope: Scope, receive: Receive, send: Send) -> None:
            await (await self._answer(scope, receive) or app)(scope, receive, send)

        return answer

    async def _answer(self, scope: Scope, receive: Receive) -> Response | None:
        path, query = scope["path"], scope["query_string"].decode("latin-1")
        if scope["method"] != "GET":
            return None
        if path == LOGOUT:
            words = f"You are logged out here. {self._client.public_url} leads back.\n"
            return self._ended(PlainTextResponse(words), SESSION_COOKIE)
        if path == LOGIN:
            return await self._begun(scope, receive, parse_qs(query).get("next", [""])[0])
        if path == CALLBACK:
            return await self._logged_in(scope, receive)
        if is_api(path) or not accepts_pages(scope):
            return None  # a script must not be led to another server
        try:
            self.name(scope)
        except Refused:
            place = quote(path) + (f"?{query}" if query else "")
            return RedirectResponse(f"{self._base_path}{LOGIN}?{urlencode({'next': place})}", 303)
        return None

    async def _begun(self, scope: Scope, receive: Receive, place: str) -> Response:
        """Send the browser to the provider."""
        session: dict[str, Any] = {}
        request = Request({**scope, "session": session}, receive)
        try:
            await self._check_issuer()
            answer: Response = await self._provider.authorize_redirect(request, f"{self._client.public_url}{CALLBACK}")
        except Exception as error:  # of the network, of HTTP, of the provider's answer
            return plain_page(502, f"the login provider {self._client.issuer} cannot be used: {_words(error)}", AGAIN)
        self._set(answer, FLOW_COOKIE, self._flows.dumps([session, place]), FLOW_S, path=f"{self._base_path}{CALLBACK}")
        return answer

    async def _logged_in(self, scope: Scope, receive: Receive) -> Response:
        """Take the provider's answer, and send the browser to the page that the person asked for."""
        flow = _read(self._flows, _cookie(scope, FLOW_COOKIE), FLOW_S)
        session, place = flow if isinstance(flow, list) and len(flow) == 2 else ({}, "")
        try:
            await self._check_issuer()
            token = await self._provider.authorize_access_token(Request({**scope, "session": session}, receive))
            name = self.name_in(token.get("userinfo") or {})
        except Refused as error:
            answer: Response = plain_page(error.status, str(error), error.what_next)
        except Exception as error:  # of the flow, of the network, of the provider's answer
            answer = plain_page(401, f"the login failed: {_words(error)}", AGAIN)
        else:
            answer = RedirectResponse(f"{self._base_path}{local_place(place)}", 303)
            self._set(answer, SESSION_COOKIE, self.sessions.dumps(name), SESSION_S, path=f"{self._base_path}/")
        return self._ended(answer, FLOW_COOKIE)

    async def _check_issuer(self) -> None:
        metadata = await self._provider.load_server_metadata()
        if metadata.get("issuer", "").rstrip("/") != self._client.issuer:
            raise BadQuery(f"it calls itself {metadata.get('issuer')!r}")
        safe = [one for one in metadata.get("id_token_signing_alg_values_supported", ()) if one[:2] in SIGNED]
        metadata["id_token_signing_alg_values_supported"] = safe or ["RS256"]

    def name_in(self, facts: dict[str, Any]) -> str:
        """Return the name from the provider's facts about a person. Raises `Refused`."""
        claim = self._client.claim
        value = facts.get(claim)
        if not isinstance(value, str) or not value:
            raise Refused(403, f"the login provider does not give {claim}", "Ask an administrator about --oidc-claim.")
        if claim == "email" and facts.get("email_verified") not in VERIFIED:
            raise Refused(403, f"the address {value} is not verified at the login provider", "Verify it there.")
        return checked_name(value.encode(errors="surrogatepass"))

    def _set(self, answer: Response, name: str, value: str, most_s: int, *, path: str) -> None:
        secure = self._client.public_url.startswith("https:")
        answer.set_cookie(name, value, most_s, path=path, secure=secure, httponly=True, samesite="lax")

    def _ended(self, answer: Response, name: str) -> Response:
        path = f"{self._base_path}{CALLBACK}" if name == FLOW_COOKIE else f"{self._base_path}/"
        answer.delete_cookie(name, path=path)
        return answer


SIGNED = ("RS", "ES", "PS", "Ed")
"""First letters of the signature algorithms whose signatures only the provider can make."""


def local_place(place: str) -> str:
    """Return where to go after a login: always a place of this server."""
    is_local = place.startswith("/") and place[1:2] not in ("/", "\\") and place.isascii() and place.isprintable()
    return place if is_local and not place.startswith("/auth/") else "/"


def client_of(options: TeamOptions, secret: str) -> OidcClient:
    """Return the client of `--users-from oidc:ISSUER`. Raises `BadQuery`."""
    match = ISSUER.fullmatch(options.users_from)
    if match is None:
        raise BadQuery(f"--users-from {options.users_from!r} is not understood; give oidc:https://ISSUER")
    if not options.oidc_client or not secret or not options.public_url:
        raise BadQuery("--users-from oidc needs --oidc-client ID, --oidc-secret-file FILE and --public-url URL")
    issuer, public_url = match["issuer"].rstrip("/"), options.public_url.rstrip("/")
    return OidcClient(issuer, options.oidc_client, secret, public_url, options.oidc_claim)


def _read(serializer: Any, value: str, most_s: int) -> Any:
    """Return the contents of a cookie; None if it is forged, damaged or too old."""
    from itsdangerous import BadSignature

    try:
        return serializer.loads(value, max_age=most_s)
    except BadSignature:
        return None


def _cookie(scope: Scope, name: str) -> str:
    """Return the value of a cookie; empty unless the request has it once."""
    values = [value for key, value in cookies(scope) if key == name]
    return values[0] if len(values) == 1 else ""


def _words(error: Exception) -> str:
    """Return what failed. A hostile link may hold the error code, so only a code of the usual form is shown."""
    if isinstance(code := getattr(error, "error", None), str):
        return code if re.fullmatch(r"[a-z_]{1,60}", code) else "for a reason that no provider gives"
    return (str(error).strip() or type(error).__name__).splitlines()[0][:300]
