"""The branches of one group, page by page: a part of the run page, and a page of its own for whoever follows a link."""

import uuid

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404
from django.views.decorators.http import require_GET

from runs.access.roles import role_required
from runs.models import Role, Run, Step
from runs.models.step import StepStatus
from runs.pipelines.definitions import GROUPS, written
from runs.views import branch_reads, run_reads
from runs.views.branch_reads import Table
from runs.views.page import page
from runs.views.query import one_of, parameters, whole_number


@role_required(Role.VIEWER)
@require_GET
@parameters("group", "status", "from")
def branches(request: HttpRequest, run_id: uuid.UUID) -> HttpResponse:
    """The failed, aborted and escalated first, else in the order of the group's list."""
    status = one_of(request.GET, "status", StepStatus.values)
    start = whole_number(request.GET, "from", default=0)
    groups = run_reads.outline(Step.objects.filter(run_id=run_id, executor__in=GROUPS, branch__isnull=True))
    group = get_object_or_404(groups, name=request.GET.get("group", ""))
    owner = Run.objects.select_related("version").defer("context", "payload", "version__source").get(id=run_id)
    table = branch_reads.page_of(group, items_of(owner), status=status, start=start)
    if start and not table.rows:
        raise Http404
    part = request.headers.get("HX-Request")
    return page(request, "runs/branches.html#table" if part else "runs/branches.html", {"table": table, "run": owner})


def tables_of(run: Run, steps: list[Step]) -> dict[uuid.UUID, Table]:
    """The first page of branches of each group among ``steps``."""
    groups = [step for step in steps if step.executor in GROUPS]
    return branch_reads.first_pages(groups, items_of(run)) if groups else {}


def items_of(run: Run) -> dict[int, str]:
    """What each fan-out calls its item, by its place in the pipeline."""
    entries = enumerate(written(run.version.config))
    return {index: str(entry.get("as", "item")) for index, entry in entries if entry.get("executor") == "fan_out"}
