"""What a run and the track record tell each other: versions, evidence of both stages, resets."""

import uuid
from typing import Any

import pytest
from django.utils import timezone

from calibration import tallies
from calibration.models import AgentVersion, Mark, PromptVersion, Sample
from runs.engine import sightings
from runs.engine.snapshot import snapshot
from runs.marking.marks import mark_step, undo
from runs.models import Step
from tests import factories
from tests.pipelines import Pipelines, step, steps_of

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def sent(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, ...]]:
    """The messages that went out, as (task, arguments...)."""
    monkeypatch.setattr(sightings, "_seen", {})
    messages: list[tuple[str, ...]] = []
    monkeypatch.setattr("runs.engine.publish._apply", lambda *message, **_: messages.append(message) or True)
    return messages


def mark_alike(row: Step, *, label: float, count: int, stage: str) -> None:
    """``count`` samples beside that of ``row``, all with this label."""
    sample = Sample.objects.get(id=row.id)
    for _ in range(count):
        sample.pk, sample.group, sample.stage = uuid.uuid4(), uuid.uuid4(), stage
        sample.label, sample.label_source = label, "step_mark"
        sample.save(force_insert=True)
    tallies.rebuild()


def enforced(**fields: Any) -> dict[str, Any]:
    return step(says=0.9, calibration={"enforce": True}, **fields)


def test_a_run_notes_the_prompt_it_used(pipelines: Pipelines) -> None:
    pipelines.write("one", step())
    row = steps_of(pipelines.run("one"))["look"]
    noted = PromptVersion.objects.get()
    assert (noted.step, noted.prompt_hash, noted.template) == ("look", row.prompt_hash, "Look into {{ summary }}.")


def test_an_agent_version_is_looked_up_by_another_task_and_once(
    pipelines: Pipelines, sent: list[tuple[str, ...]], tmp_path: Any
) -> None:
    (tmp_path / "soul.md").write_text("Be exact.")
    versioned = step()
    versioned["executor_config"]["version_files"] = [str(tmp_path / "soul.md")]
    pipelines.write("one", versioned)
    row = steps_of(pipelines.run("one"))["look"]
    pipelines.run("one")
    assert [message for message in sent if message[0] == "runs.tasks.snapshot"] == [
        ("runs.tasks.snapshot", str(row.id))
    ]
    snapshot(row.id)
    kept = AgentVersion.objects.get()
    assert (kept.agent, kept.version, kept.note) == ("command:scripted", row.agent_version, "")
    assert "Be exact." in kept.soul


def test_the_text_of_an_agent_that_has_moved_on_is_not_kept_for_its_old_version(
    pipelines: Pipelines, tmp_path: Any
) -> None:
    (tmp_path / "soul.md").write_text("Be exact.")
    versioned = step()
    versioned["executor_config"]["version_files"] = [str(tmp_path / "soul.md")]
    pipelines.write("one", versioned)
    row = steps_of(pipelines.run("one"))["look"]
    (tmp_path / "soul.md").write_text("Be quick.")
    snapshot(row.id)
    kept = AgentVersion.objects.get()
    assert (kept.version, kept.soul) == (row.agent_version, "")
    assert "was already at version" in kept.note


def test_a_step_that_was_removed_meanwhile_notes_nothing() -> None:
    snapshot(uuid.uuid4())
    assert not AgentVersion.objects.exists()


def test_the_definition_that_cannot_be_had_is_told(pipelines: Pipelines, tmp_path: Any) -> None:
    (tmp_path / "soul.md").write_text("Be exact.")
    versioned = step()
    versioned["executor_config"]["version_files"] = [str(tmp_path / "soul.md")]
    pipelines.write("one", versioned)
    row = steps_of(pipelines.run("one"))["look"]
    (tmp_path / "soul.md").unlink()
    snapshot(row.id)
    assert "could not be had" in AgentVersion.objects.get().note


@pytest.mark.parametrize(("evidence", "trust"), [("all", 0.5), ("production", 0.9)])
def test_the_service_says_whose_labels_count(pipelines: Pipelines, service: Any, evidence: str, trust: float) -> None:
    service(calibration={"evidence": evidence})
    pipelines.write("one", enforced())
    mark_alike(steps_of(pipelines.run("one"))["look"], label=0.5, count=20, stage="testing")
    assert steps_of(pipelines.run("one"))["look"].combined_trust == trust


@pytest.mark.parametrize(("on_uncalibrated", "unproven"), [("proceed", 0.9), ("escalate", 0.0)])
def test_a_mark_counts_in_the_next_decision_and_so_does_taking_it_back(
    pipelines: Pipelines, service: Any, on_uncalibrated: str, unproven: float
) -> None:
    service(calibration={"n_min": 2})
    pipelines.write("one", step(says=0.9, calibration={"enforce": True, "on_uncalibrated": on_uncalibrated}))
    olga = factories.user()

    def decided() -> Step:
        return steps_of(pipelines.run("one"))["look"]

    def marked(outcome: str) -> Mark:
        step_id = decided().id
        return mark_step(step_id=step_id, by=olga, outcome=outcome, was_blind=True, via="api", now=timezone.now())

    marked("correct")
    assert decided().combined_trust == unproven
    second = marked("incorrect")
    assert decided().combined_trust == 0.5
    undo(mark_id=second.pk, by=olga, now=timezone.now())
    assert decided().combined_trust == unproven


def test_an_edited_prompt_starts_again_and_says_so_and_reverting_restores(pipelines: Pipelines) -> None:
    pipelines.write("one", enforced())
    mark_alike(steps_of(pipelines.run("one"))["look"], label=0.5, count=20, stage="production")
    assert steps_of(pipelines.run("one"))["look"].combined_trust == 0.5
    pipelines.write("one", enforced(prompt_template="Look harder into {{ summary }}."))
    row = steps_of(pipelines.run("one"))["look"]
    assert row.combined_trust == 0.9
    day = f"{timezone.now().day} {timezone.now():%b}"
    assert row.trust_report["stages"][2]["inputs"]["reset"] == (
        f"Calibration was reset when this step's prompt changed on {day}. "
        "The previous version had 20 marked results; this one has 0 of the 20 needed."
    )
    pipelines.write("one", enforced())
    assert steps_of(pipelines.run("one"))["look"].combined_trust == 0.5


@pytest.mark.parametrize(("evidence", "told"), [("all", True), ("production", False)])
def test_a_reset_is_explained_by_the_labels_that_count(
    pipelines: Pipelines, service: Any, evidence: str, told: bool
) -> None:
    service(calibration={"evidence": evidence})
    pipelines.write("one", enforced())
    mark_alike(steps_of(pipelines.run("one"))["look"], label=0.5, count=20, stage="testing")
    pipelines.write("one", enforced(prompt_template="Look harder into {{ summary }}."))
    reset = steps_of(pipelines.run("one"))["look"].trust_report["stages"][2]["inputs"]["reset"]
    assert (reset is not None) == told
