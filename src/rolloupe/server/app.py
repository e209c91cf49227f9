"""The application: the routes, their errors, and the layers around them."""

from concurrent.futures import Future

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from rolloupe import errors
from rolloupe.index import Library
from rolloupe.server.context import Context, Gone
from rolloupe.server.downloads import TooMany
from rolloupe.server.endpoints import Endpoint, question_routes
from rolloupe.server.people import PERSON, Forbidden, reason_for
from rolloupe.server.process.console import say_failure
from rolloupe.server.replies import error_reply
from rolloupe.server.routes import curves, lists, runs, sample, search, state, tokens
from rolloupe.server.security.auth import LOGIN, Auth
from rolloupe.server.security.layers import Hosts, Limits, Origins, with_headers, without_base
from rolloupe.server.settings import Settings
from rolloupe.server.static_app import PLACE, Shell, shell
from rolloupe.server.threads import Stopping

RUN = "/api/runs/{run}"

GET: tuple[tuple[str, Endpoint], ...] = (
    ("/api/runs", runs.runs),
    ("/api/configs", runs.configs),
    ("/api/configs/find", runs.configured),
    ("/api/catalogue", curves.runs_catalogue),
    ("/api/compare/configs", curves.compared_configs),
    ("/api/compare/prompts", curves.shared_prompts),
    ("/api/compare/rewards", curves.compared_rewards),
    (f"{RUN}/steps", runs.steps),
    (f"{RUN}/groups", lists.groups),
    (f"{RUN}/groups/progress", lists.progress),
    (f"{RUN}/catalogue", curves.catalogue),
    (f"{RUN}/alarms", curves.alarms),
    (f"{RUN}/distribution", curves.distribution),
    (f"{RUN}/problems", runs.problems),
    (f"{RUN}/problems/raw", runs.problem_raw),
    (f"{RUN}/about", runs.about),
    (f"{RUN}/report", runs.report),
    (f"{RUN}/marked", state.marked),
    (f"{RUN}/export", lists.export),
    (f"{RUN}/samples", lists.samples),
    (f"{RUN}/samples/progress", lists.progress),
    (f"{RUN}/samples.csv", lists.as_csv),
    (f"{RUN}/sample", sample.sample),
    (f"{RUN}/sample/turns", sample.turns),
    (f"{RUN}/sample/raw", sample.raw),
    (f"{RUN}/sample/text", sample.whole),
    (f"{RUN}/sample/image", sample.image),
    (f"{RUN}/sample/find", sample.find),
    (f"{RUN}/sample/tokens", tokens.tokens),
    (f"{RUN}/sample/top-logprobs", tokens.top_logprobs),
    (f"{RUN}/update", tokens.update),
    ("/api/search/hits", search.hits),
    (f"{RUN}/members", sample.members),
    ("/api/curve.csv", curves.curve_csv),
    ("/api/cache/stats", state.stats),
    ("/api/state", state.state),
    ("/api/events", state.events),
)
POST: tuple[tuple[str, Endpoint, str], ...] = (
    ("/api/curves", curves.curves, "reader"),
    ("/api/run-metrics", curves.run_metrics, "reader"),
    ("/api/search", search.search, "reader"),
    (f"{RUN}/sample/spans", search.spans, "reader"),
    ("/api/cache/clear", state.clear, "admin"),
    ("/api/state", state.change, "writer"),
)
"""Each with the role that a team's server requires; GET, which changes nothing, requires `reader`."""

LOGIN_ROUTES = ((LOGIN, state.login, "reader"), ("/api/ticket", state.ticket, "reader"))
"""More routes, of a server without a team."""

FOR_ADMINS = {"/api/cache/stats"}
"""GET about the whole server, which only an admin of a team sees."""

ERRORS: dict[type[errors.RolloupeError], tuple[int, str]] = {
    errors.NotFound: (404, "Go back to the list: it may have changed since."),
    errors.BadQuery: (400, "Change the address, or start over at the list of runs."),
    errors.BadPattern: (400, "Change the expression, or search for it as plain text."),
    errors.SourceChanged: (409, "Load the list again: the file was rewritten."),
    errors.UnreadablePath: (404, "Check the path on the machine where the server runs."),
    errors.NotWritable: (503, "Fix that, then try again."),
    Stopping: (503, "Start it again."),
    Gone: (503, "Ask again."),
    TooMany: (503, "Wait until one of them ends."),
    Forbidden: (403, "Ask an administrator of this server."),
    errors.NotRecognised: (404, "Run `rolloupe doctor` on the path to see why."),
}

FILTER = "For example: reward < 0.1 and status = truncated."


class App:
    """The whole server as one ASGI application. While its library is still opening, requests for data wait."""

    def __init__(self, library: "Library | Future[Library]", settings: Settings, files: Shell | None = None) -> None:
        self.context = Context(library, settings)
        gets = [
            (path, endpoint, "admin" if path in FOR_ADMINS else "reader")
            for path, endpoint in (*GET, *question_routes(), (PLACE, shell))
        ]
        posts = POST if settings.team else (*POST, *LOGIN_ROUTES)
        self.routes = [
            Route(path, with_error_replies(endpoint, role), methods=[method])
            for method, some in (("POST", posts), ("GET", gets))
            for path, endpoint, role in some
        ]
        inner = Starlette(routes=self.routes, exception_handlers={HTTPException: http_error})
        inner.state.context = self.context
        inner.state.shell = files or Shell(settings.base_path)
        layers: ASGIApp
        if settings.team is not None:
            from rolloupe.server.team.layers import team_layers

            layers = team_layers(inner, settings, settings.team, self.context)
        else:
            layers = Hosts(Origins(Auth(Limits(inner), settings), settings.cors), settings)
        self._app: ASGIApp = with_headers(layers)
        self.settings = settings

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request. A proxy may keep the base path or strip it."""
        await self._app(without_base(scope, self.settings.base_path), receive, send)

    def close(self) -> None:
        """End streams and waiting requests, as `Context.close` does."""
        self.context.close()


def with_error_replies(endpoint: Endpoint, role: str = "reader") -> Endpoint:
    """Turn an endpoint's errors into replies: known errors explain themselves, others reveal no details.

    In a team, only people with the role are admitted.
    """

    async def answer(request: Request) -> Response:
        person = request.scope.get(PERSON)
        try:
            if person is not None:
                person.require(role)
            return await endpoint(request)
        except HTTPException:
            raise
        except ClientDisconnect:  # before its request was complete
            return error_reply(503, str(Gone()), "Ask again.")
        except errors.RolloupeError as error:
            status, what_next = ERRORS.get(type(error), (500, "Read the server's output."))
            place = error.place if isinstance(error, errors.BadQuery) else None
            if place is not None and not isinstance(error, errors.BadPattern):
                what_next = FILTER
            words = reason_for(person, str(error)) if isinstance(error, errors.NotWritable) else str(error)
            return error_reply(status, words, what_next, place=place)
        except Exception as error:
            say_failure(f"{request.method} {request.scope['path']}", error)
            return error_reply(500, "a defect in the server", "Report it with the server's output.")

    return answer


async def http_error(_: Request, error: Exception) -> Response:
    """Turn an error of the framework into an `ErrorReply`."""
    assert isinstance(error, HTTPException)
    what_next = {405: "Use another method.", 413: "Send less."}.get(error.status_code, "Open the start page.")
    return error_reply(error.status_code, str(error.detail).lower(), what_next, error.headers)
