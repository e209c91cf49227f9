"""`rolloupe serve`: one server for a team."""

import click

from rolloupe.cli.frame import Command, Example
from rolloupe.cli.options import command
from rolloupe.server.settings import RunPaths, TeamOptions

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


class ServeCommand(Command):
    """A command that never runs on another machine: it listens here."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the arguments."""
        return click.Command.parse_args(self, ctx, args)


ROOTS = click.Argument(["paths"], nargs=-1, metavar="ROOT...", required=True)


@command(examples=EXAMPLES, arguments=(ROOTS,), has_run=False, kind=ServeCommand)
def serve(team: TeamOptions, place: RunPaths) -> None:
    """Serve runs to a team, behind a proxy that knows its people, or with a login at an OpenID provider.

    Each person has private bookmarks, notes and layouts and sees those that others share. Nobody without a role is let
    in, and no token is needed. See docs/team.md.
    """
    from rolloupe.server.team.serve import serve_team

    serve_team(place, team)
