"""A generated history in a database of its own, and what is measured on it: medians and worst cases against budgets."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from statistics import median, quantiles
from typing import Any

from tests.services import ROOT, Folder, Postgres


@dataclass(frozen=True)
class Measure:
    """Something to be timed: ``act`` is given 0, 1, 2 ... and does the same to another step or bucket each time."""

    name: str
    budget_ms: float | None
    act: Callable[[int], object]
    times: int = 200

    def run(self) -> dict[str, Any]:
        taken = [_milliseconds(self.act, number) for number in range(self.times + 3)][3:]  # after warming up
        worst = quantiles(taken, n=20)[-1] if len(taken) > 1 else taken[0]
        return {"measure": self.name, "median_ms": median(taken), "p95_ms": worst, "budget_ms": self.budget_ms}


def measure(database: str, *, steps: int, areas: Iterable[str]) -> Iterable[dict[str, Any]]:
    """Make the history and yield one result after the other, from a process of its own with that database."""
    folder = Folder("vs-bench-").path
    env = {**os.environ, "VECTORSTEP_VAR": str(folder / "var"), "PYTHONUNBUFFERED": "1"}
    (folder / "var" / "static").mkdir(parents=True)
    postgres = Postgres() if database == "postgresql" else None
    if postgres is not None:
        env["DATABASE_URL"] = postgres.url()
    try:
        for prepare in (["migrate"], ["collectstatic", "--noinput"]):  # pages name their static files by their hashes
            command = [sys.executable, "manage.py", *prepare, "--verbosity", "0"]
            subprocess.run(command, env=env, cwd=ROOT, check=True)
        command = [sys.executable, "-m", "tests.bench.on_history", f"{steps}", *areas]
        with subprocess.Popen(command, env=env, cwd=ROOT, stdout=subprocess.PIPE, text=True) as child:
            assert child.stdout is not None
            for line in child.stdout:
                yield {"database": database, "steps": steps, **json.loads(line)}
        if child.returncode:
            raise SystemExit(f"the measurements on {database} ended with exit code {child.returncode}")
    finally:
        if postgres is not None:
            postgres.process.stop()


def describe(result: dict[str, Any]) -> str:
    """One line for people."""
    budget = result["budget_ms"]
    verdict = "" if budget is None else f"of {budget:g} ms" + ("" if result["p95_ms"] < budget else "  OVER")
    return (
        f"{result['database']:<11}{result['measure']:<44}"
        f"median {result['median_ms']:8.2f} ms, 95 % below {result['p95_ms']:8.2f} ms {verdict}"
    )


def _milliseconds(act: Callable[[int], object], number: int) -> float:
    start = time.perf_counter()
    act(number)
    return (time.perf_counter() - start) * 1000
