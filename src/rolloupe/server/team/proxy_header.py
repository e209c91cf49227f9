"""People whom a proxy names: it has authenticated them, and sets a header on each request."""

import ipaddress
import re
from collections.abc import Iterable, Sequence
from typing import Any, TypeAlias

from starlette.types import Scope

from rolloupe.errors import BadQuery
from rolloupe.server.people import Refused, checked_name

HEADER = re.compile(r"header:([A-Za-z0-9-]{1,100})")
UNIX = "unix"
"""Stands for the peers of a Unix socket, which its permissions choose."""

Network: TypeAlias = ipaddress.IPv4Network | ipaddress.IPv6Network


class ProxyHeader:
    """Names the sender by a header that trusted proxies set."""

    logout = ""

    def __init__(self, header: str, proxies: Sequence[Network | str]) -> None:
        self._header = header.lower().encode()
        self._proxies = proxies

    def name(self, scope: Scope) -> str:
        """See `Senders`: what cannot be trusted is refused, never ignored."""
        values = [value for name, value in scope["headers"] if name.lower() == self._header]
        likes = [name for name, _ in scope["headers"] if _plain(name) == _plain(self._header)]
        if not self._trusts(scope):
            if likes:
                raise Refused(
                    403, "only a trusted proxy may say who sends a request", "Use the address that your team was given."
                )
            raise Refused(401, "this address needs a login", "Use the address that your team was given, which has one.")
        if len(likes) > max(1, len(values)) or len(values) > 1 or len(likes) != len(values):
            raise Refused(
                400, "the request says more than once who sends it", "The proxy must replace that header, not add one."
            )
        if not values or not values[0].strip():
            raise Refused(401, "the proxy does not say who sends this request", "Log in at the proxy.")
        return checked_name(values[0].strip(b" \t"))  # of the line, says HTTP, not of the value

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
    """A header name as servers spell it that do not tell `_` from `-`."""
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
            raise BadQuery(f"--trusted-proxy {word!r} is no address or network: {error}") from None
    return tuple(proxies)
