from collections.abc import Iterator

import pytest
from django.contrib.auth.models import User

from calibration import buckets
from tests import factories


@pytest.fixture(autouse=True)
def _forget_bucket_ids() -> Iterator[None]:
    yield
    buckets.forget_ids()


@pytest.fixture
def anna(db: None) -> User:
    return factories.user("anna", role="marker")


@pytest.fixture
def ben(db: None) -> User:
    return factories.user("ben", role="marker")
