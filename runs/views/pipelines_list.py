"""The pipelines: what can be started, what is broken and where, what is gone."""

from typing import Any

from django.conf import settings
from django.db.models import OuterRef, QuerySet, Subquery
from django.db.models.fields.json import KeyTextTransform, KeyTransform
from django.db.models.functions import Left
from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from django.views.decorators.http import require_GET

from runs.access.roles import role_required
from runs.engine import pauses
from runs.models import Pipeline, Role, Run
from runs.models.pipeline import DEMO_FILES
from runs.views.page import page
from runs.views.query import parameters, searched
from runs.views.run_reads import JSONArrayLength

GONE_SHOWN = 50
DESCRIPTION_HEAD = 300
# From this many on, a field narrows the list by name.
SEARCHED_FROM = 20


@role_required(Role.VIEWER)
@require_GET
@parameters("name")
def pipelines(request: HttpRequest) -> HttpResponse:
    rows = list(with_last_run(summarised(Pipeline.objects.all())).order_by("name", "file"))
    last = {
        run.id: run
        for run in Run.objects.filter(id__in=[row.last_id for row in rows if row.last_id]).only(
            "status", "triggered_at"
        )
    }
    paused = pauses.in_force()
    for row in rows:
        row.last = last.get(row.last_id)
        row.paused = paused.get(row.name)
    gone = [row for row in rows if not row.present and not row.file.startswith(DEMO_FILES)]
    good = [row for row in rows if row.present and row.version_id]
    wanted = searched(request.GET, "name")
    context = {
        "now": timezone.now(),
        "good": [row for row in good if wanted.casefold() in row.name.casefold()],
        "good_count": len(good),
        "wanted": wanted,
        "searched": wanted or len(good) >= SEARCHED_FROM,
        "broken": [row for row in rows if row.present and row.errors],
        "gone": gone[:GONE_SHOWN],
        "gone_left": max(0, len(gone) - GONE_SHOWN),
        "directory": str(settings.PIPELINES_DIR),
        "loaded_at": max((row.loaded_at for row in rows), default=None),
    }
    return page(request, "pipelines/list.html", context)


def summarised(rows: "QuerySet[Pipeline]") -> "QuerySet[Any]":
    """With the few fields of the configuration that a list shows; prompts stay in the database."""
    return rows.annotate(
        description=Left(KeyTextTransform("description", "version__config"), DESCRIPTION_HEAD),
        stage=KeyTextTransform("stage", "version__config"),
        tags=KeyTransform("tags", "version__config"),
        steps=JSONArrayLength(KeyTransform("steps", "version__config")),
    )


def with_last_run(rows: "QuerySet[Any]") -> "QuerySet[Any]":
    """With the id of the newest run of each name: one index lookup per pipeline, whatever the history."""
    newest = Run.objects.filter(pipeline_name=OuterRef("name")).order_by("-id").values("id")[:1]
    return rows.annotate(last_id=Subquery(newest))
