"""The proxy of the tests leaves nothing behind: what it leaves open fails whichever test runs next."""

import gc
import socket

from tests.server.team.proxy import proxy
from tests.thoroughness import each


@each("content", [b"", b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"])
def test_a_proxy_that_ends_leaves_no_connection_open(content: bytes) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        with proxy(server.getsockname()[1], "ada") as port:
            lines = [socket.create_connection(("127.0.0.1", port)) for _ in range(30)]
            for line in lines:
                line.sendall(content)
        for line in lines:
            line.close()
    gc.collect()
