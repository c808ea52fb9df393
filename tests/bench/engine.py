"""Drives the real web server, worker, scheduler, broker and database, and counts."""

import json
import os
import sqlite3
import statistics
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import psutil
import psycopg

from tests.bench.pipelines import write_pipelines
from tests.services import ROOT, Folder, Postgres, Process, Valkey, answers, free_port, wait_until
from vectorstep import serve

UNFINISHED = "SELECT count(*) FROM runs_run WHERE status IN ('queued', 'running')"
RELOAD = (
    "from django.utils import timezone; from runs.pipelines import registry; print(registry.reload(now=timezone.now()))"
)
BY_STATUS = "SELECT status, count(*) FROM runs_run WHERE pipeline_name = '{}' GROUP BY status"


class Stack:
    """One database with everything that VectorStep needs around it, torn down by its own pids."""

    def __init__(self, database: str, *, workers: int) -> None:
        self.database = database
        self.folder = Folder("vs-bench-").path
        self.port, gateway_port = free_port(), free_port()
        self.env = {
            "VECTORSTEP_VAR": str(self.folder / "var"),
            "VECTORSTEP_PIPELINES": str(self.folder / "pipelines"),
            "VECTORSTEP_STEPS": str(self.folder / "steps"),
            "VECTORSTEP_CONFIG": str(self.folder / "config.yaml"),
            "VECTORSTEP_PORT": str(self.port),
            "PYTHONUNBUFFERED": "1",
        }
        write_pipelines(self.folder, gateway_port)
        self.processes: list[Process] = []
        self.counted: list[Process] = []
        self._services()
        self._manage("migrate", "--verbosity", "0")
        self._manage("shell", "--no-imports", "-c", RELOAD)
        self.token = self._manage("token", "create", "--team", "bench", "--role", "operator").split()[-1]
        self._start("gateway", ["-m", "tests.fakes.gateway", "--port", str(gateway_port)])
        programs = [serve.web(host="127.0.0.1", port=self.port), *serve.workers(count=workers), serve.scheduler()]
        web, *others = (self._start(one.name, ["-m", one.module, *one.arguments]) for one in programs)
        self.counted += [web, *others]
        web.wait_until(lambda: answers(f"http://127.0.0.1:{self.port}/health"), what="answering")
        self._warm_up()

    def __enter__(self) -> "Stack":
        return self

    def __exit__(self, *_: object) -> None:
        for process in reversed(self.processes):
            process.stop()

    def _services(self) -> None:
        if self.database == "sqlite":
            file = self.folder / "var" / "vectorstep.sqlite3"
            self.query: Callable[[str], list[tuple[Any, ...]]] = lambda sql: _sqlite(file, sql)
            return
        postgres, valkey = Postgres(), Valkey()
        self.processes += [postgres.process, valkey.process]
        self.counted += [postgres.process, valkey.process]
        self.env |= {"DATABASE_URL": postgres.url(), "CELERY_BROKER_URL": valkey.url()}
        connection = psycopg.connect(postgres.url(), autocommit=True)
        self.query = lambda sql: connection.execute(sql).fetchall()  # type: ignore[arg-type]

    def _manage(self, *arguments: str) -> str:
        done = subprocess.run(
            [sys.executable, "manage.py", *arguments],
            env={**os.environ, **self.env},
            cwd=ROOT,
            check=True,
            stdout=subprocess.PIPE,
            text=True,
        )
        return done.stdout

    def _start(self, name: str, arguments: list[str]) -> Process:
        process = Process([sys.executable, *arguments], name=name, folder=self.folder, env=self.env)
        self.processes.append(process)
        return process

    def _warm_up(self) -> None:
        for pipeline in ("bench-plain", "bench-signals", "bench-shell"):
            self._drive(pipeline, 20, 2)

    def measure(self, load: str, *, runs: int, at_once: int) -> dict[str, Any]:
        """One load: plain, signals, shell, or slow (a hundred agents that take a second, at once)."""
        if load == "slow":
            return {"database": self.database, "load": load, **self._drive("bench-slow", 100, 100)}
        alone = self._drive(f"bench-{load}", 60, 1)
        together = self._drive(f"bench-{load}", runs, at_once)
        return {
            "database": self.database,
            "load": load,
            **together,
            "overhead_ms_per_step": round(alone["run_ms"] / 3, 2),
        }

    def _drive(self, pipeline: str, runs: int, at_once: int) -> dict[str, Any]:
        before, cpu_before = self._ended(pipeline), self._cpu()
        accepted, started = self._accept(pipeline, runs, at_once, before)
        wait_until(lambda: self._ended(pipeline) - before >= runs or self._idle(), seconds=120, what="the runs to end")
        seconds = time.monotonic() - started
        cpu = self._cpu()
        cpu.subtract(cpu_before)
        statuses = dict(self.query(BY_STATUS.format(pipeline)))
        return {
            "runs": runs,
            "at_once": at_once,
            "seconds": round(seconds, 2),
            "runs_per_second": round(runs / seconds, 1),
            "run_ms": round(self._run_milliseconds(pipeline, runs), 2),
            "cpu_ms_per_run": {name: round(spent / runs * 1000, 1) for name, spent in cpu.items()},
            "accept_p50_ms": round(statistics.median(accepted), 1),
            "accept_p95_ms": round(statistics.quantiles(accepted, n=20)[18], 1),
            "lost": runs - (self._ended(pipeline) - before),
            "statuses": statuses,
        }

    def _accept(self, pipeline: str, runs: int, at_once: int, before: int) -> tuple[list[float], float]:
        """Post ``runs`` payloads, never more than ``at_once`` unfinished; accept times in milliseconds."""
        client, accepted = HTTPConnection("127.0.0.1", self.port), []
        headers = {"Authorization": f"Bearer {self.token}", "Content-Type": "application/json"}
        started = time.monotonic()
        ended = 0
        for number in range(runs):
            while number - ended >= at_once:
                ended = self._ended(pipeline) - before
                if number - ended >= at_once:
                    time.sleep(0.004)
            body = json.dumps({"pipeline": pipeline, "summary": f"bench {number}", "data": {"n": number}})
            at = time.monotonic()
            client.request("POST", "/webhook?source=generic&allow_testing=true", body, headers)
            response = client.getresponse()
            text = response.read()
            accepted.append((time.monotonic() - at) * 1000)
            if response.status != 202:
                raise RuntimeError(f"{response.status}: {text.decode()}")
        return accepted, started

    def _ended(self, pipeline: str) -> int:
        sql = f"SELECT count(*) FROM runs_run WHERE pipeline_name = '{pipeline}' AND completed_at IS NOT NULL"
        return int(self.query(sql)[0][0])

    def _idle(self) -> bool:
        return int(self.query(UNFINISHED)[0][0]) == 0

    def _run_milliseconds(self, pipeline: str, runs: int) -> float:
        """The median time from a worker taking the run to its end."""
        rows = self.query(
            "SELECT started_at, completed_at FROM runs_run "
            f"WHERE pipeline_name = '{pipeline}' AND completed_at IS NOT NULL ORDER BY id DESC LIMIT {runs}"
        )
        return statistics.median((_time(end) - _time(start)) * 1000 for start, end in rows)

    def _cpu(self) -> Counter[str]:
        """Seconds of processor time of web, worker, scheduler, database and broker, children included."""
        total: Counter[str] = Counter()
        for process in self.counted:
            root = psutil.Process(process.pid)
            for each in [root, *root.children(recursive=True)]:
                try:
                    times = each.cpu_times()
                except psutil.NoSuchProcess:
                    continue
                total[process.name] += times.user + times.system
        return total


def _sqlite(file: Path, sql: str) -> list[tuple[Any, ...]]:
    connection = _connections.__dict__.setdefault(str(file), sqlite3.connect(file, timeout=30))
    return list(connection.execute(sql).fetchall())


_connections = threading.local()


def _time(value: Any) -> float:
    from datetime import datetime

    return (value if isinstance(value, datetime) else datetime.fromisoformat(value)).timestamp()


def describe(result: dict[str, Any]) -> str:
    """The measurement in words."""
    lines = [f"{result['database']}, {result['load']}: {result['runs']} runs, {result['at_once']} at a time"]
    lines.append(f"  {result['runs_per_second']} runs/s in {result['seconds']} s, {result['lost']} lost")
    if "overhead_ms_per_step" in result:
        lines.append(f"  {result['overhead_ms_per_step']} ms of overhead per step, one run at a time")
    by_process = result["cpu_ms_per_run"]
    lines.append(f"  {sum(by_process.values()):.1f} ms of CPU per run: {by_process}")
    lines.append(f"  accept: p50 {result['accept_p50_ms']} ms, p95 {result['accept_p95_ms']} ms")
    lines.append(f"  ended: {result['statuses']}")
    return "\n".join(lines)
