import pytest
from django.test import Client

from tests import factories


@pytest.fixture
def viewer(db: None) -> Client:
    client = Client()
    client.force_login(factories.user(role="viewer"))
    return client


@pytest.fixture
def operator(db: None) -> Client:
    client = Client()
    client.force_login(factories.user("olga", role="operator"))
    return client
