import time

import pytest

from runs.marking.blinding import HIDDEN, blinded, without_certainty


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        ('{"confidence": 0.95, "summary": "ok"}', '{"confidence": [hidden], "summary": "ok"}'),
        ('{"confidence_score": ".8"}', '{"confidence_score": "[hidden]"}'),
        (r'{"content": "{\"confidence\": 0.95}"}', r'{"content": "{\"confidence\": [hidden]}"}'),
        ("Confidence: 95%", "Confidence: [hidden]"),
        ("My confidence level is about 85 percent here.", "My confidence level is about [hidden] here."),
        ("confidence = 9/10, shipped", "confidence = [hidden], shipped"),
        ("I am 95% confident, and 80 % sure of it.", "I am [hidden] confident, and [hidden] sure of it."),
        ("0.7 confidence", "[hidden] confidence"),
        ("**Certainty:** 0.4", "**Certainty:** [hidden]"),
    ],
)
def test_a_number_that_says_how_sure_its_author_is_goes(said: str, shown: str) -> None:
    assert without_certainty(said) == shown


@pytest.mark.parametrize(
    "said",
    [
        "Offer store credit of 48.20 EUR, 34 days after delivery.",
        "The error rate is 5%, certain customers saw 12 failures.",
        "I am confident that order 90125 was delivered.",
        "surely 3 of 4 agree",
    ],
)
def test_every_other_number_stays(said: str) -> None:
    assert without_certainty(said) == said


def test_values_under_a_name_of_certainty_go_at_any_depth() -> None:
    answer = {
        "confidence": 0.95,
        "reasoning": {"steps": [{"claim": "late", "confidence": "high"}, {"Confidence in data": [0.2]}], "days": 34},
    }
    assert blinded(answer) == {
        "confidence": HIDDEN,
        "reasoning": {"steps": [{"claim": "late", "confidence": HIDDEN}, {"Confidence in data": HIDDEN}], "days": 34},
    }


@pytest.mark.parametrize("piece", ["1", "confidence ", "confidence" + " :" * 50, "confidence is of at ", "9 " * 40])
def test_a_megabyte_is_searched_at_once(piece: str) -> None:
    text = piece * (1_000_000 // len(piece))
    begun = time.perf_counter()
    without_certainty(text)
    assert time.perf_counter() - begun < 2


def test_a_verdict_beside_a_claim_goes_and_an_answer_of_that_name_stays() -> None:
    answer = {"supported": True, "reasoning": {"claims": [{"claim": "The disk is full.", "supported": False}]}}
    assert blinded(answer) == {
        "supported": True,
        "reasoning": {"claims": [{"claim": "The disk is full.", "supported": HIDDEN}]},
    }
