from collections.abc import Callable, Iterator

import pytest
from django.conf import LazySettings

from runs.executors import gateway as executor
from tests.fakes.gateway import FakeGateway, Script, running


@pytest.fixture
def gateway(settings: LazySettings, service: Callable[..., None]) -> Iterator[FakeGateway]:
    """A running gateway that the service is configured to use, with the token "sesame"; add to ``agents`` at will."""
    with running(FakeGateway({"triage": Script()}, token="sesame")) as gateway:
        configured = settings.SERVICE.executors.gateway.model_copy(
            update={"url": gateway.url, "rest_url": gateway.rest_url, "token": "sesame"}
        )
        service(executors={"gateway": configured})
        yield gateway


@pytest.fixture(autouse=True)
def _no_kept_connections() -> Iterator[None]:
    executor._pool.close()
    yield
    executor._pool.close()
