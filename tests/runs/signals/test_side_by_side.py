"""The signals of a step do not wait for each other: each is a plain function of plain values."""

import time
from concurrent.futures import ThreadPoolExecutor

from runs.pipelines.schema import Grounding, ShellCheck, Verifier
from runs.signals import checks, grounding, verifier
from tests.runs.signals.given import no_stop, says, subject, verdict


def test_four_signals_of_one_second_take_one_second() -> None:
    slow = says(verdict(0.8), seconds=1)
    given, stop = subject(), no_stop()
    started = time.monotonic()
    with ThreadPoolExecutor(4) as pool:
        futures = [
            pool.submit(verifier.gather, given, Verifier(executor="command", executor_config=slow), stop),
            pool.submit(grounding.gather, given, Grounding(executor="command", executor_config=slow), stop),
            *(
                pool.submit(checks.gather, given, ShellCheck(type="shell", name=name, run="sleep 1"), stop)
                for name in ("a", "b")
            ),
        ]
        outcomes = [future.result() for future in futures]
    assert [outcome.state for outcome in outcomes] == ["done"] * 4
    assert time.monotonic() - started < 2
