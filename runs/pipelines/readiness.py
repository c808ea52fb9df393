"""What a pipeline or a step must have shown before it is called ready (advisory)."""

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field, SerializerFunctionWrapHandler, model_serializer

from calibration.binning import bins_of
from runs.pipelines.strict import Fraction, Strict

Count = Annotated[int, Field(ge=1)]
EndStatus = Literal["completed", "stopped", "escalated", "aborted", "failed", "cancelled"]


def _divides_one(width: float) -> float:
    bins_of(width)
    return width


class Operational(Strict):
    min_runs: Count
    acceptable_statuses: Annotated[list[EndStatus], Field(min_length=1)] = ["completed"]
    max_age_days: Count | None = None
    require_current_config: bool = False


class ConfidenceTier(Strict):
    min_confidence: Fraction
    min_runs: Count
    require_current_config: bool = False


class Accuracy(Strict):
    min_accuracy: Fraction
    min_marked: Count
    min_human_marked: Annotated[int, Field(ge=0)] = 0
    require_current_config: bool = True


class CalibrationTier(Strict):
    """``require_current_config`` can only be true: bins of an older prompt say nothing about this one."""

    n_min: Count = 20
    bin_width: Annotated[float, Field(gt=0, le=1), AfterValidator(_divides_one)] = 0.1
    max_divergence: Fraction = 0.15
    require_own_evidence: bool = False
    require_current_config: Literal[True] = True


class Readiness(Strict):
    """A tier written as ``null`` in a step removes the pipeline's; one left out inherits it."""

    operational: Operational | None = None
    confidence: ConfidenceTier | None = None
    accuracy: Accuracy | None = None
    calibration: CalibrationTier | None = None

    @model_serializer(mode="wrap")
    def _keep_left_out_apart_from_null(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        return {name: tier for name, tier in handler(self).items() if name in self.model_fields_set}
