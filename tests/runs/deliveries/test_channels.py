"""What each channel sends, and which ends of steps and runs are told at all."""

import json

import pytest
from django.core import mail

from runs.models import Delivery
from tests.fakes.http import FakeHttp, response
from tests.pipelines import step, steps_of
from tests.runs.deliveries.outgoing import deliver
from tests.runs.deliveries.test_webhooks import headers_of

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.allow_hosts(["127.0.0.1"])]


def told(pipelines, channel, config, *, template=None, **given):
    """The messages of a run that escalated, sent."""
    wanted = {"channel": channel, "config": config, **({"template": template} if template else {})}
    pipelines.write("p", step("look", says=0.5), stage="production", notifications={"escalate": wanted}, **given)
    return deliver(pipelines.run("p"))


def posted(pipelines, channel, **config):
    with FakeHttp([response()]).running() as receiver:
        [delivery] = told(pipelines, channel, {"url": receiver.url, **config}, template="<!channel> & {{ summary }}")
    assert delivery.state == "delivered"
    return json.loads(headers_of(receiver.requests[0])[1])


def test_slack_gets_text_that_calls_nobody(pipelines):
    assert posted(pipelines, "slack") == {"text": "&lt;!channel&gt; &amp; disk full"}


def test_telegram_gets_plain_text_for_its_chat(pipelines):
    sent = posted(pipelines, "telegram", chat_id=-100)
    assert (sent["chat_id"], sent["text"]) == (-100, "<!channel> & disk full")
    assert "parse_mode" not in sent  # with one, what an agent says would be markup


def test_teams_gets_a_card_without_markdown(pipelines):
    sent = posted(pipelines, "msteams")
    [attachment] = sent["attachments"]
    card = attachment["content"]
    assert (sent["type"], attachment["contentType"]) == ("message", "application/vnd.microsoft.card.adaptive")
    assert card["body"] == [
        {"type": "RichTextBlock", "inlines": [{"type": "TextRun", "text": "<!channel> & disk full"}]}
    ]
    assert card["actions"][0]["url"].endswith(f"/ui/runs/{Delivery.objects.get().run_id}")


def test_email_goes_to_everybody_named_and_is_known_again(pipelines):
    [delivery] = told(
        pipelines, "email", {"to": ["a@x.example", "b@x.example"], "subject": "{{ pipeline_name }} waits"}
    )

    [sent] = mail.outbox
    assert (delivery.state, sent.to, sent.subject) == ("delivered", ["a@x.example", "b@x.example"], "p waits")
    assert "p: look waits for a decision" in sent.body
    assert sent.extra_headers["Message-ID"].startswith(f"<{delivery.webhook_id}@")


def test_a_subject_cannot_bring_headers_of_its_own(pipelines):
    [delivery] = told(pipelines, "email", {"to": "a@x.example", "subject": "x\r\nBcc: everybody@x.example"})

    assert [one.recipients() for one in mail.outbox] in ([], [["a@x.example"]])
    assert delivery.state in {"delivered", "failed"}
    assert all("\n" not in one.subject for one in mail.outbox)


def test_the_log_is_a_channel(pipelines, caplog):
    with caplog.at_level("INFO", logger="runs.deliveries.preparing"):
        [delivery] = told(pipelines, "log", {"level": "warning"}, template="{{ summary }} it is")
    assert delivery.state == "delivered"
    assert ("WARNING", "disk full it is") in [(one.levelname, one.getMessage()) for one in caplog.records]
    line = delivery.run.events.get(message="disk full it is")
    assert (line.level, line.kind) == ("warning", "delivery.prepared")


def test_a_template_that_fails_is_noted_and_harms_no_run(pipelines):
    [delivery] = told(pipelines, "log", {}, template="{{ 1 / 0 }}")
    assert delivery.state == "failed"
    assert "division" in delivery.error
    assert delivery.run.status == "escalated"


def ended(pipelines, *steps, stage="production", **given):
    pipelines.write("p", *steps, stage=stage, **given)
    return pipelines.run("p")


TELL = {"channel": "log", "config": {}}


@pytest.mark.parametrize(("on_abort", "messages"), [("notify", 1), ("silent", 0)])
def test_an_abort_is_told_unless_the_step_is_silent(pipelines, on_abort, messages):
    low = step("look", says=0.5, on_low_confidence="abort", on_abort=on_abort)
    run = ended(pipelines, low, notifications={"abort": TELL})
    assert run.status == "aborted"
    assert len(deliver(run)) == messages


def test_a_failed_step_calls_its_webhook_once(pipelines):
    with FakeHttp([response()]).running() as receiver:
        webhook = {"url": receiver.url, "payload": {"what": "{{ summary }}"}}
        run = ended(
            pipelines, step("look", agent={"raw": "no answer"}, on_failure={"policy": "abort", "webhook": webhook})
        )
        [delivery] = deliver(run)
    assert (run.status, delivery.event, delivery.state) == ("failed", "failure", "delivered")
    assert json.loads(headers_of(receiver.requests[0])[1]) == {"what": "disk full"}


def notify(url):
    config = {"url": url, "payload": {"about": "{{ summary }}"}}
    return {"name": "tell", "executor": "notify", "executor_config": config}


def test_a_notify_step_sends_and_has_no_confidence(pipelines):
    with FakeHttp([response(b"thanks")]).running() as receiver:
        run = ended(pipelines, notify(receiver.url), notifications={"notify": TELL})
        [delivery] = deliver(run)
    headers, body = headers_of(receiver.requests[0])
    row = steps_of(run)["tell"]
    assert (run.status, row.status, row.primary_confidence, row.parsed_output["body"]) == (
        "completed", "completed", None, "thanks",
    )  # fmt: skip
    assert json.loads(body) == {"about": "disk full"}
    assert headers["webhook-id"] == row.parsed_output["webhook_id"]
    assert (delivery.event, delivery.state) == ("notify", "delivered")


def test_in_testing_a_notify_step_says_what_it_would_have_sent(pipelines):
    with FakeHttp([response()]).running() as receiver:
        run = ended(pipelines, notify(receiver.url), stage="testing", notifications={"notify": TELL})
        [delivery] = deliver(run)
    row = steps_of(run)["tell"]
    assert receiver.requests == []
    assert (row.status, row.parsed_output["muted"]) == ("completed", True)
    assert json.loads(row.parsed_output["would_have_sent"]) == {"about": "disk full"}
    assert delivery.state == "muted"
