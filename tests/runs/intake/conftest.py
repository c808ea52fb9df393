import pytest

from runs.access import tokens
from runs.intake import backlog


@pytest.fixture(autouse=True)
def fresh_memory():
    """What a process remembers for a second or two must not reach the next test."""
    tokens.forget()
    backlog.forget()


@pytest.fixture(autouse=True)
def no_broker(published):
    """Nothing that is published here leaves the process."""
