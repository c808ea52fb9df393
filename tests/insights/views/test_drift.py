"""The card on an agent's page that holds what it claims against what people kept."""

import pytest

from calibration import labels
from tests.calibration.factories import NOW, key, person, record

pytestmark = pytest.mark.django_db
PAGE = "/ui/agents/command:triage"


def judged(*outcomes: str) -> None:
    ann = person()
    for outcome in outcomes:
        sample = record(key(), 0.95, claimed=0.95)
        labels.mark_sample(sample_id=sample, by=ann, outcome=outcome, via="api", now=NOW)


def test_an_agent_that_claims_too_much_is_told_so(viewer):
    # 8 of 10 kept is 80 %: 15 points below the 95 % it claims, so 75 % would become 90 %.
    judged(*["correct"] * 6, *["partial"] * 2, *["incorrect"] * 2)

    html = viewer.get(PAGE).content.decode()

    assert "It claims 15 points more than people keep: a threshold of 75% would become 90%" in html
    assert "8 of 10 kept" in html
    assert "10 last judged answers" not in html
    assert "The last 10 judged answers" in html


def test_noise_and_too_little_are_told_apart(viewer):
    judged(*["correct"] * 9, "incorrect")  # 90 % against 95 %
    assert "the difference is noise" in viewer.get(PAGE).content.decode()


def test_few_answers_say_nothing(viewer):
    judged("incorrect", "incorrect")
    html = viewer.get(PAGE).content.decode()
    assert "people have judged 2 answers of this agent, and it takes 5" in html
