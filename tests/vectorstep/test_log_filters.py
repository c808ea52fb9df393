"""The service's own log: a refusal is a line, a fault is a traceback."""

import copy
import logging
from logging.config import DictConfigurator  # type: ignore[attr-defined]

import pytest
from django.conf import settings


@pytest.mark.parametrize(("status", "traced"), [(403, False), (404, False), (499, False), (500, True), (None, True)])
def test_only_faults_have_a_traceback(status, traced):
    configurator = DictConfigurator(copy.deepcopy(settings.LOGGING))
    found = configurator.configure_filter(configurator.config["filters"]["refusals"])
    fault = (ValueError, ValueError("x"), None)
    record = logging.LogRecord("django.request", logging.WARNING, "f", 1, "Forbidden: /x", None, fault)
    if status is not None:
        record.status_code = status
    assert found.filter(record)
    assert bool(record.exc_info) is traced
