"""Several things at the same time, each on a database connection of its own."""

import threading
from collections.abc import Callable

from django.db import connection


def at_once(*jobs: Callable[[], object]) -> None:
    """Run every job in a thread of its own, started together; the first error of any is raised."""
    start, errors = threading.Barrier(len(jobs)), []

    def run(job: Callable[[], object]) -> None:
        try:
            start.wait(timeout=10)
            job()
        except BaseException as error:
            errors.append(error)
        finally:
            connection.close()

    threads = [threading.Thread(target=run, args=(job,)) for job in jobs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=60)
        assert not thread.is_alive(), "two transactions wait for each other"
    if errors:
        raise errors[0]
