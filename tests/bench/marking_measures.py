"""What a marker waits for: a step's page, and one key press from a mark to the next step's page."""

from collections.abc import Callable, Sequence
from typing import Any

from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from tests.bench.records import Measure


def measures() -> Sequence[Measure]:
    client = Client(SERVER_NAME="127.0.0.1")
    client.force_login(User.objects.get(username="marker"))
    first = str(client.post(reverse("ui-marking-begin")).url)
    return [
        Measure("a step in focus", None, lambda _: _opened(client, first), times=40),
        *(Measure(f"a key press, {order}", None, _pressing(client, order), times=40) for order in ("oldest", "useful")),
    ]


def _opened(client: Client, address: str) -> Any:
    answer = client.get(address)
    assert answer.status_code == 200, answer.content
    return answer


def _pressing(client: Client, order: str) -> Callable[[int], None]:
    """Mark the step that is open, and open the one that follows."""
    at = [str(client.post(f"{reverse('ui-marking-begin')}?order={order}").url)]

    def press(_number: int) -> None:
        path, _, query = at[-1].partition("?")
        answer = client.post(f"{path}/mark?{query}", {"outcome": "correct", "blind": "1"})
        at.append(str(answer["Location"]))
        _opened(client, at[-1])

    return press
