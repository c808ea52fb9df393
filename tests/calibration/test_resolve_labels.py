import io
import uuid

import pytest
from django.core.management import CommandError, call_command
from django.db.models import F

from calibration import tallies
from calibration.labels import mark_sample
from calibration.models import Sample, Tally
from tests.calibration.factories import NOW, key, person, record


def resolve(*options: str) -> tuple[str, str]:
    out, progress = io.StringIO(), io.StringIO()
    call_command("resolve_labels", *options, stdout=out, stderr=progress)
    return out.getvalue(), progress.getvalue()


@pytest.fixture
def spoiled(db):
    """Three samples, one of them with a label that nothing explains."""
    samples = [record(key(), id=uuid.UUID(int=number), check_failed=number == 2) for number in (1, 2, 3)]
    mark_sample(sample_id=samples[0], by=person(), outcome="partial", via="api", now=NOW)
    Sample.objects.filter(pk=samples[1]).update(label=1.0, label_source="step_mark")
    tallies.rebuild()
    return samples[1]


def test_it_finds_nothing_where_all_is_well(db):
    record(key(), check_failed=True)
    out, progress = resolve()
    assert out == "1 sample resolved, 0 labels and 0 sums corrected\n"
    assert progress == "1 of 1 sample\n"


def test_it_reports_and_corrects(spoiled):
    out, _ = resolve()
    assert out.splitlines() == [
        f"{spoiled}: stored 1 (step_mark), resolves to 0 (failed_check)",
        "3 samples resolved, 1 label and 0 sums corrected",
    ]
    assert Sample.objects.get(pk=spoiled).label == 0.0
    assert "0 labels and 0 sums" in resolve("--check")[0]


def test_check_reports_and_changes_nothing(spoiled):
    with pytest.raises(CommandError, match="1 of 3 labels and 0 sums differ"):
        resolve("--check")
    assert Sample.objects.get(pk=spoiled).label == 1.0


def test_sums_are_reported_and_corrected(spoiled):
    resolve()
    Tally.objects.update(n=F("n") + 2)
    bucket = Tally.objects.get().bucket_id
    with pytest.raises(CommandError, match="0 of 3 labels and 1 sum differ"):
        resolve("--check")
    out, _ = resolve()
    assert out.splitlines() == [
        f"bucket {bucket}, production, 95 to 96 %: -2 labels, +0 in their sum",
        "3 samples resolved, 0 labels and 1 sum corrected",
    ]
    assert "0 labels and 0 sums" in resolve("--check")[0]


def test_it_goes_through_all_samples_whatever_the_batch(spoiled):
    out, progress = resolve("--batch", "2")
    assert "1 label and 0 sums corrected" in out
    assert progress.splitlines() == ["2 of 3 samples", "3 of 3 samples"]


def test_a_batch_below_one_is_refused(db):
    with pytest.raises(CommandError, match="--batch"):
        resolve("--batch", "0")


def test_no_samples_at_all(db):
    assert resolve()[0] == "0 samples resolved, 0 labels and 0 sums corrected\n"
