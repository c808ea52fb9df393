"""One question to a person, an escalation or an approval, with what its page needs beside it."""

import uuid
from typing import TypeVar

from runs.models import Approval, Escalation
from runs.views.query import NothingThere

Asked = TypeVar("Asked", Approval, Escalation)
# Of its step: the panel reads what it shows by itself.
_HEAVY = ("prompt", "raw_output", "parsed_output", "revised_output", "agent_trace", "iterations", "trust_report")


def question_of(kind: type[Asked], identity: uuid.UUID, *, back: str) -> Asked:
    """With its run, the run's version and its step. Raises NothingThere, which leads to the list at ``back``."""
    rows = kind.objects.select_related("run__version", "step").defer(
        "run__context", "run__payload", "run__version__source", *(f"step__{name}" for name in _HEAVY)
    )
    found = rows.filter(id=identity).first()
    if found is None:
        text = f"There is no such {kind._meta.verbose_name}: its address may be mistyped, or its run was removed."
        raise NothingThere(text, back=back, back_label=f"{kind._meta.verbose_name_plural}".capitalize())
    return found
