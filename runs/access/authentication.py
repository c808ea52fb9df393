"""``Authorization: Bearer``, for DRF."""

from typing import Any

from django.utils import timezone
from drf_spectacular.extensions import OpenApiAuthenticationExtension
from rest_framework.authentication import BaseAuthentication, get_authorization_header
from rest_framework.exceptions import AuthenticationFailed
from rest_framework.request import Request

from runs.access import tokens
from runs.access.principal import Principal


class TokenAuthentication(BaseAuthentication):
    """The token of a team. No header: the next authentication is asked; a bad one is refused at once."""

    def authenticate(self, request: Request) -> tuple[Principal, Principal] | None:
        header = get_authorization_header(request).split()
        if not header:
            return None
        if len(header) != 2 or header[0].lower() != b"bearer":
            raise AuthenticationFailed("Send `Authorization: Bearer TOKEN`.")
        principal = tokens.principal_of(header[1].decode("latin-1"), now=timezone.now())
        if principal is None:
            raise AuthenticationFailed("The token is unknown or was revoked.")
        return principal, principal

    def authenticate_header(self, request: Request) -> str:
        return 'Bearer realm="vectorstep"'


class TokenScheme(OpenApiAuthenticationExtension):
    target_class = "runs.access.authentication.TokenAuthentication"
    name = "token"

    def get_security_definition(self, auto_schema: Any) -> dict[str, str]:
        return {"type": "http", "scheme": "bearer", "description": "A team's token, from `manage.py token create`."}
