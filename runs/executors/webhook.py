"""The ``webhook`` executor: the rendered prompt as the body of an HTTP request. A side effect, not an agent."""

from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings

from runs import outbound
from runs.executors.base import AgentDefinition, Call, Deadline, ExecutorError, Reply, Stop, TraceEvent

DEFAULT_SECONDS = 30.0
_WORTH_RETRYING = {408, 423, 425, 429}
_METHODS = {"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"}


class Webhook:
    kind = "webhook"
    is_agent = False
    on_interrupted = "escalate"
    default_timeout = DEFAULT_SECONDS

    def agent_name(self, config: Mapping[str, Any]) -> str:
        """The host it calls."""
        return agent_name(config)

    def call(self, call: Call, stop: Stop, on_event: Callable[[TraceEvent], None]) -> Reply:
        config = call.config
        response = outbound.request(
            method_of(config),
            url_of(config),
            headers=_headers(config, call.idempotency_key),
            content=call.prompt,
            deadline=Deadline(call.timeout),
            stop=stop,
            max_bytes=settings.SERVICE.limits.answer_bytes,
        )
        if not 200 <= response.status_code < 300:
            raise refused(config, response)
        data = {
            "status_code": response.status_code,
            "content_type": response.headers.get("content-type", ""),
            "body": response.text,
        }
        return Reply(text=response.text, data=data)

    def describe(self, config: Mapping[str, Any]) -> AgentDefinition | None:
        return None


def agent_name(config: Mapping[str, Any]) -> str:
    """The host of the configured url; "" of none."""
    try:
        return urlsplit(str(config.get("url") or "")).hostname or ""
    except ValueError:
        return ""


def method_of(config: Mapping[str, Any]) -> str:
    """Raises ExecutorError for a method that is none."""
    method = str(config.get("method") or "POST").upper()
    if method not in _METHODS:
        message = f"executor_config.method: expected one of {', '.join(sorted(_METHODS))}, got {method!r}"
        raise ExecutorError(message, retryable=False)
    return method


def url_of(config: Mapping[str, Any]) -> str:
    """Raises ExecutorError where there is none."""
    url = config.get("url")
    if not isinstance(url, str) or not url:
        raise ExecutorError("executor_config.url: expected an http or https url", retryable=False)
    return url


def _headers(config: Mapping[str, Any], idempotency_key: str) -> dict[str, str]:
    """The configured headers over the ones every call carries."""
    given = config.get("headers") or {}
    if not isinstance(given, Mapping):
        raise ExecutorError("executor_config.headers: expected names with texts", retryable=False)
    headers = {"content-type": str(config.get("content_type") or "application/json")}
    if idempotency_key:
        headers["idempotency-key"] = idempotency_key
    return headers | {str(name).lower(): str(value) for name, value in given.items()}


def refused(config: Mapping[str, Any], response: outbound.Response) -> ExecutorError:
    """What an answer that is no success means: which it was, and whether asking again can help."""
    status = response.status_code
    message = f"{urlsplit(url_of(config)).hostname} answered HTTP {status}"
    if 300 <= status < 400:
        message += f" (to {response.headers.get('location', 'nowhere')}); redirects are not followed"
    return ExecutorError(message, retryable=status >= 500 or status in _WORTH_RETRYING, raw=response.text)
