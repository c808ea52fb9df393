"""What a pipeline's digest and a prompt's hash depend on, and what they do not."""

import hashlib

import pytest

from runs.pipelines import schema
from runs.pipelines.loader import digest_of
from tests.runs.pipelines.loading import load_with


def test_the_digest_depends_on_the_content_only():
    one, other = load_with("description", "a"), load_with("description", "b")
    assert one.config is not None
    assert one.digest == digest_of(one.config) != other.digest
    assert digest_of({"b": 1, "a": "é"}) == hashlib.sha256('{"a":"é","b":1}'.encode()).hexdigest()


@pytest.mark.parametrize(
    "same",
    ["a\nb", "a \nb\t", "\n\na\nb\n\n", "a\r\nb\r\n", "  \na\nb\n  \n"],
)
def test_the_prompt_hash_ignores_blanks_that_no_agent_sees(same):
    assert schema.prompt_hash(same) == hashlib.sha256(b"a\nb").hexdigest()[:12]


def test_the_prompt_hash_sees_everything_else():
    hashes = {schema.prompt_hash(text) for text in ["a\nb", " a\nb", "a\n\nb", "a b", "A\nb"]}
    assert len(hashes) == 5
    assert schema.prompt_hash(None) == schema.prompt_hash("") == schema.prompt_hash(" \n ") == ""
