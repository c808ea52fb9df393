"""Revising an answer: its fields in a form, or all of it as JSON; what would change is shown before it is recorded."""

import hashlib
import json
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from django.contrib import messages
from django.db.models import TextField
from django.db.models.functions import Cast, Length
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_http_methods

from runs.access.roles import name_of, role_required
from runs.escalations import deciding
from runs.escalations.asked import Asked, BadDecision, decide
from runs.models import Escalation, Role, Step
from runs.pipelines.definitions import GROUPS
from runs.views import revised_fields
from runs.views.changes import Change, shown
from runs.views.escalation_reads import escalation_of
from runs.views.page import page
from runs.views.query import BadAddress, one_of, parameters, whole_number
from runs.views.revised_fields import FIELDS_AT_ONCE, BadJson, Field

# An answer longer than this is revised through the API.
LONGEST = 200_000
WAYS = ("fields", "json")
FORM = ("as", "field", "value", "json", "reason", "tier", "checked", "do")
EMPTY = {"summary": "", "next_step_context": ""}
# Where the problem of the reason is kept: no field of an answer is called that by its author.
REASON = " reason"


@dataclass(frozen=True)
class Draft:
    """A revision as it was typed. ``output`` is None while it cannot be read; ``problems`` are by field."""

    way: str
    fields: Sequence[Field] = ()
    text: str = ""
    output: Mapping[str, Any] | None = None
    problems: Mapping[str, str] = field(default_factory=dict)

    @property
    def digest(self) -> str:
        return hashlib.sha256(json.dumps(self.output, sort_keys=True).encode()).hexdigest()


@role_required(Role.OPERATOR)
@require_http_methods(["GET", "POST"])
@parameters("as", form=FORM)
def revise(request: HttpRequest, escalation_id: uuid.UUID) -> HttpResponse:
    """The form; what was typed is checked first, and recorded when it is sent again unchanged."""
    found = escalation_of(escalation_id)
    if found.closed_at is not None:
        messages.warning(request, f"{deciding.closed_sentence(found)} It cannot be revised any more.")
        return redirect("ui-escalation", escalation_id=found.id)
    if found.step.executor in GROUPS:
        raise BadAddress("A group has no output of its own; its branches have.")
    answer = _answer(found.step_id)
    if answer is None:
        return page(request, "escalations/too_long.html", {"escalation": found, "run": found.run, "longest": LONGEST})
    if request.method == "GET":
        return _form(request, found, _begun(answer, one_of(request.GET, "as", WAYS)))
    draft = _typed(request, answer)
    if draft.output is None or draft.problems:
        return _form(request, found, draft, status=400)
    return _carry_out(request, found, draft)


def _carry_out(request: HttpRequest, found: Escalation, draft: Draft) -> HttpResponse:
    assert draft.output is not None
    try:
        changes = deciding.foreseen(found.step, draft.output)
        if request.POST.get("do") != "record" or request.POST.get("checked") != draft.digest:
            return _form(request, found, draft, changes=shown(changes))
        asked = Asked("revise", request.POST.get("reason", ""), draft.output, tier=whole_number(request.POST, "tier"))
        decide(found.id, asked, by=name_of(request.user), now=timezone.now())
    except deciding.BadRevision as error:
        return _form(request, found, _with(draft, error.problems), status=400)
    except BadDecision as error:
        draft = _with(draft, {REASON: str(error)})
        return _form(request, found, draft, changes=shown(changes), status=400)
    except deciding.TooLate as error:
        messages.warning(request, f"{error} Your revision was not recorded.")
    else:
        messages.success(request, "Revised: the run goes on with your version.")
    return redirect("ui-escalation", escalation_id=found.id)


def _answer(step_id: uuid.UUID) -> dict[str, Any] | None:
    """The answer to be revised; None where it is too long for a page."""
    rows = Step.objects.filter(id=step_id).annotate(chars=Length(Cast("parsed_output", TextField())))
    if (rows.values_list("chars", flat=True)[0] or 0) > LONGEST:
        return None
    answer = rows.values_list("parsed_output", flat=True)[0]
    return answer if isinstance(answer, dict) else dict(EMPTY)


def _begun(answer: Mapping[str, Any], way: str) -> Draft:
    """As it stands; as fields unless they are too many, or none."""
    fields = revised_fields.fields_of(answer)
    way = way or ("fields" if 0 < len(fields) <= FIELDS_AT_ONCE else "json")
    if way == "fields" and len(fields) > FIELDS_AT_ONCE:
        raise BadAddress(f"This answer has more than {FIELDS_AT_ONCE} fields: they can be edited as JSON.")
    return Draft(way, fields, _pretty(answer), answer)


def _typed(request: HttpRequest, answer: Mapping[str, Any]) -> Draft:
    """What the form holds. Raises BadAddress where it is no form of this answer."""
    way = one_of(request.POST, "as", WAYS) or "fields"
    if way == "json":
        text = request.POST.get("json", "")
        try:
            return Draft(way, text=text, output=revised_fields.read_object(text))
        except BadJson as error:
            return Draft(way, text=text, problems={"": str(error)})
    try:
        fields = revised_fields.typed(answer, request.POST.getlist("field"), request.POST.getlist("value"))
    except (KeyError, ValueError) as error:
        raise BadAddress("These are not the fields of this answer. Open the form again.") from error
    if any(one.problem for one in fields):
        return Draft(way, fields, problems={one.name: one.problem for one in fields if one.problem})
    return Draft(way, fields, output=revised_fields.output_of(answer, fields))


def _with(draft: Draft, problems: Mapping[str, str]) -> Draft:
    """The draft with what is wrong with it, beside the fields where it is about one of them."""
    fields = [replace(one, problem=problems.get(one.name, "")) for one in draft.fields]
    return replace(draft, fields=fields, problems=problems)


def _pretty(answer: Mapping[str, Any]) -> str:
    return json.dumps(answer, indent=2, ensure_ascii=False)


def _form(
    request: HttpRequest, found: Escalation, draft: Draft, *, changes: Sequence[Change] = (), status: int = 200
) -> HttpResponse:
    beside = {one.name for one in draft.fields}
    context = {
        "now": timezone.now(),
        "escalation": found,
        "run": found.run,
        "draft": draft,
        "changes": changes,
        "checked": draft.digest if changes else "",
        "problems": draft.problems,
        "other_problems": [text for name, text in draft.problems.items() if name not in beside and name != REASON],
        "reason": request.POST.get("reason", ""),
        "reason_problem": draft.problems.get(REASON, ""),
    }
    return page(request, "escalations/revise.html", context, status=status, within=reverse("ui-escalations"))
