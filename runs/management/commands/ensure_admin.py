"""Make the first administrator."""

from typing import Any

from django.conf import settings
from django.core.exceptions import ValidationError
from django.core.management.base import BaseCommand, CommandError

from runs.access.bootstrap import ADMIN_NAME, ensure_admin


class Command(BaseCommand):
    help = (
        "Make the user admin, with VECTORSTEP_ADMIN_PASSWORD or else a password made up here and printed once. "
        "Prints nothing and changes nothing when there is an administrator."
    )

    def handle(self, **options: Any) -> None:
        given: str = settings.ADMIN_PASSWORD
        try:
            password = ensure_admin(password=given)
        except ValidationError as error:
            raise CommandError("No administrator was made: " + " ".join(error.messages)) from error
        if password is None:
            return
        if given:
            self.stdout.write(f"Made the user {ADMIN_NAME} with the password of VECTORSTEP_ADMIN_PASSWORD.")
        else:
            self.stdout.write(f"Made the user {ADMIN_NAME}. Password, shown this once: {password}")
