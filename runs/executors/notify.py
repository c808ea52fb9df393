"""The ``notify`` executor: a signed webhook as a step. In testing it says what it would have sent, and does not."""

import json
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any

from django.conf import settings

from runs import outbound, signing
from runs.executors.base import AgentDefinition, Call, Deadline, Reply, Stop, TraceEvent
from runs.executors.webhook import DEFAULT_SECONDS, agent_name, method_of, refused, url_of
from runs.redaction import redact

_FACTS = ("pipeline", "run_id", "step", "stage")


class Notify:
    kind = "notify"
    is_agent = False
    on_interrupted = "escalate"
    default_timeout = DEFAULT_SECONDS

    def agent_name(self, config: Mapping[str, Any]) -> str:
        """The host it calls."""
        return agent_name(config)

    def call(self, call: Call, stop: Stop, on_event: Callable[[TraceEvent], None]) -> Reply:
        method, url, body = method_of(call.config), url_of(call.config), _body(call)
        if call.context.get("stage") == "testing":
            return _muted(method, self.agent_name(call.config), body)
        content = b"" if method in {"GET", "HEAD"} else body.encode("utf-8", "backslashreplace")
        response = outbound.request(
            method,
            url,
            headers=_headers(call, content),
            content=content,
            deadline=Deadline(call.timeout),
            stop=stop,
            max_bytes=settings.SERVICE.limits.answer_bytes,
        )
        if not 200 <= response.status_code < 300:
            raise refused(call.config, response)
        data = {"status_code": response.status_code, "body": response.text, "webhook_id": _id(call)}
        return Reply(text=response.text, data=data)

    def describe(self, config: Mapping[str, Any]) -> AgentDefinition | None:
        return None


def _muted(method: str, host: str, body: str) -> Reply:
    """What would have been sent. The address itself may hold a secret; its host tells enough."""
    would = redact(body)
    text = f"Testing: nothing was sent. It would have been: {method} to {host}\n{would}"
    return Reply(text=text, data={"muted": True, "method": method, "to": host, "would_have_sent": would})


def _body(call: Call) -> str:
    facts = {name: call.context.get(name, "") for name in _FACTS}
    return json.dumps(call.config.get("payload") or {"type": "run.notified", "data": facts}, ensure_ascii=False)


def _headers(call: Call, content: bytes) -> dict[str, str]:
    """The configured ones under those that say who sends this, and that it is the same message on every try."""
    secrets, at = settings.SERVICE.outbound.signing_secrets, int(datetime.now(UTC).timestamp())
    given = {str(name).lower(): str(value) for name, value in (call.config.get("headers") or {}).items()}
    signed = signing.headers(_id(call), content, secrets=secrets, at=at)
    return {"content-type": "application/json", "idempotency-key": call.idempotency_key, **given, **signed}


def _id(call: Call) -> str:
    return f"msg_{call.idempotency_key}"
