"""Reports to put into words, in tests."""

from runs.trust.vector import CalibrationInput, CheckInput, GroundingInput, evaluate


def decide(**given):
    defaults = {"self_report": 0.9, "confidence_threshold": 0.75, "on_low_confidence": "escalate"}
    return evaluate(**defaults | given).to_json()


def record(**given):
    return CalibrationInput(**{"enforce": True, "n": 31, "n_min": 20, "accuracy": 0.62, "lo": 0.9, "hi": 1.0} | given)


def check(name, passed=True, detail=""):
    return CheckInput(name=name, passed=passed, detail=detail)


def grounding(score, **given):
    return GroundingInput(**{"enforce": True, "score": score} | given)
