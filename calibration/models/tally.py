"""Sums over samples, kept up to date with them."""

from django.db import models
from django.db.models import UniqueConstraint

from calibration.models.sample import Bucket


class AbstractTally(models.Model):
    """The labelled samples (no replays) of one bucket and stage in a range of confidence.

    Whole numbers, so that adding and taking away never drifts: a label or confidence counts in parts
    per million (ppm), a squared difference in ppm². Only ``calibration.tallies`` writes them, in the
    transaction that changes a label.
    """

    bucket = models.ForeignKey(Bucket, on_delete=models.PROTECT, related_name="+", db_index=False)
    stage = models.TextField()
    n = models.BigIntegerField()
    label_ppm = models.BigIntegerField()
    confidence_ppm = models.BigIntegerField()
    squares = models.BigIntegerField(help_text="Sum of (confidence - label)², for the Brier score.")
    by_step_mark = models.BigIntegerField(default=0)
    by_failed_check = models.BigIntegerField(default=0)
    by_run_mark = models.BigIntegerField(default=0)

    class Meta:
        abstract = True


class Tally(AbstractTally):
    """Those with a confidence in [percent, percent + 1) %."""

    percent = models.IntegerField(help_text="0 to 99; 1.0 counts as 99.")

    class Meta:
        constraints = [UniqueConstraint(fields=["bucket", "stage", "percent"], name="tally_unique")]

    def __str__(self) -> str:
        return f"{self.n} labels of bucket {self.bucket_id} at {self.percent} %"


class TallyOfTen(AbstractTally):
    """Those in a tenth of [0, 1], the usual bin: pages over all buckets would read ten times as many of the others."""

    tenth = models.IntegerField(help_text="0 to 9; 1.0 counts as 9.")

    class Meta:
        constraints = [UniqueConstraint(fields=["bucket", "stage", "tenth"], name="tally_of_ten_unique")]

    def __str__(self) -> str:
        return f"{self.n} labels of bucket {self.bucket_id} from {self.tenth * 10} %"
