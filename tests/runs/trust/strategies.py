"""Whatever a step's signals can be."""

from dataclasses import replace

from hypothesis import strategies as st

from runs.trust.vector import CalibrationInput, CheckInput, GroundingInput, VerifierInput

units = st.floats(0, 1, allow_subnormal=False) | st.sampled_from([0.0, 0.5, 0.6, 0.75, 0.9, 0.95, 1.0])
on_error = st.sampled_from(["ignore", "escalate"])
policies = st.sampled_from(["escalate", "abort", "proceed"])
errors = st.sampled_from(["", "timed out after 30 s.", "two\nlines"])


@st.composite
def signal(draw, kind, **more):
    state = draw(st.sampled_from(["done", "failed", "skipped"]))
    score = draw(units | st.none()) if state == "done" else None
    error = "" if state == "done" else draw(errors)
    return kind(score=score, state=state, error=error, on_error=draw(on_error), **{k: draw(v) for k, v in more.items()})


verifiers = signal(
    VerifierInput,
    combination_strategy=st.sampled_from(["minimum", "veto"]),
    veto_floor=units,
    mode=st.sampled_from(["critic", "independent", ""]),
)


@st.composite
def groundings(draw):
    given = draw(signal(GroundingInput, enforce=st.booleans()))
    total = draw(st.none() | st.integers(0, 6))
    supported = None if total is None else draw(st.integers(0, total))
    return GroundingInput(**{**vars(given), "supported": supported, "total": total})


@st.composite
def calibrations(draw):
    n, n_min = draw(st.integers(0, 40)), draw(st.integers(1, 30))
    lo, hi = draw(st.sampled_from([(None, None), (0.9, 1.0), (0.125, 0.25)]))
    return CalibrationInput(
        enforce=draw(st.booleans()),
        on_uncalibrated=draw(st.sampled_from(["proceed", "escalate"])),
        n=n,
        n_min=n_min,
        accuracy=draw(units) if n else None,
        lo=lo,
        hi=hi,
        reset=draw(st.none() | st.just("Calibration was reset.")),
    )


measured_records = calibrations().map(
    lambda record: replace(record, enforce=True, n=record.n_min, accuracy=record.accuracy or 0.0)
)
unproven_records = calibrations().map(
    lambda record: replace(record, enforce=True, on_uncalibrated="escalate", n=record.n_min - 1)
)

checks = st.builds(
    CheckInput,
    name=st.sampled_from(["still_breaching", "ticket exists"]),
    passed=st.booleans(),
    detail=st.sampled_from(["", "exit code 1"]),
)

steps = st.fixed_dictionaries(
    {
        "self_report": units | st.none(),
        "verifier": verifiers | st.none(),
        "calibration": calibrations() | st.none(),
        "grounding": groundings() | st.none(),
        "checks": st.lists(checks, max_size=4),
        "confidence_threshold": units,
        "on_low_confidence": policies,
    }
)
