from django.apps import AppConfig
from django.db.models.signals import post_migrate


class RunsConfig(AppConfig):
    name = "runs"

    def ready(self) -> None:
        from runs.access import authentication  # noqa: F401  (registers its OpenAPI scheme)
        from runs.access.bootstrap import ensure_groups

        post_migrate.connect(ensure_groups, sender=self, dispatch_uid="runs.groups")
