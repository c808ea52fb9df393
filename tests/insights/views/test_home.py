import json
import re
import uuid
from datetime import timedelta
from html import unescape
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from calibration import labels
from calibration.buckets import BucketKey, bucket_id, record_sample
from runs.ids import first_at
from runs.models import RunStatus
from tests import factories
from tests.factories import NOW

pytestmark = pytest.mark.django_db


def html(client: Client, address: str = "/ui/", status: int = 200) -> str:
    response = client.get(address)
    assert response.status_code == status
    return unescape(re.sub(r"\s+", " ", response.content.decode()))


def words(text: str) -> str:
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", text))


def test_before_the_first_run_it_says_what_to_do(viewer: Client, operator: Client) -> None:
    assert "Nothing has run yet" in html(viewer)
    assert "Make demo data" not in html(viewer)
    assert "Make demo data" in html(operator)


def test_the_root_leads_to_it(viewer: Client) -> None:
    assert viewer.get("/").headers["Location"] == "/ui/"


def test_it_answers_at_a_glance(viewer: Client) -> None:
    now = timezone.now()
    for status in ("completed", "completed", "completed", "failed"):
        factories.run(status=status, now=now)
    escalated = factories.run(status="escalated", now=now)
    factories.escalation(factories.step(escalated, "act", status="escalated"), reason="Only half of it is backed.")
    told = words(html(viewer))
    # 4 of 5 did not fail
    assert "80% of runs succeeded" in told
    assert "of 5 that succeeded or failed, in the last 7 days; 95% interval" in told
    assert "Steps to decide on 1 act of checkout-error-rate" in told
    assert "Questions to answer 0" in told
    assert "Only half of it is backed." in told
    assert "Answers to mark 0" in told
    assert "Too few marks to say" in told


def test_the_chart_has_a_bar_per_stretch_and_the_legend_its_sum(viewer: Client) -> None:
    for status in ("completed", "completed", "failed"):
        factories.run(status=status, now=timezone.now())
    text = viewer.get("/ui/?period=24h").content.decode()
    data = json.loads(re.search(r'id="outcomes-data"[^>]*>(.*?)</script>', text)[1])  # type: ignore[index]
    assert [one["status"] for one in data["series"]] == ["completed", "failed"]
    assert [sum(one["counts"]) for one in data["series"]] == [2, 1]
    assert {len(one["counts"]) for one in data["series"]} == {len(data["edges"]) - 1}
    assert "/ui/runs?status=completed&amp;period=24h" in text


def test_a_period_without_runs_says_so(viewer: Client) -> None:
    long_ago = timezone.now() - timedelta(days=90)
    factories.run(id=first_at(long_ago), now=long_ago)
    told = words(html(viewer))
    assert "Nothing ran in the last 7 days" in told
    assert "100% of runs succeeded" in words(html(viewer, "/ui/?period=all"))


@pytest.mark.parametrize("query", ["period=1w", "period=", "period=7d&period=24h"])
def test_a_period_that_is_not_offered_is_400(viewer: Client, query: str) -> None:
    assert "period" in html(viewer, f"/ui/?{query}", status=400)


@pytest.mark.parametrize("runs", [3, 40])
def test_the_number_of_queries_does_not_grow(viewer: Client, runs: int, django_assert_num_queries: Any) -> None:
    for n in range(runs):
        factories.run(status=RunStatus.values[n % 8], version=factories.version(f"p{n}"), now=timezone.now())
    # session, user, roles, newest runs, whether there is a demo, outcomes, three for what waits, three for
    # calibration: buckets, their sums, when each was last seen
    with django_assert_num_queries(12):
        viewer.get("/ui/")


def test_steps_that_are_not_as_right_as_they_say_are_named(viewer: Client, service: Any) -> None:
    service(calibration={"n_min": 2})
    factories.run(now=timezone.now())
    marker = factories.user("mia", role="marker")
    key = BucketKey("triage/<b>", "command:triage", "m1")
    for outcome in ("correct", "incorrect", "incorrect", "incorrect"):
        identity = uuid.uuid4()
        record_sample(
            id=identity, bucket_id=bucket_id(key), group=uuid.uuid4(), stage="production", confidence=0.92,
            observed_at=timezone.now(), check_failed=False,
        )  # fmt: skip
        labels.mark_sample(sample_id=identity, by=marker, outcome=outcome, was_blind=None, via="api", now=NOW)
    text = viewer.get("/ui/").content.decode()
    # 1 of 4 was right where 92 was claimed
    assert "Runs scoring ~92% here are only 25% correct" in words(text)
    assert "triage/&lt;b&gt;" in text
    assert "/ui/insights/steps/triage/" in text


def test_the_longest_wait_comes_first_and_what_was_escalated_elsewhere_waits_for_nobody(viewer: Client) -> None:
    factories.run(status="escalated", started_by="import of 7")
    for day in range(7):
        run = factories.run(status="escalated", now=factories.NOW - timedelta(days=day))
        factories.escalation(factories.step(run, f"day {day}", status="escalated"))
    text = html(viewer)
    told = words(text)
    assert "Steps to decide on 7 day 6 of" in told
    assert "day 2 of" in told
    assert "day 1 of" not in told
