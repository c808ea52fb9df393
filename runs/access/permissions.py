"""The role a JSON endpoint asks for."""

from typing import Any

from rest_framework.exceptions import PermissionDenied
from rest_framework.permissions import BasePermission
from rest_framework.request import Request

from runs.access.principal import Principal
from runs.access.roles import can, refusal
from runs.models import Role


class HasRole(BasePermission):
    """The view's ``required_role``; ADMIN when it names none, so that forgetting it shuts the door.

    ``required_session_role`` replaces it for people, where a token may do more than someone of the
    same rank (an intake token starts runs, a viewer does not).
    """

    def has_permission(self, request: Request, view: Any) -> bool:
        user = request.user
        if user is None or not user.is_authenticated:
            return False  # DRF answers 401
        role: Role = getattr(view, "required_role", Role.ADMIN)
        if not isinstance(user, Principal):
            role = getattr(view, "required_session_role", role)
        if not can(user, role):
            raise PermissionDenied(refusal(user, role))
        return True
