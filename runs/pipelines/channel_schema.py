"""What the ``config`` of each channel of ``notifications`` may hold. Texts may be templates."""

from typing import Annotated, Literal

from pydantic import Field

from runs.pipelines.strict import Headers, Json, Method, Seconds, Strict, Text, Url


class LogChannel(Strict):
    level: Literal["info", "warning", "error"] = "info"


class WebhookChannel(Strict):
    """``payload`` takes the place of the body that is sent without one."""

    url: Url
    method: Method = "POST"
    headers: Headers = {}
    payload: Json = None
    timeout_seconds: Seconds = 30


class ChatChannel(Strict):
    """Slack and Microsoft Teams: the address of an incoming webhook says who reads it."""

    url: Url
    timeout_seconds: Seconds = 30


class TelegramChannel(ChatChannel):
    """``url`` is the ``sendMessage`` method of a bot."""

    chat_id: Text | int


class EmailChannel(Strict):
    to: Text | Annotated[list[Text], Field(min_length=1, max_length=50)]
    subject: Text | None = None


CHANNELS: dict[str, type[Strict]] = {
    "log": LogChannel,
    "webhook": WebhookChannel,
    "email": EmailChannel,
    "slack": ChatChannel,
    "telegram": TelegramChannel,
    "msteams": ChatChannel,
}
