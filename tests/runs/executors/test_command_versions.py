"""What an agent's version is made of, and the text that is kept of it."""

import json

import pytest

from runs import executors
from tests.runs.executors.commanding import ask, refused


@pytest.fixture
def agent(settings, tmp_path):
    settings.BASE_DIR = tmp_path
    (tmp_path / "agent.py").write_text("print(1)")
    (tmp_path / "soul.md").write_text("Be kind. ü")
    return tmp_path


def version(**config):
    return ask("print(1)", **config).agent_version


def test_the_version_follows_the_files(agent):
    assert version() == ""
    both = version(version_files=["agent.py", "soul.md"])
    assert len(both) == 12
    assert int(both, 16) >= 0
    assert version(version_files=["agent.py", "soul.md"]) == both
    assert version(version_files=["agent.py"]) != both
    (agent / "soul.md").write_text("Be stern.")
    changed = version(version_files=["agent.py", "soul.md"])
    assert changed != both
    (agent / "soul.md").write_text("Be kind. ü")
    assert version(version_files=["agent.py", "soul.md"]) == both


def test_text_that_moves_from_one_file_to_the_next_is_another_version(agent):
    files = ["agent.py", "soul.md"]
    before = version(version_files=files)
    text = (agent / "agent.py").read_text() + (agent / "soul.md").read_text()
    (agent / "agent.py").write_text(text[:3])
    (agent / "soul.md").write_text(text[3:])
    assert version(version_files=files) != before


def test_a_version_file_that_is_missing(agent):
    error = refused("print(1)", version_files=["nowhere.md"])
    assert str(error) == f"executor_config.version_files: cannot read {agent / 'nowhere.md'}: No such file or directory"
    assert not error.retryable


def test_describe(agent):
    config = {"command": ["python3", "agent.py"], "version_files": ["agent.py", "soul.md"], "env": {"KEY": "secret"}}
    definition = executors.get("command").describe(config)
    assert definition.version == version(version_files=["agent.py", "soul.md"])
    assert definition.soul == "==> agent.py <==\nprint(1)\n==> soul.md <==\nBe kind. ü"
    assert json.loads(definition.config) == {"command": ["python3", "agent.py"], "env": ["KEY"]}
    assert executors.get("command").describe({"command": ["x"]}) is None
