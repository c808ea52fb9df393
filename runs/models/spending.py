"""What teams spent on which day."""

from django.db import models
from django.db.models import Index, Q, UniqueConstraint


class Spending(models.Model):
    """Part of what a team's steps of one day took; the sum of a day's rows is all of it.

    A step that ends adds a row of its own (``is_sum`` false), which waits for nobody. The sweeper adds up such rows
    into one per team and day. A day is that on which a run was triggered, in UTC, so what stands behind a
    number are the runs triggered then. Rows may be negative: what a removed run had added.
    """

    team = models.TextField(blank=True)
    day = models.DateField()
    is_sum = models.BooleanField(default=False)
    steps = models.BigIntegerField(help_text="That called a model.")
    tokens = models.BigIntegerField(help_text="Those that were told.")
    steps_untold = models.BigIntegerField(help_text="That did not tell all their tokens.")
    cost_nanos = models.BigIntegerField(help_text="Billionths of a dollar, of the steps whose cost is known.")
    steps_unpriced = models.BigIntegerField(help_text="Whose cost is not known.")

    class Meta:
        constraints = [UniqueConstraint(fields=["team", "day"], condition=Q(is_sum=True), name="spending_one_sum")]
        indexes = [
            Index(fields=["day", "team"], name="spending_by_day"),
            Index(fields=["id"], condition=Q(is_sum=False), name="spending_loose"),
        ]

    def __str__(self) -> str:
        return f"{self.team or 'no team'} on {self.day}"
