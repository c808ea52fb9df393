from pathlib import Path

import pytest

from tests.pipelines import Pipelines


@pytest.fixture
def pipelines(settings, tmp_path: Path, stack_env) -> Pipelines:
    """Pipelines in this test's database, which its workers see."""
    settings.PIPELINES_DIR = tmp_path / "pipelines"
    settings.STEPS_DIR = tmp_path / "steps"
    return Pipelines(settings.PIPELINES_DIR)
