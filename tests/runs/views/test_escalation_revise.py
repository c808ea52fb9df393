"""Revising an answer in a form or as JSON: checked beside the field, shown as a difference, then recorded."""

import json
import re
from typing import Any

import pytest
from django.test import Client

from runs.models import Decision, Escalation, Run
from tests import factories
from tests.pipelines import Pipelines, step

pytestmark = pytest.mark.django_db(transaction=True)

ANSWER = {"confidence": 0.5, "summary": "the disk", "next_step_context": "", "amount": 40, "urgent": True}


@pytest.fixture
def paused(pipelines: Pipelines) -> Escalation:
    pipelines.write("p", step("act", says=ANSWER), step("refund"))
    return Escalation.objects.get(run=pipelines.run("p"))


def send(client: Client, escalation: Escalation, do: str = "check", **changed: Any) -> Any:
    """The form of fields with the values of ``changed``, and what else it is sent with."""
    extra = {name: changed.pop(name) for name in ("checked", "reason", "tier") if name in changed}
    values = {"summary": "the disk", "next_step_context": "", "amount": "40", "urgent": "true", **changed}
    form = {"as": "fields", "field": list(values), "value": list(values.values()), "do": do, "tier": 0, **extra}
    return client.post(f"/ui/escalations/{escalation.id}/revise", form)


def as_json(client: Client, escalation: Escalation, text: str, do: str = "check", **extra: Any) -> Any:
    form = {"as": "json", "json": text, "do": do, "tier": 0, **extra}
    return client.post(f"/ui/escalations/{escalation.id}/revise", form)


def checked(response: Any) -> str:
    found = re.search(r'name="checked" value="([0-9a-f]{64})"', response.content.decode())
    assert found
    return found.group(1)


def test_the_difference_is_shown_first_and_recorded_then(operator: Client, paused: Escalation) -> None:
    shown = send(operator, paused, summary="the network", amount="35")
    html = shown.content.decode()
    assert shown.status_code == 200
    assert "What you change" in html
    for before, after in (("the disk", "the network"), ("40", "35")):
        assert re.search(rf'class="value was"[^>]*>{before}<.*?class="value is"[^>]*>{after}<', html, re.S)
    assert not Decision.objects.exists()

    done = send(
        operator, paused, "record", summary="the network", amount="35", checked=checked(shown), reason="saw the router"
    )
    assert done.url == f"/ui/escalations/{paused.id}"
    decision = Decision.objects.get()
    assert (decision.kind, decision.by, decision.reason) == ("revise", "olga", "saw the router")
    assert decision.changes == {"summary": ["the disk", "the network"], "amount": [40, 35]}
    paused.refresh_from_db()
    revised = {**ANSWER, "summary": "the network", "amount": 35}
    assert (paused.state, paused.step.parsed_output, paused.step.revised_output) == ("revised", ANSWER, revised)


def test_what_was_changed_since_the_check_is_shown_again(operator: Client, paused: Escalation) -> None:
    shown = send(operator, paused, summary="the network")
    again = send(operator, paused, "record", summary="the router", checked=checked(shown), reason="r")
    assert again.status_code == 200
    assert "the router" in again.content.decode()
    assert not Decision.objects.exists()


def test_a_revision_needs_a_reason(operator: Client, paused: Escalation) -> None:
    shown = send(operator, paused, summary="x")
    refused = send(operator, paused, "record", summary="x", checked=checked(shown), reason="  ")
    assert refused.status_code == 400
    assert "A reason is needed." in refused.content.decode()


@pytest.mark.parametrize(
    ("changed", "problem"),
    [
        ({"amount": "forty"}, "This is not JSON: Expecting value in line 1, column 1."),
        ({"amount": "NaN"}, "NaN is no number in JSON."),
        ({"amount": '{"a": 1, "a": 2}'}, "“a” is stated twice in one object."),
        ({"amount": "[" * 100_000}, "This is nested too deeply."),
        ({}, "it is the same as the answer; approve that instead"),
    ],
)
def test_a_bad_value_is_named_beside_its_field(
    operator: Client, paused: Escalation, changed: dict[str, str], problem: str
) -> None:
    refused = send(operator, paused, **changed)
    html = refused.content.decode()
    assert refused.status_code == 400
    assert problem in html
    assert html.count('aria-invalid="true"') == bool(changed)
    assert not Decision.objects.exists()


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"summary": 3}, "summary: expected text (it may be empty), got 3"),
        ({"confidence": 1.5}, "confidence: expected a number from 0 to 1, got 1.5"),
        ({"proceed": "no"}, "proceed: expected true or false"),
        ({"artifacts": {"a": 1}}, "artifacts."),
    ],
)
def test_json_is_held_to_the_contract(
    operator: Client, paused: Escalation, change: dict[str, Any], problem: str
) -> None:
    refused = as_json(operator, paused, json.dumps({**ANSWER, **change}))
    assert refused.status_code == 400
    assert problem in refused.content.decode()


def test_several_problems_are_named_at_once(operator: Client, paused: Escalation) -> None:
    html = as_json(operator, paused, json.dumps({"summary": 3, "proceed": 1})).content.decode()
    for field in ("summary: expected", "next_step_context: expected", "proceed: expected"):
        assert field in html


@pytest.mark.parametrize("text", ["", "[1]", "{", '{"summary": NaN}', '"x"', "[" * 100_000])
def test_what_is_no_object_is_refused_and_kept_in_the_field(operator: Client, paused: Escalation, text: str) -> None:
    refused = as_json(operator, paused, text)
    assert refused.status_code == 400
    assert 'name="json"' in refused.content.decode()


def test_json_may_add_and_take_away_fields(operator: Client, paused: Escalation) -> None:
    text = json.dumps({"confidence": 0.5, "summary": "the disk", "next_step_context": "", "host": "db1"})
    shown = as_json(operator, paused, text)
    as_json(operator, paused, text, "record", checked=checked(shown), reason="r")
    assert Decision.objects.get().changes == {"amount": [40, None], "urgent": [True, None], "host": [None, "db1"]}


def test_line_breaks_of_the_browser_are_no_change(operator: Client, pipelines: Pipelines) -> None:
    pipelines.write("q", step("act", says={**ANSWER, "summary": "one\ntwo"}))
    escalation = Escalation.objects.get(run=pipelines.run("q"))
    refused = send(operator, escalation, summary="one\r\ntwo")
    assert "the same as the answer" in refused.content.decode()


@pytest.mark.parametrize("names", [["summary"], ["summary", "next_step_context", "amount", "urgent", "other"], []])
def test_a_form_of_other_fields_is_refused(operator: Client, paused: Escalation, names: list[str]) -> None:
    form = {"as": "fields", "field": names, "value": ["x"] * len(names), "do": "check", "tier": 0}
    assert operator.post(f"/ui/escalations/{paused.id}/revise", form).status_code == 400
    uneven = {**form, "value": ["x"] * (len(names) + 1)}
    assert operator.post(f"/ui/escalations/{paused.id}/revise", uneven).status_code == 400


def test_who_comes_too_late_is_told(operator: Client, paused: Escalation) -> None:
    shown = send(operator, paused, summary="x")
    operator.post(f"/ui/escalations/{paused.id}/decide", {"decision": "approve", "reason": "r", "tier": 0})
    late = send(operator, paused, "record", summary="x", checked=checked(shown), reason="r")
    assert late.status_code == 302
    assert "cannot be revised any more" in operator.get(late.url).content.decode()
    assert Decision.objects.get().kind == "approve"


def test_who_has_not_seen_that_it_was_handed_on_does_not_revise(operator: Client, paused: Escalation) -> None:
    shown = send(operator, paused, summary="x")
    operator.post(
        f"/ui/escalations/{paused.id}/decide", {"decision": "escalate", "reason": "r", "to": "leads", "tier": 0}
    )
    late = send(operator, paused, "record", summary="x", checked=checked(shown), reason="r")
    assert "handed on to leads" in operator.get(late.url).content.decode()
    assert list(Decision.objects.values_list("kind", flat=True)) == ["escalate"]


def of_answer(answer: Any) -> Escalation:
    run: Run = factories.run(status="escalated")
    return factories.escalation(factories.step(run, status="escalated", parsed_output=answer))


def test_a_very_long_answer_is_left_to_the_api(operator: Client) -> None:
    html = operator.get(f"/ui/escalations/{of_answer({'summary': 'x' * 200_001}).id}/revise").content.decode()
    assert "too long for a form" in html


def test_many_fields_come_as_json(operator: Client) -> None:
    one = of_answer({f"field {n}": n for n in range(61)})
    assert 'name="json"' in operator.get(f"/ui/escalations/{one.id}/revise").content.decode()
    assert operator.get(f"/ui/escalations/{one.id}/revise?as=fields").status_code == 400


def test_a_step_without_an_answer_begins_with_the_contract(operator: Client) -> None:
    html = operator.get(f"/ui/escalations/{of_answer(None).id}/revise").content.decode()
    assert 'value="summary"' in html


def test_a_group_has_nothing_to_revise(operator: Client) -> None:
    run = factories.run(status="escalated")
    one = factories.escalation(factories.step(run, status="escalated", executor="parallel", parsed_output=None))
    assert operator.get(f"/ui/escalations/{one.id}/revise").status_code == 400
    assert "Revise the answer" not in operator.get(f"/ui/escalations/{one.id}").content.decode()


def test_the_run_page_shows_the_revision_beside_the_original(operator: Client, paused: Escalation) -> None:
    shown = send(operator, paused, summary="the network")
    send(operator, paused, "record", summary="the network", checked=checked(shown), reason="r")
    html = operator.get(f"/ui/runs/{paused.run_id}").content.decode()
    assert re.search(r'class="value was"[^>]*>the disk<.*?class="value is"[^>]*>the network<', html, re.S)
    whole = operator.get(f"/ui/steps/{paused.step_id}/text/revised_output").content.decode()
    assert "the network" in whole
