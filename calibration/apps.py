from django.apps import AppConfig
from django.db.models.signals import post_migrate


class CalibrationConfig(AppConfig):
    name = "calibration"

    def ready(self) -> None:
        from calibration.buckets import forget_ids
        from calibration.versions import forget_seen

        # The ids and versions a process remembers are gone once the tables were emptied or made anew.
        post_migrate.connect(forget_ids, dispatch_uid="calibration.forget_ids")
        post_migrate.connect(forget_seen, dispatch_uid="calibration.forget_seen")
