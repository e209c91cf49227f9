"""`rolloupe serve`: one server for a team."""

from pathlib import Path
from typing import Any

import click

from rolloupe.cli import options
from rolloupe.cli.frame import Command, Example

EXAMPLES = (
    Example("rolloupe serve /data/runs --users-from header:X-Forwarded-User --trusted-proxy 127.0.0.1", "Behind nginx"),
    Example(
        "rolloupe serve /data/runs --users-from header:X-Forwarded-User --trusted-proxy 127.0.0.1 "
        "--access access.toml --public-url https://rollouts.example.org",
        "With roles, under a name",
    ),
    Example(
        "rolloupe serve /data/runs --users-from header:X-Forwarded-User --listen unix:/run/rolloupe/socket",
        "On a socket that only the proxy may open",
    ),
    Example(
        "rolloupe serve /data/runs --users-from oidc:https://accounts.google.com --oidc-client ID "
        "--oidc-secret-file secret --public-url https://rollouts.example.org",
        "With a login of its own",
    ),
)

team = options.added(
    click.option(
        "--listen",
        default="127.0.0.1:8080",
        show_default=True,
        metavar="PLACE",
        help="HOST:PORT, or unix:PATH for a socket that its owner and its group may open.",
    ),
    click.option(
        "--users-from",
        required=True,
        metavar="SOURCE",
        help="Who sends a request: header:NAME, a header that the proxy replaces on each request; or oidc:ISSUER, an "
        "OpenID provider where people log in, such as oidc:https://accounts.google.com.",
    ),
    click.option("--oidc-client", default="", metavar="ID", help="The id of this server as a client of the provider."),
    click.option(
        "--oidc-secret-file", type=click.Path(path_type=Path), metavar="FILE", help="A file with the client's secret."
    ),
    click.option(
        "--oidc-claim",
        default="email",
        show_default=True,
        metavar="NAME",
        help="Which of the provider's facts about a person is the name, such as preferred_username.",
    ),
    click.option(
        "--trusted-proxy",
        "trusted_proxies",
        multiple=True,
        metavar="ADDRESS",
        help="An address or a network whose requests may carry that header; it is refused from all others. Repeatable.",
    ),
    click.option(
        "--access",
        type=click.Path(path_type=Path),
        metavar="FILE",
        help="A TOML file of roles, and of runs that not everybody sees; read again when it changes. Without one, "
        "everybody whom the proxy names reads everything.",
    ),
    click.option(
        "--public-url",
        default="",
        metavar="URL",
        help="The address in people's browsers, such as https://rollouts.example.org or https://example.org/rollouts.",
    ),
    click.option(
        "--rate",
        type=click.FloatRange(1, 100_000),
        default=50.0,
        show_default=True,
        metavar="N",
        help="Requests a second that one person may send; more are refused with 429, and when to try again.",
    ),
    click.option(
        "--metrics-token-file",
        type=click.Path(path_type=Path),
        metavar="FILE",
        help="A file with the token that Prometheus sends for /metrics. Without one, there is no such address.",
    ),
    options.cache(256, 10_000),
    options.budget,
    options.state,
    click.option(
        "--state-url",
        default="",
        envvar="ROLLOUPE_STATE_URL",
        show_envvar=True,
        metavar="URL",
        help="Keep bookmarks and notes in this database of PostgreSQL instead: postgresql://USER@HOST/NAME. Other "
        "users can read command lines: put a password into the variable, or into ~/.pgpass.",
    ),
)
"""Adds the options of a team's server."""


class ServeCommand(Command):
    """A command that never runs on another machine: it listens here."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the arguments."""
        return click.Command.parse_args(self, ctx, args)


@click.command(cls=ServeCommand, examples=EXAMPLES)
@click.argument("paths", nargs=-1, metavar="ROOT...", required=True)
@team
@options.reading
def serve(
    paths: tuple[str, ...],
    index_dir: str | None,
    format: str | None,
    listen: str,
    users_from: str,
    trusted_proxies: tuple[str, ...],
    oidc_client: str,
    oidc_secret_file: Path | None,
    oidc_claim: str,
    access: Path | None,
    public_url: str,
    rate: float,
    metrics_token_file: Path | None,
    state_url: str,
    cache_memory_mb: int,
    cache_entries: int,
    budget_bytes: int | None,
    state_dir: str | None,
    **reading: Any,
) -> None:
    """Serve runs to a team, behind a proxy that knows its people, or with a login at an OpenID provider.

    Each person has private bookmarks, notes and layouts and sees those that others share. Nobody without a role is let
    in, and no token is needed. See docs/team.md.
    """
    place = options.place_of(paths, (), index_dir, format, **reading)
    from rolloupe.server.team.serve import serve_team

    serve_team(
        place.paths,
        listen=listen,
        users_from=users_from,
        trusted_proxies=trusted_proxies,
        oidc_client=oidc_client,
        oidc_secret_file=oidc_secret_file,
        oidc_claim=oidc_claim,
        access=access,
        public_url=public_url,
        rate=rate,
        metrics_token_file=metrics_token_file,
        state_url=state_url,
        cache_memory_mb=cache_memory_mb,
        cache_entries=cache_entries,
        index_dir=place.index_dir,
        state_dir=state_dir,
        reading=place.reading,
        budget_bytes=budget_bytes,
    )
