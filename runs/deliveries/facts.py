"""What a message tells about, read when it is first needed: the run, the step, and what its templates see."""

from dataclasses import dataclass
from typing import Any

from django.conf import settings
from django.urls import reverse

from runs.engine.state import RunState, load
from runs.models import Delivery, DeliveryEvent, Run, Step
from runs.pipelines import context, definitions, schema

# Of a step, what a message says about its trust.
_NUMBERS = (
    "combined_trust",
    "confidence_threshold",
    "primary_confidence",
    "verifier_confidence",
    "grounding_score",
    "deterministic_passed",
)


@dataclass(frozen=True)
class Facts:
    """``step`` is None where the run has no step of that name any more."""

    delivery: Delivery
    state: RunState
    step: Step | None

    @property
    def run(self) -> Run:
        return self.state.run

    @property
    def url(self) -> str:
        """Where a person reads about the run."""
        return f"{settings.PUBLIC_URL}{reverse('ui-run', args=[self.run.id])}"

    def number(self, name: str) -> Any:
        """One of the step's numbers; None where there is none."""
        return getattr(self.step, name) if self.step else None

    def notice(self) -> dict[str, Any]:
        """What templates see as ``notice``."""
        return {
            "event": self.delivery.event,
            "step": self.delivery.step_name,
            "reason": self.delivery.reason,
            "trust": self.number("combined_trust"),
            "threshold": self.number("confidence_threshold"),
            "confidence": self.number("primary_confidence"),
            "run_url": self.url,
        }

    def context(self) -> dict[str, Any]:
        """The names for the message's templates: what the step's own see, and what happened."""
        return context.prompt_context(
            run=self.run,
            steps=self.state.outputs,
            pipeline=self.state.pipeline,
            current_step=self.delivery.step_name,
            extra={"notice": self.notice()},
        )

    def wanted(self) -> tuple[str | None, dict[str, Any]]:
        """The template, and the configuration of the channel, as the pipeline of the run has them."""
        if self.delivery.event == DeliveryEvent.FAILURE:
            hook = _definition(self).on_failure.webhook
            assert hook is not None  # else the delivery would not have been written
            return None, hook.model_dump(mode="json")
        wanted = definitions.notifications_of(self.state.pipeline, self.delivery.event)
        return wanted[self.delivery.position].template, wanted[self.delivery.position].config


def gather(delivery: Delivery) -> Facts:
    """The run as it stood at the step: what came later is left out, so that every try says the same."""
    found = Step.objects.filter(run_id=delivery.run_id, name=delivery.step_name)
    step = found.only("run_id", "index", "branch", "name", *_NUMBERS).first()
    state = load(delivery.run_id, before=None if step is None else step.index + 1)
    assert state is not None  # the delivery goes with its run
    return Facts(delivery, state, step)


def _definition(facts: Facts) -> schema.StepBody:
    assert facts.step is not None
    return definitions.definition_of(facts.state.pipeline, index=facts.step.index, branch=facts.step.branch)
