"""Which runs are the demo's, and how far it has come."""

from dataclasses import dataclass

from django.db.models import QuerySet

from runs.demo.pipelines import is_wanted
from runs.demo.story import TOTAL
from runs.models import Run
from runs.models.run import STARTED_BY_DEMO

TEAM = "demo"


def demo_runs() -> "QuerySet[Run]":
    """By who started them, which nobody else can be: a team of people may be called demo too."""
    return Run.objects.filter(team=TEAM, started_by=STARTED_BY_DEMO)


@dataclass(frozen=True)
class Progress:
    """``made`` of ``total`` runs of a demo that somebody asked for."""

    made: int
    total: int = TOTAL

    @property
    def is_whole(self) -> bool:
        return self.made >= self.total


def progress() -> Progress | None:
    """None where there is no demo. Two queries, one where there is none."""
    return Progress(demo_runs().count()) if is_wanted() else None
