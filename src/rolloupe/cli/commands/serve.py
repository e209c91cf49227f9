"""`rolloupe serve`: one server for a team."""

import click

from rolloupe.cli.options import command
from rolloupe.server.settings import RunPaths, TeamOptions

ROOTS = click.Argument(["paths"], nargs=-1, metavar="ROOT...", required=True)


@command(arguments=(ROOTS,), has_run=False, only_here=True)
def serve(team: TeamOptions, place: RunPaths) -> None:
    r"""Serve runs to a team, behind a proxy that knows its people, or with a login at an OpenID provider.

    Each person has private bookmarks, notes and layouts and sees those that others share. Nobody without a role is let
    in, and no token is needed. See docs/team.md.

    Examples:
      rolloupe serve /data/runs --users-from header:X-Forwarded-User --trusted-proxy 127.0.0.1  # Behind nginx
      rolloupe serve /data/runs --users-from header:X-Forwarded-User --trusted-proxy 127.0.0.1 --access access.toml \
        --public-url https://rollouts.example.org  # With roles, under a name
      rolloupe serve /data/runs --users-from header:X-Forwarded-User --listen unix:/run/rolloupe/socket \
        # On a socket that only the proxy may open
      rolloupe serve /data/runs --users-from oidc:https://accounts.google.com --oidc-client ID --oidc-secret-file \
        secret --public-url https://rollouts.example.org  # With a login of its own
    """
    from rolloupe.server.team.serve import serve_team

    serve_team(place, team)
