"""Bringing the stored pipelines in line with the files, one reload at a time."""

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from django.conf import settings
from django.db import connection, transaction

from runs.models import Pipeline, PipelineVersion
from runs.pipelines import cron
from runs.pipelines.calls import refuse_bad_calls
from runs.pipelines.library import Library
from runs.pipelines.loader import Loaded, load_directory, refuse_taken_names
from runs.pipelines.problems import Problem
from runs.pipelines.schedule import schedule_of
from runs.storable import storable, storable_text

_ADVISORY_LOCK = 0x76737265  # "vsre": any number no other part of the service locks


@dataclass
class Outcome:
    files: list[Loaded] = field(default_factory=list)
    changed: list[str] = field(default_factory=list)
    removed: list[str] = field(default_factory=list)


def reload(pipelines: Path, steps: Path, *, now: datetime) -> Outcome:
    """Read the directory and write what has become of each file.

    A directory that is not there is a problem and takes no pipeline away: it is more likely mistyped, or not mounted
    yet, than meant.
    """
    if not pipelines.is_dir():
        return Outcome([_no_such(pipelines)])
    with _alone_on_this_machine():
        if connection.vendor != "postgresql":
            # Read first: SQLite has one writer, and reading files must not keep the engine waiting.
            loaded = load_directory(pipelines, Library(steps))
            with transaction.atomic():
                return _apply(loaded, now)
        with transaction.atomic():
            with connection.cursor() as cursor:
                cursor.execute("SELECT pg_advisory_xact_lock(%s)", [_ADVISORY_LOCK])
            return _apply(load_directory(pipelines, Library(steps)), now)


def _no_such(pipelines: Path) -> Loaded:
    message = "there is no such folder; VECTORSTEP_PIPELINES says where the pipelines are"
    return Loaded(str(pipelines), "", problems=[Problem(str(pipelines), 0, "", message)])


@contextmanager
def _alone_on_this_machine() -> Iterator[None]:
    """Two reloads at once would else let the one that read older files write last."""
    settings.VAR_DIR.mkdir(parents=True, exist_ok=True)
    with (settings.VAR_DIR / "reload.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _apply(loaded: list[Loaded], now: datetime) -> Outcome:
    rows = {row.file: row for row in Pipeline.objects.all()}
    holders = _holders(rows, loaded)
    files = refuse_bad_calls(refuse_taken_names(loaded, holders), holders)
    outcome = Outcome(files)
    seen = {item.file for item in files}
    outcome.removed = [file for file, row in rows.items() if row.present and file not in seen]
    _store_versions(files, now)
    # Names are let go before they are taken: two files may have swapped theirs.
    leaving = [*outcome.removed, *(item.file for item in files if _renamed(rows.get(item.file), item))]
    Pipeline.objects.filter(file__in=leaving).update(present=False)
    for item in files:
        if _save(rows.get(item.file), item, now):
            outcome.changed.append(item.file)
    return outcome


def _holders(rows: dict[str, Pipeline], loaded: list[Loaded]) -> dict[str, str]:
    """Which file holds each name at present, among the files that still exist."""
    exist = {item.file for item in loaded}
    return {
        row.name: row.file for row in rows.values() if row.present and row.version_id is not None and row.file in exist
    }


def _renamed(row: Pipeline | None, item: Loaded) -> bool:
    return row is not None and not item.problems and row.name != item.name


def _store_versions(files: list[Loaded], now: datetime) -> None:
    good = {item.digest: item for item in files if not item.problems}
    known = set(PipelineVersion.objects.filter(digest__in=good).values_list("digest", flat=True))
    PipelineVersion.objects.bulk_create(
        [
            PipelineVersion(digest=digest, name=item.name, config=item.config, source=item.source, created_at=now)
            for digest, item in good.items()
            if digest not in known
        ],
        ignore_conflicts=True,
    )


def _save(row: Pipeline | None, item: Loaded, now: datetime) -> bool:
    """Write one file's row; whether it now runs another version than before."""
    errors = storable([problem.to_json() for problem in item.problems])
    is_new = row is None
    if row is None:
        row = Pipeline(file=item.file, name=storable_text(item.name), changed_at=now)
    returned = not row.present
    before = row.version_id
    if not item.problems:
        row.name, row.version_id = item.name, item.digest
    elif returned or row.version_id is None:
        # A file that was gone has given up its name; what it last ran may be someone else's by now.
        row.name, row.version_id = storable_text(item.name), None
    changed = row.version_id is not None and (returned or row.version_id != before)
    if row.version_id != before:
        row.changed_at = now
    row.errors, row.present, row.loaded_at = errors, True, now
    fields = ["name", "version", "errors", "present", "loaded_at", "changed_at"]
    if (not item.problems or row.version_id is None) and _restart_schedule(row, item, returned=returned, now=now):
        fields += ["rhythm", "next_at"]  # else whoever runs the ticks may be moving them on at this moment
    row.save(update_fields=None if is_new else fields)
    return changed


def _restart_schedule(row: Pipeline, item: Loaded, *, returned: bool, now: datetime) -> bool:
    """Let a schedule that is new, or another one, begin with its first tick from now on; whether there was a need."""
    schedule = schedule_of(item.config)
    rhythm = schedule.rhythm if schedule else ""
    if rhythm == row.rhythm and not returned:
        return False
    row.rhythm = rhythm
    row.next_at = cron.next_after(schedule.cron, schedule.timezone, now) if schedule else None
    return True
