"""Steps with everything their Insights can show, and the addresses that show it."""

from django.utils import timezone

from calibration.buckets import bucket_id
from tests import factories
from tests.insights.history import answer, answers, key

STEP = "assess"


def measured() -> list[str]:
    """Write the history; the addresses of the pages about it."""
    now = timezone.now()
    olga, pete = factories.user("olga-marks", role="marker"), factories.user("pete", role="marker")
    for said, outcomes in ((0.95, "cccccciiiiiiii" * 2), (0.85, "c" * 20), (0.55, "c" * 22), (0.3, "pi")):
        answers(outcomes, said, by=olga, at=now, shown=0.6, offered_by="random")
    answer(marks={olga: "correct", pete: "incorrect"}, at=now)
    answer(key(step="long-" * 40 + "name", model="a-model-with-a-name-that-does-not-end-" * 4), at=now)
    for _ in range(3):
        answer(key(step="checked/שלום"), check=False, at=now)
    bucket = bucket_id(key())
    return [
        "/ui/insights/steps",
        "/ui/insights/steps?q=nowhere",
        f"/ui/insights/steps/{STEP}",
        "/ui/insights/steps/checked/שלום?width=0.05&stage=production",
        f"/ui/insights/samples?bucket={bucket}&bin=9",
        f"/ui/insights/samples?bucket={bucket}&show=unlabelled",
        "/ui/insights/agreement?show=all",
        "/ui/insights/agreement?step=checked/שלום",
    ]
