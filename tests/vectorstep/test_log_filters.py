"""The service's own log: a refusal is a line, a fault is a traceback."""

import logging
from logging.config import DictConfigurator  # type: ignore[attr-defined]

import pytest
from django.conf import settings


@pytest.mark.parametrize(("status", "traced"), [(403, False), (404, False), (499, False), (500, True), (None, True)])
def test_only_faults_have_a_traceback(status, traced):
    found = DictConfigurator(settings.LOGGING).configure_filter(dict(settings.LOGGING["filters"]["refusals"]))
    record = logging.LogRecord(
        "django.request", logging.WARNING, "f", 1, "Forbidden: /x", None, (ValueError, None, None)
    )
    if status is not None:
        record.status_code = status
    assert found.filter(record)
    assert bool(record.exc_info) is traced
