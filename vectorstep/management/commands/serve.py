"""``manage.py serve``: everything under one terminal, on whatever database and broker are configured."""

import contextlib
import io
import os
import signal
import sys
import termios
from argparse import ArgumentParser
from collections.abc import Iterator
from functools import partial
from typing import Any

from django.conf import settings
from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandError
from django.db import connections

import vectorstep
from vectorstep import env, serve, start


class Command(BaseCommand):
    help = "Run the web pages, a worker and the scheduler. Ctrl-C stops them; SIGHUP reloads the pipelines."
    requires_system_checks = []  # they cost a second start time; script/lint and `manage.py check` run them

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--web-only", action="store_true", help="no worker, no scheduler: they run elsewhere (see docs/deploy.md)"
        )

    def handle(self, *args: Any, web_only: bool, **options: Any) -> None:
        if isinstance(sys.stdout, io.TextIOWrapper):
            sys.stdout.reconfigure(line_buffering=True)  # into a log file, too, each line comes when it is said
        host, port = env.text("VECTORSTEP_HOST", "127.0.0.1"), env.port()
        try:
            # Held until this process ends, however it ends.
            self.lock = start.lock(settings.VAR_DIR)
            start.check_port(host, port)
            self._prepare()
        except start.CannotStart as error:
            sys.exit(f"error: {error}")
        programs = [serve.web(host=host, port=port)]
        if not web_only:
            programs += [*serve.workers(count=settings.WORKERS), serve.scheduler()]
        supervisor = serve.Supervisor(
            programs,
            printer=serve.Printer(sys.stdout),
            reload=self._reload,
            ready=partial(start.answers, host, port),
            announce=partial(self._announce, f"http://{start.shown_host(host)}:{port}/ui/"),
        )
        with _signals(supervisor):
            supervisor.run()
        self._say("Stopped.")

    def _prepare(self) -> None:
        start.prepare_database()
        start.clear_leftovers(settings.VAR_DIR, settings.BROKER_DIR)
        call_command("ensure_admin", stdout=self.stdout)
        self._reload()
        start.collect_static(settings.VAR_DIR)

    def _reload(self) -> None:
        """Read the pipelines again; what is wrong with them is printed, and never stops the server."""
        with contextlib.suppress(CommandError):  # it has printed each problem itself
            call_command("reload", stdout=self.stdout, stderr=self.stdout)
        connections.close_all()

    def _announce(self, url: str) -> None:
        self._say(f"VectorStep {vectorstep.__version__} is running at {url} (Ctrl-C stops it)")

    def _say(self, text: str) -> None:
        with contextlib.suppress(OSError):
            self.stdout.write(text)


@contextlib.contextmanager
def _signals(supervisor: serve.Supervisor) -> Iterator[None]:
    def hang_up(number: int, frame: object) -> None:
        # The same signal means "reload" when sent by hand and "the terminal was closed" when sent by the kernel.
        if _terminal_is_gone():
            supervisor.ask_to_stop()
        else:
            supervisor.ask_to_reload()

    had_terminal = os.isatty(sys.stdout.fileno())

    def _terminal_is_gone() -> bool:
        if not had_terminal:
            return False
        try:
            termios.tcgetattr(sys.stdout.fileno())
        except termios.error:
            return True
        return False

    def stop(number: int, frame: object) -> None:
        supervisor.ask_to_stop()

    handlers = {signal.SIGINT: stop, signal.SIGTERM: stop, signal.SIGHUP: hang_up}
    before = {number: signal.signal(number, handler) for number, handler in handlers.items()}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
