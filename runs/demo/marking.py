"""What the people of the demo say about its answers."""

from uuid import UUID

from django.contrib.auth.models import Group, User

from calibration.models import Order, Sample, Via
from runs.demo.story import Case
from runs.marking.marks import mark_step
from runs.models import Role, Step

MARKERS = ("demo-anna", "demo-ben")


def mark(case: Case, run_id: UUID) -> None:
    """Give the run's answers the marks of the story."""
    samples = Sample.objects.filter(group=run_id).values("id")
    for step in Step.objects.filter(id__in=samples).only("parsed_output").order_by("id"):
        for opinion in case.opinions:
            mark_step(
                step_id=step.id,
                by=_marker(MARKERS[opinion.marker]),
                outcome=case.outcome(step.parsed_output or {}, opinion),
                was_blind=True,
                via=Via.DEMO,
                offered_by=Order.RANDOM,
                now=case.at + opinion.after,
            )


def _marker(name: str) -> User:
    """Somebody of the story; nobody can sign in as them."""
    person, made = User.objects.get_or_create(username=name, defaults={"is_active": False})
    if made:
        person.set_unusable_password()
        person.save(update_fields=["password"])
        person.groups.add(Group.objects.get_or_create(name=Role.MARKER.label)[0])
    return person
