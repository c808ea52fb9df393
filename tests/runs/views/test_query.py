"""Addresses that no page offers: answered in words, on both databases, never with a 500."""

import pytest
from django.test import Client

from tests import factories

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize(
    "address",
    [
        "/ui/runs?source=%00",
        "/ui/runs?q=%00",
        "/ui/runs/rows?ids=&top=%00",
        "/ui/pipelines/a%00b",
        "/ui/insights/steps/%00/versions",
        "/ui/insights/steps/x/versions?version=%00",
        "/ui/agents/a%00b/versions",
        "/ui/agents?q=%00",
        "/ui/runs/{run}/step?name=a%00",
    ],
)
def test_a_nul_is_refused(viewer: Client, address: str) -> None:
    response = viewer.get(address.format(run=factories.run().id))
    assert response.status_code == 400
    assert "That request could not be understood" in response.content.decode()


@pytest.mark.parametrize("number", ["-1", "x", "", "²", "1.5", "99999999999999999999"])
@pytest.mark.parametrize(
    "address",
    [
        "/ui/runs/{run}?from=",
        "/ui/runs/{run}/log?before=",
        "/ui/steps/{step}/trace?from=",
        "/ui/steps/{step}/trace?event=",
        "/ui/steps/{step}/text/prompt?from=",
    ],
)
def test_what_is_no_whole_number_is_refused(viewer: Client, address: str, number: str) -> None:
    run = factories.run()
    step = factories.step(run, agent_trace=[{"type": "text", "content": "x"}])
    assert viewer.get(address.format(run=run.id, step=step.id) + number).status_code == 400


@pytest.mark.parametrize(
    "address",
    ["/ui/runs/{run}?from={big}", "/ui/steps/{step}/text/prompt?from={big}", "/ui/steps/{step}/trace?event={big}"],
)
def test_a_place_past_the_end_is_not_found(viewer: Client, address: str) -> None:
    run = factories.run()
    step = factories.step(run, agent_trace=[])
    assert viewer.get(address.format(run=run.id, step=step.id, big=10**18 - 1)).status_code == 404


def test_a_log_before_an_event_that_is_not_there_is_the_newest_lines(viewer: Client) -> None:
    run = factories.run()
    factories.event(run, "The only line.")
    assert "The only line." in viewer.get(f"/ui/runs/{run.id}/log?before={10**18 - 1}").content.decode()
