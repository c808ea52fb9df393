"""Why a track record starts again, in the words a person reads."""

from datetime import UTC, datetime, timedelta

import pytest

from calibration import versions
from calibration.resets import explain_reset
from calibration.versions import see_agent, see_prompt
from tests.calibration.factories import key, record

JUL_3 = datetime(2026, 7, 3, 9, 0, tzinfo=UTC)
NOW = datetime(2026, 7, 10, 12, 0, tzinfo=UTC)
OLD, NEW = "a7fad9000000", "b00000000000"


@pytest.fixture(autouse=True)
def _forgetful():
    versions.forget_seen()
    yield
    versions.forget_seen()


def labelled(count, *, since, confidence=0.95, **parts):
    """``count`` samples labelled by a failed check, an hour apart, under the version ``parts`` name."""
    for number in range(count):
        record(key(**parts), confidence, observed_at=since + timedelta(hours=number), check_failed=True)


def sentence(n=4, now=NOW, evidence="all", **parts):
    reset = explain_reset(key(**parts), n=n, n_min=20, now=now, evidence=evidence)
    return reset.sentence() if reset else None


@pytest.mark.django_db
def test_the_sentence_of_the_documentation():
    labelled(47, since=JUL_3 - timedelta(days=20), prompt_hash=OLD)
    labelled(4, since=JUL_3, prompt_hash=NEW)
    assert sentence(prompt_hash=NEW) == (
        "Calibration was reset when this step's prompt changed on 3 Jul. "
        "The previous version had 47 marked results; this one has 4 of the 20 needed."
    )


@pytest.mark.django_db
def test_an_agent_that_changed():
    labelled(1, since=JUL_3 - timedelta(days=2), agent_version="v1")
    labelled(2, since=JUL_3, agent_version="v2")
    assert sentence(n=2, agent_version="v2") == (
        "Calibration was reset when this step's agent changed on 3 Jul. "
        "The previous version had 1 marked result; this one has 2 of the 20 needed."
    )


@pytest.mark.django_db
def test_both_changed():
    labelled(3, since=JUL_3 - timedelta(days=2), prompt_hash=OLD, agent_version="v1")
    labelled(2, since=JUL_3, prompt_hash=NEW, agent_version="v2")
    assert "step's prompt and agent changed on 3 Jul." in sentence(prompt_hash=NEW, agent_version="v2")


@pytest.mark.django_db
def test_the_very_first_run_after_an_edit_is_explained_though_it_has_no_sample_yet():
    labelled(47, since=JUL_3 - timedelta(days=20), prompt_hash=OLD)
    assert sentence(n=0, now=JUL_3, prompt_hash=NEW) == (
        "Calibration was reset when this step's prompt changed on 3 Jul. "
        "The previous version had 47 marked results; this one has 0 of the 20 needed."
    )


@pytest.mark.django_db
def test_the_date_is_when_the_registry_first_saw_the_new_prompt():
    labelled(5, since=JUL_3 - timedelta(days=20), prompt_hash=OLD)
    see_prompt(step="triage", prompt_hash=NEW, template="new", now=JUL_3)
    labelled(2, since=JUL_3 + timedelta(days=4), prompt_hash=NEW)
    assert "prompt changed on 3 Jul." in sentence(prompt_hash=NEW)


@pytest.mark.django_db
def test_when_both_changed_the_date_is_the_later_change():
    labelled(5, since=JUL_3 - timedelta(days=20), prompt_hash=OLD, agent_version="v1")
    see_prompt(step="triage", prompt_hash=NEW, template="new", now=JUL_3 - timedelta(days=2))
    see_agent(agent="command:triage", version="v2", fetch=lambda: "none", now=JUL_3)
    labelled(2, since=JUL_3 + timedelta(days=4), prompt_hash=NEW, agent_version="v2")
    assert "prompt and agent changed on 3 Jul." in sentence(prompt_hash=NEW, agent_version="v2")


@pytest.mark.django_db
def test_a_change_in_another_year_names_it():
    labelled(5, since=JUL_3 - timedelta(days=400), prompt_hash=OLD)
    labelled(2, since=JUL_3 - timedelta(days=365), prompt_hash=NEW)
    assert "prompt changed on 3 Jul 2025." in sentence(prompt_hash=NEW)


@pytest.mark.django_db
def test_reverting_a_prompt_rejoins_its_bucket_and_nothing_was_reset():
    labelled(47, since=JUL_3 - timedelta(days=20), prompt_hash=OLD)
    labelled(4, since=JUL_3, prompt_hash=NEW)
    record(key(prompt_hash=OLD), observed_at=JUL_3 + timedelta(days=1))
    assert sentence(n=3, prompt_hash=OLD) is None  # even at a confidence where the old version has few labels


@pytest.mark.django_db
def test_a_record_that_is_good_enough_needs_no_explanation():
    labelled(47, since=JUL_3 - timedelta(days=20), prompt_hash=OLD)
    labelled(1, since=JUL_3, prompt_hash=NEW)
    assert sentence(n=20, prompt_hash=NEW) is None
    assert sentence(n=19, prompt_hash=NEW) is not None


@pytest.mark.django_db
def test_a_step_that_never_had_labels_was_not_reset():
    record(key(prompt_hash=OLD), observed_at=JUL_3 - timedelta(days=3))
    record(key(prompt_hash=NEW), observed_at=JUL_3)
    assert sentence(prompt_hash=NEW) is None
    assert sentence(step="never-ran") is None


@pytest.mark.django_db
def test_a_version_without_labels_in_between_is_passed_over_and_not_called_the_previous_one():
    labelled(7, since=JUL_3 - timedelta(days=9), prompt_hash=OLD)
    record(key(prompt_hash="c00000000000"), observed_at=JUL_3 - timedelta(days=3))
    labelled(1, since=JUL_3, prompt_hash=NEW)
    assert sentence(n=1, prompt_hash=NEW) == (
        "Calibration was reset when this step's prompt changed on 3 Jul. "
        "The last version with any had 7 marked results; this one has 1 of the 20 needed."
    )


@pytest.mark.django_db
@pytest.mark.parametrize("part", ["step", "agent", "model", "provider"])
def test_another_step_agent_or_model_is_no_former_version(part):
    labelled(7, since=JUL_3 - timedelta(days=9), prompt_hash=OLD, **{part: "other"})
    labelled(1, since=JUL_3, prompt_hash=NEW)
    assert sentence(prompt_hash=NEW) is None


@pytest.mark.django_db
def test_replays_are_neither_a_former_version_nor_labels():
    record(key(prompt_hash=OLD), observed_at=JUL_3 - timedelta(days=9), check_failed=True, is_replay=True)
    labelled(1, since=JUL_3, prompt_hash=NEW)
    assert sentence(prompt_hash=NEW) is None


@pytest.mark.django_db
def test_a_prompt_that_was_only_replayed_before_was_not_in_use_before():
    record(key(prompt_hash=NEW), observed_at=JUL_3 - timedelta(days=20), is_replay=True)
    labelled(3, since=JUL_3 - timedelta(days=9), prompt_hash=OLD)
    labelled(1, since=JUL_3, prompt_hash=NEW)
    assert "prompt changed on 3 Jul. The previous version had 3 marked results" in sentence(prompt_hash=NEW)


@pytest.mark.django_db
def test_labels_are_counted_as_the_gate_counts_evidence():
    record(key(prompt_hash=OLD), observed_at=JUL_3 - timedelta(days=9), check_failed=True, stage="testing")
    labelled(1, since=JUL_3, prompt_hash=NEW)
    assert sentence(prompt_hash=NEW, evidence="production") is None
    assert "1 marked result;" in sentence(prompt_hash=NEW)


@pytest.mark.django_db
def test_a_step_with_one_version_costs_one_query(django_assert_num_queries):
    labelled(2, since=JUL_3, prompt_hash=OLD)
    with django_assert_num_queries(1):
        assert sentence(n=2, prompt_hash=OLD) is None


@pytest.mark.django_db
def test_the_queries_do_not_grow_with_the_number_of_versions(django_assert_num_queries):
    for number in range(8):
        labelled(2, since=JUL_3 - timedelta(days=30 - number), prompt_hash=f"{number:012x}")
    with django_assert_num_queries(4):  # are there others, all versions, labels of the last, when it was seen
        assert sentence(n=0, prompt_hash=NEW) is not None
