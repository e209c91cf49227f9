"""The socket that the server listens on."""

import errno
import socket

from rolloupe.errors import BadQuery

PORT = 8080
PORTS_TRIED = 50


class PortTaken(BadQuery):
    """The port that was asked for is in use."""


def listening(host: str, port: int | None) -> socket.socket:
    """Listen on a port, or on 8080 or the next free one. The socket queues connections until the server accepts them.

    Raises `PortTaken` if the port is in use, and `BadQuery` if the host is not an address of this machine.
    """
    ports = range(PORT, PORT + PORTS_TRIED) if port is None else (port,)
    for number in ports:
        try:
            return _bound(host, number)
        except (OSError, OverflowError) as error:
            if getattr(error, "errno", None) == errno.EADDRINUSE:
                continue
            raise BadQuery(
                f"cannot listen on {host} port {number}: {error}; choose another --host or --port"
            ) from error
    if port is None:
        raise BadQuery(f"ports {PORT} to {ports[-1]} are all taken; choose one with --port")
    raise PortTaken(f"port {port} is taken; leave --port out to get the next free one")


def _bound(host: str, port: int) -> socket.socket:
    if not 0 <= port < 2**16:
        raise OverflowError("ports are numbers from 0 to 65535")  # getaddrinfo would read 70000 as 4464
    family, kind, protocol, _, place = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[
        0
    ]
    listener = socket.socket(family, kind, protocol)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(place)
        listener.listen(128)
    except BaseException:
        listener.close()
        raise
    return listener
