"""Telling the workers: a broker that takes nothing costs one wait, not one for each message."""

import uuid
from collections.abc import Callable

import pytest
from celery import current_app
from kombu.exceptions import OperationalError

from runs.engine import publish as publishing
from runs.engine.publish import publish
from runs.engine.work import Work

WORKS = [Work("run", uuid.UUID(int=number)) for number in range(3)]


@pytest.fixture(autouse=True)
def asked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The ids a broker was asked to take; it has just frozen, and takes none."""
    ids: list[str] = []

    def refuse(_task: str, arguments: tuple[str, ...], **_options: object) -> None:
        ids.append(arguments[-1])
        raise OperationalError("frozen")

    monkeypatch.setattr(publishing, "_left_alone_until", float("-inf"))
    monkeypatch.setattr(current_app, "send_task", refuse)
    return ids


@pytest.fixture(autouse=True)
def _no_transaction(monkeypatch: pytest.MonkeyPatch) -> None:
    def at_once(call: Callable[[], None]) -> None:
        call()

    monkeypatch.setattr(publishing.transaction, "on_commit", at_once)


def test_after_the_first_refusal_the_rest_is_left_to_the_sweeper(asked):
    publish(*WORKS, insist=True)
    assert asked == [str(WORKS[0].id)]


def test_a_broker_that_has_just_refused_is_left_alone_unless_somebody_insists(asked):
    publish(WORKS[0])
    publish(WORKS[1])
    assert asked == [str(WORKS[0].id)]
    publish(WORKS[2], insist=True)
    assert asked == [str(WORKS[0].id), str(WORKS[2].id)]
