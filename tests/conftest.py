"""Fixtures every test may use.

``postgres`` and ``valkey`` are servers of their own. ``worker``, ``beat`` and ``server`` start the project's real
processes on the database and broker of the running test (see ``tests/settings.py``); ``chromium`` and ``page`` drive
a real browser. Tests in tests/integration and tests/browser get those markers by where they are; only marked tests
may open sockets, and only to this machine. Tests with a database are marked ``uses_database``: script/test runs them
again on PostgreSQL.
"""

import os
import shutil
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import hypothesis
import pytest

import tests.settings
from tests.services import Postgres, Process, Valkey, answers, free_port

HERE = Path(__file__).parent
MARKED_FOLDERS = {HERE / "integration": "integration", HERE / "browser": "browser"}
LOCALHOST = pytest.mark.allow_hosts(["127.0.0.1", "::1", "localhost"])

# A busy machine is no fault of the code: the time one example takes decides nothing.
hypothesis.settings.register_profile(
    "vectorstep", deadline=None, suppress_health_check=[hypothesis.HealthCheck.too_slow]
)
hypothesis.settings.load_profile("vectorstep")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        for folder, marker in MARKED_FOLDERS.items():
            if folder in item.path.parents:
                item.add_marker(marker)
        if any(item.get_closest_marker(name) for name in ("integration", "browser")):
            item.add_marker(LOCALHOST)
        if item.get_closest_marker("django_db") or {"db", "transactional_db"} & set(getattr(item, "fixturenames", ())):
            item.add_marker("uses_database")
            if tests.settings.ON_POSTGRESQL:
                item.add_marker(LOCALHOST)  # the broker is a real one there, and whatever commits may publish


@pytest.fixture(autouse=True)
def _nothing_paused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Known without a look, which would be one more query in some tests; whoever pauses looks again."""
    from runs.engine import pauses

    monkeypatch.setattr(pauses, "_known", {})
    monkeypatch.setattr(pauses, "_looked_at", float("inf"))


@pytest.fixture
def service(settings: Any) -> Callable[..., None]:
    """``service(limits={"answer_bytes": 2000})``: the service configuration with these fields changed."""

    def change(**sections: dict[str, object]) -> None:
        changed = {name: getattr(settings.SERVICE, name).model_copy(update=fields) for name, fields in sections.items()}
        settings.SERVICE = settings.SERVICE.model_copy(update=changed)

    return change


@pytest.fixture(scope="session")
def postgres() -> Postgres:
    """A PostgreSQL server apart from the test database; ``postgres.url("name")``."""
    return Postgres()


@pytest.fixture(scope="session")
def valkey() -> Valkey:
    """A Valkey server apart from the test broker; ``valkey.url()``."""
    return Valkey()


@pytest.fixture(scope="session")
def django_db_setup(django_db_setup: None) -> Iterator[None]:
    yield
    # A pool that outlives the session would still hold connections when the database is dropped.
    _close_connections()


def _close_connections() -> None:
    from django.db import connection

    connection.close()
    if hasattr(connection, "close_pool") and connection.settings_dict["OPTIONS"].get("pool"):
        connection.close_pool()


@pytest.fixture
def stack_env(transactional_db: None) -> Iterator[dict[str, str]]:
    """The environment in which another process sees this test's database and broker, which starts empty."""
    from django.conf import settings
    from django.db import connection

    empty_broker()
    yield {
        "DJANGO_SETTINGS_MODULE": "vectorstep.settings",
        "VECTORSTEP_VAR": str(settings.VAR_DIR),
        "VECTORSTEP_SECRET_KEY": settings.SECRET_KEY,
        "CELERY_BROKER_URL": settings.CELERY_BROKER_URL,
        "DATABASE_URL": _url_of(connection.settings_dict),
        "PYTHONUNBUFFERED": "1",
    }
    empty_broker()


def empty_broker() -> None:
    """Throw away every message of the test broker, so that no test sees another's."""
    from django.conf import settings

    from vectorstep.celery import app

    if settings.CELERY_BROKER_URL.startswith("filesystem:"):
        shutil.rmtree(settings.BROKER_DIR, ignore_errors=True)
        return
    with app.connection_for_write() as broker:
        broker.default_channel.client.flushdb()


def _url_of(database: Mapping[str, Any]) -> str:
    if database["ENGINE"].endswith("sqlite3"):
        return f"sqlite:///{database['NAME']}"
    base, _, _ = os.environ["DATABASE_URL"].rpartition("/")
    return f"{base}/{database['NAME']}"


@pytest.fixture
def start(stack_env: dict[str, str], tmp_path: Path) -> Iterator[Callable[..., Process]]:
    """``start(name, [arguments of python...], env={})``: a process on this test's database and broker."""
    started: list[Process] = []

    def start(name: str, arguments: list[str], *, env: Mapping[str, str] | None = None) -> Process:
        process = Process(
            [sys.executable, *arguments],
            name=f"{name}-{len(started)}",
            folder=tmp_path,
            env={**stack_env, **(env or {})},
        )
        started.append(process)
        return process

    yield start
    for process in started:
        process.stop(seconds=3)
        # pytest shows what was printed when the test failed.
        sys.stdout.write(f"--- {process.name}\n{process.log()}")


@pytest.fixture
def worker(start: Callable[..., Process]) -> Callable[..., Process]:
    """``worker(threads=8, queues="celery,sweep", pool="threads", env={})``: a ready Celery worker.

    Call it as often as you want workers; ``.kill()`` is SIGKILL, ``.signal(SIGSTOP)`` freezes it.
    """

    def start_worker(
        *,
        threads: int = 8,
        queues: str = "celery,sweep",
        pool: str = "threads",
        env: Mapping[str, str] | None = None,
    ) -> Process:
        quiet = ["--without-gossip", "--without-mingle", "--without-heartbeat"]
        arguments = ["-m", "celery", "-A", "vectorstep", "worker", "--loglevel", "INFO", *quiet]
        process = start("worker", [*arguments, "-P", pool, "-c", str(threads), "-Q", queues], env=env)
        process.wait_for_line(" ready.")
        return process

    return start_worker


@pytest.fixture
def beat(start: Callable[..., Process], tmp_path: Path) -> Callable[..., Process]:
    """``beat(env={})``: the scheduler, which tells workers once a second to sweep."""

    def start_beat(*, env: Mapping[str, str] | None = None) -> Process:
        arguments = ["-m", "celery", "-A", "vectorstep", "beat", "--loglevel", "INFO", "--pidfile", ""]
        process = start("beat", [*arguments, "--schedule", str(tmp_path / "beat")], env=env)
        process.wait_for_line("beat: Starting")
        return process

    return start_beat


@pytest.fixture
def server(start: Callable[..., Process]) -> Callable[..., Process]:
    """``server(env={})``: the web process, answering; its address is ``.url`` (no slash at the end)."""

    def start_server(*, env: Mapping[str, str] | None = None) -> Process:
        port = free_port()
        options = ["--host", "127.0.0.1", "--port", str(port), "--lifespan", "off", "--timeout-graceful-shutdown", "1"]
        process = start("web", ["-m", "uvicorn", "tests.asgi:application", *options], env=env)
        process.url = f"http://127.0.0.1:{port}"
        process.wait_until(lambda: answers(f"{process.url}/health"), what="answering")
        return process

    return start_server


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    """A headless Chromium (Playwright's Browser), one for each file: its event loop would disturb other tests."""
    from playwright.sync_api import sync_playwright

    with pytest.MonkeyPatch.context() as patch, sync_playwright() as playwright:
        # Playwright runs an event loop in this thread, which Django would take for asynchronous code.
        patch.setenv("DJANGO_ALLOW_ASYNC_UNSAFE", "true")
        browser = playwright.chromium.launch(executable_path=chromium_path(), args=CHROMIUM_FLAGS)
        yield browser
        browser.close()


# --no-sandbox: root may not use the sandbox. The others keep it from calling home, which a closed network refuses.
CHROMIUM_FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
]


def chromium_path() -> str | None:
    """An installed Chromium; None for Playwright's own."""
    if given := os.environ.get("VECTORSTEP_TEST_CHROMIUM"):
        return given
    names = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
    return next((path for path in map(shutil.which, names) if path), None)


@pytest.fixture
def page(chromium: Any) -> Iterator[Any]:
    """A fresh browser page in a context of its own; the test fails if the page's scripts did."""
    context = chromium.new_context(viewport={"width": 1280, "height": 900})
    page = context.new_page()
    page.set_default_timeout(10_000)
    errors: list[str] = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    yield page
    context.close()
    assert not errors, f"the page's scripts failed: {errors}"
