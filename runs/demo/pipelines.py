"""The demo's pipelines. They come from files of their own, which no reload reads, so nothing but the demo starts them.

Their rows are there as long as the demo is: whoever makes it stops when they are gone.
"""

from collections.abc import Mapping
from datetime import datetime
from pathlib import Path

from django.conf import settings

from runs.models import Pipeline, PipelineVersion
from runs.models.pipeline import DEMO_FILES
from runs.pipelines.library import Library
from runs.pipelines.loader import load_file, pipeline_files


def stored(*, now: datetime) -> Mapping[str, PipelineVersion]:
    """Every version under the name of its file, stored if it was not yet."""
    versions = {}
    for path in pipeline_files(settings.BASE_DIR / DEMO_FILES):
        file = f"{DEMO_FILES}{path.name}"
        loaded = load_file(path, file, Library(settings.STEPS_DIR))
        if loaded.config is None:
            raise RuntimeError("; ".join(map(str, loaded.problems)))
        version, _ = PipelineVersion.objects.get_or_create(
            digest=loaded.digest,
            defaults={"name": loaded.name, "config": loaded.config, "source": loaded.source, "created_at": now},
        )
        moments = {"loaded_at": now, "changed_at": now}
        Pipeline.objects.get_or_create(
            file=file, defaults={"name": loaded.name, "version": version, "present": False, **moments}
        )
        versions[Path(file).stem] = version
    return versions


def is_wanted() -> bool:
    return Pipeline.objects.filter(file__startswith=DEMO_FILES).exists()


def asked_at() -> datetime | None:
    """When the demo was first asked for; None where there is none."""
    return Pipeline.objects.filter(file__startswith=DEMO_FILES).order_by("loaded_at").values_list(
        "loaded_at", flat=True
    ).first()  # fmt: skip


def take_away() -> list[str]:
    """Remove the rows, so that nobody goes on; the digests of their versions, which runs may still need."""
    rows = Pipeline.objects.filter(file__startswith=DEMO_FILES)
    digests = [digest for digest in rows.values_list("version_id", flat=True) if digest]
    rows.delete()
    return digests
