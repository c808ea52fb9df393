"""What a person has set for themselves."""

from django.conf import settings
from django.db import models


class Preference(models.Model):
    """``is_blind``: mark without seeing what the machine thinks. ``time_zone``: an IANA name; "" is the browser's."""

    user = models.OneToOneField(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, primary_key=True, related_name="preference"
    )
    is_blind = models.BooleanField(default=True)
    time_zone = models.TextField(default="", blank=True)

    def __str__(self) -> str:
        return f"preferences of {self.user_id}"
