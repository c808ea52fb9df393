"""How the answers of each agent, or of each model, went: steps are counted here, not runs."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from django.db.models import Count, Q, Sum

from calibration.models import Sample
from insights.measures import Outcomes
from insights.windows import Window
from runs.models import Step

Key = tuple[str, ...]
BY_AGENT = ("agent",)
BY_MODEL = ("model", "provider")
_AGENTS = ~Q(agent="")


@dataclass
class Tokens:
    """What ``steps`` of them reported; the others said nothing, which is not 0."""

    steps: int = 0
    input: int = 0
    output: int = 0

    @property
    def per_step(self) -> int | None:
        """Input and output together, on average; None where nobody reported any."""
        return round((self.input + self.output) / self.steps) if self.steps else None


@dataclass(kw_only=True)
class AgentRow(Outcomes):
    """``key`` is (agent,) or (model, provider). A duration is that of the call alone, without its judges."""

    key: Key
    timed: int = 0
    milliseconds: int = 0
    tokens: Tokens = field(default_factory=Tokens)

    @property
    def mean_milliseconds(self) -> int | None:
        return round(self.milliseconds / self.timed) if self.timed else None


def agent_rows(window: Window, *, by: Sequence[str]) -> list[AgentRow]:
    """The busiest first; ``by`` is BY_AGENT or BY_MODEL. Two statements, whatever there is."""
    rows: dict[Key, AgentRow] = {}
    for key, status, found in _steps(window, by):
        row = rows.setdefault(key, AgentRow(key=key))
        row.statuses[status] = found["n"]
        row.timed += found["timed"]
        row.milliseconds += found["milliseconds"] or 0
        row.tokens.steps += found["told"]
        row.tokens.input += found["input"] or 0
        row.tokens.output += found["output"] or 0
    for key, (n, label_sum) in _labels(window, by).items():
        if key in rows:
            rows[key].labelled, rows[key].label_sum = n, label_sum
    return sorted(rows.values(), key=lambda row: (-row.count, row.key))


def _steps(window: Window, by: Sequence[str]) -> list[tuple[Key, str, dict[str, int]]]:
    counted = (
        window.of(Step.objects.filter(_AGENTS))
        .values(*by, "status")
        .annotate(
            n=Count("id"),
            timed=Count("duration_ms"),
            milliseconds=Sum("duration_ms"),
            told=Count("id", filter=Q(input_tokens__isnull=False) | Q(output_tokens__isnull=False)),
            input=Sum("input_tokens"),
            output=Sum("output_tokens"),
        )
        .order_by()
    )
    return [(tuple(row[name] for name in by), row["status"], row) for row in counted]


def _labels(window: Window, by: Sequence[str]) -> Mapping[Key, tuple[int, float]]:
    """How many answers are labelled, and the sum of their labels; replays are left out."""
    names = [f"bucket__{name}" for name in by]
    labelled = window.of(Sample.objects.filter(label__isnull=False, is_replay=False))
    counted = labelled.values(*names).annotate(n=Count("id"), sum=Sum("label")).order_by()
    return {tuple(row[name] for name in names): (row["n"], row["sum"]) for row in counted}
