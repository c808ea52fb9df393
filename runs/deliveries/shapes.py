"""The body of a message as each receiver wants it. What agents and payloads say is text there, never markup."""

import json
from collections.abc import Callable, Mapping
from typing import Any

from runs.deliveries import wording
from runs.deliveries.facts import Facts
from runs.models import DeliveryEvent

SLACK_CHARS = 10_000
TELEGRAM_CHARS = 4_096
TEAMS_CHARS = 6_000  # a message may have 28 kB, and a character of JSON up to four bytes

_TYPES = {
    DeliveryEvent.ESCALATE: "run.escalated",
    DeliveryEvent.ABORT: "run.aborted",
    DeliveryEvent.STOP: "run.stopped",
    DeliveryEvent.NOTIFY: "run.notified",
    DeliveryEvent.FAILURE: "step.failed",
}


def body(channel: str, config: Mapping[str, Any], facts: Facts, text: str) -> str:
    """What is sent, as it goes over the line."""
    if channel in {"log", "email"}:
        return text
    if channel == "webhook":
        given = config.get("payload")
        return _json(_standard(facts, text) if given is None else given)
    return _json(_CHATS[channel](config, facts, text))


def _standard(facts: Facts, text: str) -> dict[str, Any]:
    delivery, run = facts.delivery, facts.run
    return {
        "type": _TYPES[DeliveryEvent(delivery.event)],
        "timestamp": delivery.created_at.isoformat(),
        "data": {
            "pipeline": run.pipeline_name,
            "stage": run.stage,
            "team": run.team,
            "run_id": str(run.id),
            "run_url": facts.url,
            "summary": run.summary,
            "step": delivery.step_name,
            "reason": delivery.reason,
            "trust": facts.number("combined_trust"),
            "threshold": facts.number("confidence_threshold"),
            "text": text,
        },
    }


def _slack(config: Mapping[str, Any], facts: Facts, text: str) -> dict[str, Any]:
    # Escaped, an agent's "<!channel>" calls nobody and its "<https://a|b>" is no link with another face.
    escaped = _cut(text, SLACK_CHARS).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return {"text": escaped}


def _telegram(config: Mapping[str, Any], facts: Facts, text: str) -> dict[str, Any]:
    # Without a parse_mode the text is plain.
    return {
        "chat_id": config["chat_id"],
        "text": _cut(text, TELEGRAM_CHARS),
        "link_preview_options": {"is_disabled": True},
    }


def _teams(config: Mapping[str, Any], facts: Facts, text: str) -> dict[str, Any]:
    # A rich text block knows no Markdown, unlike a plain text block.
    lines = _cut(text, TEAMS_CHARS).split("\n")
    blocks = [{"type": "RichTextBlock", "inlines": [{"type": "TextRun", "text": line or " "}]} for line in lines]
    card = {
        "$schema": "http://adaptivecards.io/schemas/adaptive-card.json",
        "type": "AdaptiveCard",
        "version": "1.4",
        "body": blocks,
        "actions": [{"type": "Action.OpenUrl", "title": "Open the run", "url": facts.url}],
    }
    attachment = {"contentType": "application/vnd.microsoft.card.adaptive", "contentUrl": None, "content": card}
    return {"type": "message", "attachments": [attachment]}


_CHATS: dict[str, Callable[[Mapping[str, Any], Facts, str], dict[str, Any]]] = {
    "slack": _slack,
    "telegram": _telegram,
    "msteams": _teams,
}


def subject(config: Mapping[str, Any], facts: Facts) -> str:
    """The subject of an e-mail: one line."""
    return " ".join(str(config.get("subject") or wording.head(facts)).split())[:200]


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}…"
