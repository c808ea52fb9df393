"""The pipelines that can run now, and reloading them from their files.

All truth is in the rows of Pipeline and PipelineVersion, so web and workers agree; a version never
changes, which is why what is parsed from it may be kept in memory.
"""

import threading
from collections import OrderedDict
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from django.conf import settings
from django.db import connection

from runs.models import Pipeline, PipelineVersion
from runs.pipelines import reloading, schema
from runs.pipelines.problems import Problem

KEPT = 512


@dataclass(frozen=True)
class ReloadReport:
    """What a reload did, by file name; ``problems`` are of files that could not be used as they are now."""

    loaded: list[str] = field(default_factory=list)
    changed: list[str] = field(default_factory=list)
    removed: list[str] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)

    def to_json(self) -> dict[str, Any]:
        return {
            "loaded": self.loaded,
            "changed": self.changed,
            "removed": self.removed,
            "problems": [problem.to_json() for problem in self.problems],
        }


def reload(*, now: datetime) -> ReloadReport:
    """Read every file again. A file with problems keeps its last good version; the others are not affected."""
    outcome = reloading.reload(settings.PIPELINES_DIR, settings.STEPS_DIR, now=now)
    return ReloadReport(
        loaded=sorted(loaded.file for loaded in outcome.files if not loaded.problems),
        changed=sorted(outcome.changed),
        removed=sorted(outcome.removed),
        problems=sorted(problem for loaded in outcome.files for problem in loaded.problems),
    )


class _Kept:
    """A small cache of what belongs to a digest, safe to use from several threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._items: OrderedDict[str, tuple[PipelineVersion, schema.Pipeline]] = OrderedDict()

    def get(self, digest: str) -> tuple[PipelineVersion, schema.Pipeline] | None:
        with self._lock:
            found = self._items.get(digest)
            if found is not None:
                self._items.move_to_end(digest)
            return found

    def add(self, version: PipelineVersion) -> tuple[PipelineVersion, schema.Pipeline]:
        pair = (version, schema.Pipeline.model_validate(version.config))
        with self._lock:
            self._items[version.digest] = pair
            while len(self._items) > KEPT:
                self._items.popitem(last=False)
        return pair


_kept = _Kept()


def _runnable() -> Any:
    return Pipeline.objects.filter(present=True, version__isnull=False)


def current(name: str) -> PipelineVersion | None:
    """The version that a run of the pipeline ``name`` would execute now. One small query."""
    # By hand: every accepted payload asks this, and building the statement costs more than running it.
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT version_id FROM runs_pipeline WHERE name = %s AND present AND version_id IS NOT NULL", [name]
        )
        found = cursor.fetchone()
    return None if found is None else _versions([found[0]])[0]


def current_all() -> list[PipelineVersion]:
    """The current version of each pipeline, in the order of their files, which decides who gets a payload."""
    return _versions(_runnable().order_by("file").values_list("version_id", flat=True))


def names() -> list[str]:
    return list(_runnable().order_by("name").values_list("name", flat=True))


def parsed(version: PipelineVersion | str) -> schema.Pipeline:
    """The pipeline of a version (or of its digest); no query and no validation once it has been seen.

    Raises PipelineVersion.DoesNotExist for a digest nothing was stored under.
    """
    digest = version if isinstance(version, str) else version.digest
    found = _kept.get(digest)
    if found is None:
        row = PipelineVersion.objects.get(digest=digest) if isinstance(version, str) else version
        found = _kept.add(row)
    return found[1]


def _versions(digests: Iterable[str]) -> list[PipelineVersion]:
    """The versions in the given order; one query for those not seen before, none if all were."""
    wanted = list(digests)
    found = {digest: pair[0] for digest in wanted if (pair := _kept.get(digest)) is not None}
    unknown = [digest for digest in wanted if digest not in found]
    if unknown:
        rows = PipelineVersion.objects.defer("source").in_bulk(unknown)
        found.update({digest: _kept.add(row)[0] for digest, row in rows.items()})
    return [found[digest] for digest in wanted]
