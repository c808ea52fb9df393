import pytest

TEMPLATE = "name: {name}\nsteps:\n  - name: one\n    executor: command\n    executor_config: {{command: [{program}]}}\n"


@pytest.fixture
def folder(tmp_path, settings):
    """An empty pipelines directory the service reads."""
    settings.PIPELINES_DIR = tmp_path / "pipelines"
    settings.STEPS_DIR = tmp_path / "steps"
    settings.VAR_DIR = tmp_path / "var"
    settings.PIPELINES_DIR.mkdir()
    return settings.PIPELINES_DIR


@pytest.fixture
def write(folder):
    """Write a small pipeline into the directory."""

    def write_file(file: str, name: str, program: str = "ls") -> None:
        (folder / file).write_text(TEMPLATE.format(name=name, program=program))

    return write_file
