import json
import time

import pytest

from runs.answer import ContractError, parse
from runs.storable import MAX_DEPTH, TOO_DEEP

GOOD = '{"confidence": 0.9, "summary": "s", "next_step_context": "n"}'
FIVE_MB = 5_000_000


def answer(**fields):
    return json.dumps({"confidence": 0.9, "summary": "s", "next_step_context": "n"} | fields)


def raw(confidence):
    return f'{{"confidence": {confidence}, "summary": "s", "next_step_context": "n"}}'


def test_reads_every_field_and_keeps_the_rest():
    got = parse(
        answer(
            proceed=False,
            proceed_reason="nothing to do",
            reasoning={"cause": "disk"},
            uncertainties=["logs are cut"],
            artifacts={"report": "text"},
            ticket=7,
            model="mine",
            raw_response={"any": "thing"},
        )
    )
    assert (got.confidence, got.summary, got.next_step_context) == (0.9, "s", "n")
    assert (got.proceed, got.proceed_reason) == (False, "nothing to do")
    assert (got.reasoning, got.uncertainties, got.artifacts) == (
        {"cause": "disk"},
        ["logs are cut"],
        {"report": "text"},
    )
    assert got.data["ticket"] == 7
    assert got.data["model"] == "mine"
    assert got.data["raw_response"] == {"any": "thing"}


def test_fields_left_out_or_null_have_their_defaults():
    for text in (GOOD, answer(proceed_reason=None, reasoning=None, uncertainties=None, artifacts=None)):
        got = parse(text)
        assert (got.proceed, got.proceed_reason, got.reasoning, got.uncertainties, got.artifacts) == (
            True,
            "",
            {},
            [],
            {},
        )


@pytest.mark.parametrize(
    "text",
    [
        GOOD,
        f"  \n{GOOD}\n",
        f"\ufeff{GOOD}",
        f"```json\n{GOOD}\n```",
        f"Sure! Here you are:\n\n```\n{GOOD}\n```\nAnything else?",
        f"A stray {{ brace, a stray [ and a {{not: json}}. {GOOD} }} ]",
        f'An unfinished {{"draft": "x", then {GOOD}',
        f'He said "this {GOOD} is it"',
        f"[{GOOD}]",
        f"{GOOD}\x00",
        f"\x00{GOOD}",
        GOOD + '{"note": "an object that is no answer, long enough to be one"}',
        GOOD + '{"confidence": 95, "summary": "a draft that breaks the contract", "next_step_context": ""}',
        '{"confidence": 0.1, "summary": "first thought", "next_step_context": ""}\nNo:\n' + GOOD,
    ],
)
def test_finds_the_answer(text):
    got = parse(text)
    assert (got.confidence, got.summary) == (0.9, "s")


@pytest.mark.parametrize(
    "summary",
    ['```json\n{"confidence": 1}\n```', "a } and a { and ]", '"quoted" \\ back', GOOD, "\u202eright to left 🦉"],
)
def test_text_inside_the_answer_is_never_taken_for_it(summary):
    text = answer(summary=summary, confidence=0.2)
    for wrapped in (text, f"```json\n{text}\n```", f"see: {text} done"):
        assert (parse(wrapped).summary, parse(wrapped).confidence) == (summary, 0.2)


def test_an_object_inside_an_answer_that_breaks_the_contract_does_not_replace_it():
    with pytest.raises(ContractError, match="got 95"):
        parse("so: " + answer(confidence=95, reasoning={"draft": json.loads(GOOD)}))


@pytest.mark.parametrize("before", ["", "My verdict: "])
@pytest.mark.parametrize("first", ['"confidence": 0.1', '"summary": "bad"', '"reasoning": {"seen": 1}'])
@pytest.mark.parametrize("wrapping", ['{"quoted": %s', '{"problems": ["it wrote", %s, "the', '{"a": [[{"b": %s}]], "c'])
def test_an_object_quoted_in_an_answer_that_breaks_off_does_not_replace_it(before, first, wrapping):
    text = f'{before}{{{first}, "next_step_context": "", "artifacts": {wrapping % GOOD}'
    with pytest.raises(ContractError):
        parse(text)
    assert parse(f"{text}\n\nOnce more: {answer(confidence=0.3)}").confidence == 0.3


def test_an_answer_wrapped_in_an_object_that_lacks_its_end_is_found():
    assert parse(f'{{"result": {GOOD}').data == json.loads(GOOD)


@pytest.mark.parametrize("number", ["0", "1", "0.0", "1.0", "-0.0", "1e-9", "9E-1"])
def test_confidence_in_range(number):
    confidence = parse(raw(number)).confidence
    assert confidence == float(number)
    assert str(confidence)[0] != "-"


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        ("NaN", '"nan"'),
        ("Infinity", '"inf"'),
        ("-Infinity", '"-inf"'),
        ("1e999", '"inf"'),
        ("true", "true"),
        ('"0.9"', '"0.9"'),
        ("95", "95"),
        ("-0.1", "-0.1"),
        ("1.0000001", "1.0000001"),
        ("null", "null"),
        ("[0.9]", "a list"),
        ("{}", "an object"),
        ("9" * 5000, '"9999'),
    ],
)
def test_confidence_that_breaks_the_contract(written, shown):
    with pytest.raises(ContractError, match="expected a number from 0 to 1") as caught:
        parse(raw(written))
    assert f"got {shown}" in str(caught.value)
    assert len(str(caught.value)) < 300


def test_confidence_may_be_missing_only_where_the_threshold_is_0():
    text = '{"summary": "s", "next_step_context": "n"}'
    with pytest.raises(ContractError, match="got an object without it"):
        parse(text)
    assert parse(text, require_confidence=False).confidence is None
    assert parse(raw("null"), require_confidence=False).confidence is None
    with pytest.raises(ContractError, match="got 95"):
        parse(raw("95"), require_confidence=False)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"summary": None}, "summary: expected text (it may be empty), got null"),
        ({"summary": 3}, "summary: expected text (it may be empty), got 3"),
        ({"next_step_context": ["a"]}, "next_step_context: expected text (it may be empty), got a list"),
        ({"proceed": "no"}, 'proceed: expected true or false, got "no"'),
        ({"proceed": 0}, "proceed: expected true or false, got 0"),
        ({"proceed": None}, "proceed: expected true or false, got null"),
        ({"proceed_reason": 5}, "proceed_reason: expected text, got 5"),
        ({"reasoning": "because"}, 'reasoning: expected an object, got "because"'),
        ({"uncertainties": "none"}, 'uncertainties: expected a list, got "none"'),
        ({"artifacts": []}, "artifacts: expected an object of texts, got a list"),
        ({"artifacts": {"a": 1}}, 'artifacts."a": expected text, got 1'),
    ],
)
def test_other_fields_that_break_the_contract(fields, message):
    with pytest.raises(ContractError) as caught:
        parse(answer(**fields))
    assert str(caught.value) == message


@pytest.mark.parametrize("missing", ["summary", "next_step_context"])
def test_required_text_left_out(missing):
    value = json.loads(GOOD)
    del value[missing]
    with pytest.raises(ContractError, match=f"{missing}: expected text .*, got an object without it"):
        parse(json.dumps(value))


@pytest.mark.parametrize("text", ["", " \n\t", "\ufeff"])
def test_empty(text):
    with pytest.raises(ContractError, match="the answer is empty"):
        parse(text)


@pytest.mark.parametrize("text", ["I think it is the disk.", "[]", "null", "0.9", '"0.9"', GOOD[:-1], "{}", "}{"])
def test_no_object(text):
    with pytest.raises(ContractError, match=r"no complete JSON object .* begins|got an object without it"):
        parse(text)


def test_broken_json_is_told_where_it_breaks():
    with pytest.raises(ContractError, match=r"its JSON breaks in line 3, column 1: Expecting property name"):
        parse('Here:\n{"confidence": 0.9,\n}')
    with pytest.raises(ContractError, match="its JSON is nested too deeply"):
        parse('{"":' * 5000)


def test_the_complaint_is_about_the_object_that_was_meant():
    with pytest.raises(ContractError, match="got 95"):
        parse(raw("95") + ' {"note": "an object that is no answer, long enough to be one"}')


@pytest.mark.parametrize("key", ["confidence", "proceed", "summary"])
def test_a_key_stated_twice_is_ambiguous(key):
    twice = {
        "confidence": '"confidence": 0.2',
        "proceed": '"proceed": true, "proceed": false',
        "summary": '"summary": ""',
    }
    with pytest.raises(ContractError, match=f"{key} stated twice"):
        parse(GOOD[:-1] + f", {twice[key]}}}")


def test_a_key_of_the_agents_own_stated_twice_is_harmless():
    assert parse(GOOD[:-1] + ', "x": 1, "x": 2, "reasoning": {"confidence": 1, "confidence": 2}}').data["x"] == 2


def test_nul_and_lone_surrogates_are_kept_visibly():
    got = parse(
        '{"confidence": 0.9, "summary": "a\\u0000b\\ud800c", "next_step_context": "raw \x00 \ud801", "k\\u0000": 1}'
    )
    assert got.summary == "a\\u0000b\\ud800c"
    assert got.next_step_context == "raw \\u0000 \\ud801"
    assert got.data["k\\u0000"] == 1


def test_raw_line_breaks_in_a_text_are_read_as_they_are_meant():
    assert parse('{"confidence": 0.9, "summary": "two\nlines", "next_step_context": ""}').summary == "two\nlines"


def test_numbers_that_json_cannot_store_become_text():
    got = parse(GOOD[:-1] + f', "nan": NaN, "inf": [-1e999], "huge": {"7" * 100_000}}}')
    assert got.data["nan"] == "nan"
    assert got.data["inf"] == ["-inf"]
    assert got.data["huge"] == "7" * 100_000
    json.dumps(got.data, allow_nan=False)


@pytest.mark.parametrize("depth", [MAX_DEPTH + 50, 5_000, 400_000])
def test_deep_nesting_does_not_crash(depth):
    text = GOOD[:-1] + f', "deep": {"[" * depth}{"]" * depth}}}'
    if depth < 900:
        written = json.dumps(parse(text).data)
        assert TOO_DEEP in written
        return
    with pytest.raises(ContractError, match="nested too deeply"):
        parse(text)
    assert parse(f"{text}\nshorter:\n{GOOD}").confidence == 0.9


def test_five_megabytes_of_answer():
    text = "x" * FIVE_MB
    assert parse(answer(summary=text)).summary == text
    assert parse(f"prose before {answer(summary=text)} and after").summary == text


def test_five_megabytes_of_braces_take_no_time():
    for hostile in ("{" * FIVE_MB, "[" * FIVE_MB, '{"' * (FIVE_MB // 2)):
        assert _seconds(f"{hostile}\n{GOOD}") < 1


@pytest.mark.parametrize(
    "hostile",
    [
        '{"":',
        '{"":1',
        '{"a":[',
        '{"a":"',
        '{"a":1}',
        '{"a":1,',
        '{"a":"b","c":{"d":[{"e":',
        '{"a\\"',
    ],
)
def test_hostile_text_takes_linear_time(hostile):
    """Ten times the text takes about ten times as long (quadratic: a hundred)."""
    small, large = ("\n".join([hostile * count, GOOD]) for count in (10_000, 100_000))
    assert _seconds(large) < max(0.1, 40 * _seconds(small))


def _seconds(text):
    start = time.process_time()
    assert parse(text).confidence == 0.9
    return time.process_time() - start
