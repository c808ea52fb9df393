"""Who a request with a bearer token speaks for."""

from dataclasses import dataclass

from runs.models import Role


@dataclass(frozen=True)
class Principal:
    """A token, in the place where Django and DRF expect a user."""

    token_id: int
    team: str
    role: Role
    prefix: str

    is_authenticated = True
    is_active = True
    is_anonymous = False

    def __str__(self) -> str:
        return f"token {self.prefix}… of team {self.team}"
