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
    from vectorstep.settled import settle

    # All code is loaded before the long filling: it may change on disk meanwhile. Settled, as in a server.
    measuring = [importlib.import_module(f"tests.bench.{area}_measures") for area in sys.argv[2:]]
    settle()
    start = time.perf_counter()
    history.fill(steps=int(sys.argv[1]))
    _tell({"measure": "filling it", "median_ms": (time.perf_counter() - start) * 1000})
    for module in measuring:
        for one in module.measures():
            _tell(one.run())


def _tell(result: dict[str, object]) -> None:
    print(json.dumps({"p95_ms": result["median_ms"], "budget_ms": None, **result}), flush=True)  # noqa: T201


if __name__ == "__main__":
    main()
