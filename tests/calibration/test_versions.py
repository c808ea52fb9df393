from dataclasses import dataclass
from datetime import timedelta

import pytest
from django.db import transaction

from calibration import versions
from calibration.models import AgentVersion, PromptVersion
from calibration.versions import see_agent, see_prompt
from tests.calibration.factories import NOW


@dataclass
class Definition:
    version: str
    soul: str = "be careful"
    config: str = "model: m1"


@pytest.fixture(autouse=True)
def _forgetful():
    versions.forget_seen()
    yield
    versions.forget_seen()


def prompt(now=NOW, **given):
    see_prompt(
        **{"step": "triage", "prompt_hash": "a7fad9000000", "template": "Look at {{ summary }}", "now": now} | given
    )


def agent(fetch, now=NOW, **given):
    see_agent(**{"agent": "gateway:sre", "version": "v1", "fetch": fetch, "now": now} | given)


@pytest.mark.django_db
def test_a_prompt_seen_again_is_the_same_version_seen_later():
    prompt()
    prompt(now=NOW + timedelta(days=3))
    kept = PromptVersion.objects.get()
    assert (kept.template, kept.first_seen, kept.last_seen) == ("Look at {{ summary }}", NOW, NOW + timedelta(days=3))


@pytest.mark.django_db
def test_a_clock_behind_never_moves_last_seen_back():
    prompt()
    prompt(now=NOW - timedelta(days=3))
    assert PromptVersion.objects.get().last_seen == NOW


@pytest.mark.django_db
def test_two_steps_with_the_same_template_have_a_history_each():
    prompt()
    prompt(step="assess")
    assert PromptVersion.objects.count() == 2


@pytest.mark.django_db
def test_a_step_without_a_template_has_no_version():
    prompt(prompt_hash="", template="")
    assert not PromptVersion.objects.exists()


@pytest.mark.django_db(transaction=True)
def test_a_busy_step_is_written_once_a_minute(django_assert_num_queries):
    prompt()
    with django_assert_num_queries(0):
        prompt(now=NOW + timedelta(seconds=1))


@pytest.mark.django_db(transaction=True)
def test_what_was_rolled_back_is_written_the_next_time():
    with transaction.atomic():
        prompt()
        transaction.set_rollback(True)
    prompt()
    assert PromptVersion.objects.count() == 1


@pytest.mark.django_db
def test_the_text_of_an_unseen_agent_version_is_kept():
    agent(lambda: Definition("v1"))
    kept = AgentVersion.objects.get()
    assert (kept.agent, kept.version, kept.soul, kept.config, kept.note) == (
        "gateway:sre",
        "v1",
        "be careful",
        "model: m1",
        "",
    )


@pytest.mark.django_db
def test_text_that_is_another_versions_by_now_is_not_kept():
    agent(lambda: Definition("v2"))
    kept = AgentVersion.objects.get()
    assert (kept.version, kept.soul, kept.config) == ("v1", "", "")
    assert kept.note == "When its text was asked for, the agent was already at version v2."


@pytest.mark.django_db
def test_why_there_is_no_text_is_kept():
    agent(lambda: "The gateway did not answer.")
    assert AgentVersion.objects.get().note == "The gateway did not answer."


@pytest.mark.django_db
def test_a_version_seen_before_is_not_fetched_again():
    agent(lambda: Definition("v1"))
    versions.forget_seen()

    def fetch():
        raise AssertionError("asked again")

    agent(fetch, now=NOW + timedelta(hours=1))
    assert AgentVersion.objects.get().last_seen == NOW + timedelta(hours=1)


@pytest.mark.django_db
def test_an_agent_that_reports_no_version_has_none():
    agent(lambda: Definition(""), version="")
    assert not AgentVersion.objects.exists()


@pytest.mark.django_db
def test_characters_no_database_would_take_are_kept_visibly():
    agent(lambda: Definition("v\x001", soul="a\x00", config="b\ud800"), version="v\x001")
    kept = AgentVersion.objects.get()
    assert (kept.version, kept.soul, kept.config) == ("v\\u00001", "a\\u0000", "b\\ud800")
