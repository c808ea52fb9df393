from collections.abc import Callable
from typing import Any

import pytest

from tests import factories
from tests.services import Process

Start = Callable[..., Process]


@pytest.fixture
def console(page: Any) -> list[str]:
    """What the browser complained about: script errors, and whatever the content policy blocked."""
    told: list[str] = []
    page.on("console", lambda message: told.append(message.text) if message.type in {"error", "warning"} else None)
    return told


@pytest.fixture
def site(server: Start, page: Any, console: list[str]) -> str:
    """The address of the web process, with an operator signed in through the form."""
    process = server()
    factories.user("olga", role="operator")
    page.goto(f"{process.url}/ui/runs")
    page.fill("#id_username", "olga")
    page.fill("#id_password", "secret")
    page.click("text=Sign in")
    page.wait_for_url("**/ui/runs")
    return process.url
