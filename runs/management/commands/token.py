"""Make, list and revoke the bearer tokens of teams."""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone

from runs.access import tokens
from runs.models import Role, Token

ROLES = [role.label for role in Role]
# Who is at the terminal, nobody can tell.
BY = "the command line"


class Command(BaseCommand):
    help = "Make, list and revoke bearer tokens."

    def add_arguments(self, parser: ArgumentParser) -> None:
        actions = parser.add_subparsers(dest="action", required=True)
        create = actions.add_parser("create", help="make a token and print it, once")
        create.add_argument("--team", required=True, help="whose runs it starts; made if new")
        create.add_argument(
            "--role", choices=ROLES, default=Role.INTAKE.label, help="default: intake (starts runs, no more)"
        )
        create.add_argument("--name", default="", help="what it is for, shown in lists")
        actions.add_parser("list", help="show every token, never its secret")
        revoke = actions.add_parser("revoke", help="take a token back; it is refused within seconds")
        revoke.add_argument("prefix", help="the first characters, as `token list` shows them")

    def handle(self, *, action: str, **options: Any) -> None:
        try:
            getattr(self, action)(**options)
        except tokens.TokenError as error:
            raise CommandError(str(error)) from error

    def create(self, *, team: str, role: str, name: str = "", **_: Any) -> None:
        _token, secret = tokens.create(team=team, role=Role[role.upper()], name=name, by=BY, now=timezone.now())
        # Only the token on stdout, so that a script can catch it.
        self.stderr.write(f"Role {role}, team {team}. The token is shown this once:")
        self.stdout.write(secret)

    def list(self, **_: Any) -> None:
        rows = [_row(token) for token in Token.objects.order_by("team_id", "created_at", "id")]
        if not rows:
            self.stdout.write("No tokens yet: `manage.py token create --team NAME --role ROLE` makes one.")
            return
        table = [("PREFIX", "TEAM", "ROLE", "CREATED", "LAST USED", "STATE", "BY", "NAME"), *rows]
        widths = [max(len(row[column]) for row in table) for column in range(len(table[0]))]
        for row in table:
            self.stdout.write("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())

    def revoke(self, *, prefix: str, **_: Any) -> None:
        token = tokens.revoke(prefix=prefix, by=BY, now=timezone.now())
        self.stdout.write(f"Revoked {token.prefix}… of team {token.team_id}.")


def _row(token: Token) -> tuple[str, ...]:
    used = f"{token.last_used_at:%Y-%m-%d %H:%M}" if token.last_used_at else "never"
    state = f"revoked {token.revoked_at:%Y-%m-%d}" if token.revoked_at else "live"
    role = Role(token.role).label
    return (
        token.prefix,
        token.team_id,
        role,
        f"{token.created_at:%Y-%m-%d %H:%M}",
        used,
        state,
        token.created_by,
        token.name,
    )
