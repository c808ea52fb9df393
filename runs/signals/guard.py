"""The last line of defence of a signal: a fault of our own becomes an outcome, never an exception."""

import functools
import logging
from collections.abc import Callable
from dataclasses import replace
from typing import ParamSpec

from runs.signals.base import Outcome

log = logging.getLogger(__name__)
P = ParamSpec("P")


def never_raises(failed: Outcome) -> Callable[[Callable[P, Outcome]], Callable[P, Outcome]]:
    """Answer ``failed`` with the fault named in ``error``, and log its traceback, where the function raises."""

    def decorate(gather: Callable[P, Outcome]) -> Callable[P, Outcome]:
        @functools.wraps(gather)
        def guarded(*args: P.args, **kwargs: P.kwargs) -> Outcome:
            try:
                return gather(*args, **kwargs)
            except Exception as error:
                log.exception("signal %s failed unexpectedly", gather.__module__)
                return replace(failed, error=f"internal fault: {type(error).__name__}: {error}")

        return guarded

    return decorate
