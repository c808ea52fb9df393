"""Run by ``records.measure``: fill the database that the environment names, then print one JSON line per measure."""

import importlib
import json
import os
import sys
import time

import django

AREAS = ("calibration", "queue", "marking", "insights")


def main() -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "vectorstep.settings")
    django.setup()
    from tests.bench import history

    steps, *areas = sys.argv[1:]
    start = time.perf_counter()
    history.fill(steps=int(steps))
    _tell({"measure": "filling it", "median_ms": (time.perf_counter() - start) * 1000})
    for area in areas:
        for one in importlib.import_module(f"tests.bench.{area}_measures").measures():
            _tell(one.run())


def _tell(result: dict[str, object]) -> None:
    print(json.dumps({"p95_ms": result["median_ms"], "budget_ms": None, **result}), flush=True)  # noqa: T201


if __name__ == "__main__":
    main()
