"""The trust formula without a run: what would the gate make of these numbers?"""

import json
from collections.abc import Mapping, Sequence
from typing import IO, Any

from django.conf import settings
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.parsers import BaseParser
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from runs.api import parameters
from runs.api.errors import ErrorBody
from runs.api.parsers import bounded
from runs.api.strict import Count, Strict, Text, Truth, Unit, Word
from runs.intake.refusals import BadPayload
from runs.models import Role
from runs.trust.inputs import MOST, ON_ERROR, ON_LOW_CONFIDENCE, ON_UNCALIBRATED, STRATEGIES
from runs.trust.narrative import narrative
from runs.trust.vector import CalibrationInput, CheckInput, GroundingInput, Report, VerifierInput, evaluate

NO_SCORE = "no score was given"


class Verifier(Strict):
    score = Unit(allow_null=True, help_text="V; null when the verifier was wanted and is missing.")
    combination_strategy = Word(STRATEGIES, default="minimum")
    veto_floor = Unit(default=0.60)
    on_error = Word(ON_ERROR, default="ignore")


class Calibration(Strict):
    enforce = Truth(default=False)
    on_uncalibrated = Word(ON_UNCALIBRATED, default="proceed")
    n = Count(min_value=0, max_value=MOST, help_text="Labelled results in the bin.")
    n_min = Count(min_value=1, max_value=MOST, required=False, help_text="Results needed; the service's own if absent.")
    accuracy = Unit(allow_null=True, default=None, help_text="Their mean label; null without any.")


class Grounding(Strict):
    enforce = Truth(default=False)
    score = Unit(allow_null=True, help_text="G; null when grounding was wanted and is missing.")
    on_error = Word(ON_ERROR, default="ignore")


class Check(Strict):
    name = Text()
    passed = Truth()


class Question(Strict):
    self_report = Unit(allow_null=True, help_text="S; null for a step that reports none.")
    verifier = Verifier(allow_null=True, default=None)
    calibration = Calibration(allow_null=True, default=None)
    grounding = Grounding(allow_null=True, default=None)
    checks = Check(many=True, default=list)
    confidence_threshold = Unit(default=0.75)
    on_low_confidence = Word(ON_LOW_CONFIDENCE, default="escalate")


class StageBody(serializers.Serializer[Any]):
    stage = serializers.CharField()
    before = serializers.FloatField(allow_null=True)
    after = serializers.FloatField(allow_null=True)
    applied = serializers.BooleanField()
    enforced = serializers.BooleanField()
    reason = serializers.CharField()
    inputs = serializers.DictField()


class Verdict(serializers.Serializer[Any]):
    combined_trust = serializers.FloatField(allow_null=True)
    cleared = serializers.BooleanField()
    action = serializers.ChoiceField(choices=["none", *ON_LOW_CONFIDENCE])
    stages = StageBody(many=True)
    narrative = serializers.ListField(child=serializers.CharField())


class TrustParser(BaseParser):
    """JSON that lets NaN and infinities through, so that the refusal can name the field they stand in."""

    media_type = "application/json"

    def parse(
        self, stream: IO[bytes], media_type: str | None = None, parser_context: Mapping[str, Any] | None = None
    ) -> dict[str, Any]:
        try:
            value = json.loads(bounded(stream).decode("utf-8-sig"), object_pairs_hook=_distinct)
        except RecursionError as error:
            raise BadPayload("", "The body nests too deep.") from error
        except ValueError as error:  # broken UTF-8, broken JSON, a number of thousands of digits
            raise BadPayload("", f"The body cannot be read as JSON: {error}.") from error
        if not isinstance(value, dict):
            raise BadPayload("", "The body must be a JSON object.")
        return value


class EvaluateTrust(APIView):
    """Combine signals and decide, exactly as the gate does for a step. Nothing is stored."""

    required_role = Role.VIEWER
    parser_classes = [TrustParser]

    @extend_schema(operation_id="evaluate_trust", request=Question, responses={200: Verdict, 400: ErrorBody})
    @parameters.takes()
    def post(self, request: Request) -> Response:
        question = Question(data=request.data)
        question.is_valid(raise_exception=True)
        report = _evaluate(**question.validated_data).to_json()
        body = {name: report[name] for name in ("combined_trust", "cleared", "action", "stages")}
        return Response({**body, "narrative": narrative(report)})


def _evaluate(
    *,
    verifier: dict[str, Any] | None,
    calibration: dict[str, Any] | None,
    grounding: dict[str, Any] | None,
    checks: Sequence[dict[str, Any]],
    **gate: Any,
) -> Report:
    n_min = settings.SERVICE.calibration.n_min
    try:
        return evaluate(
            verifier=None if verifier is None else VerifierInput(mode="", **_state(verifier)),
            calibration=None if calibration is None else CalibrationInput(**{"n_min": n_min} | calibration),
            grounding=None if grounding is None else GroundingInput(**_state(grounding)),
            checks=[CheckInput(**check) for check in checks],
            **gate,
        )
    except ValueError as error:  # what only shows between two fields
        field, _, message = str(error).partition(": ")
        raise BadPayload(field, message) from error


def _state(signal: dict[str, Any]) -> dict[str, Any]:
    missing = {"state": "failed", "error": NO_SCORE} if signal["score"] is None else {}
    return signal | missing


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, value in pairs:
        if name in found:
            raise BadPayload(name[:100], "given twice")
        found[name] = value
    return found
