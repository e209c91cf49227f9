"""The layers between the network and the routes: small ASGI middlewares, each with one question.

A layer refuses or passes on; it never answers for a route. From the outside in: `with_headers` (on every reply,
refusals too), `Hosts` (DNS rebinding), `Origins` (foreign pages), `Auth` (who sends the request), `Limits` (how, and
how much). Every address needs the token unless it is known to be public, so a new route cannot forget it.
"""
