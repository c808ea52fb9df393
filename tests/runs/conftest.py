import subprocess
from pathlib import Path

import pytest

from runs.engine.work import Work
from tests.pipelines import Pipelines


@pytest.fixture(scope="session")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a self-signed ``cert`` and its ``key``, for good.example and localhost."""
    folder = tmp_path_factory.mktemp("certificate")
    ask_for = "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=localhost"
    names = "subjectAltName=DNS:good.example,DNS:localhost"
    command = [*ask_for.split(), "-keyout", "key", "-out", "cert", "-addext", names]
    subprocess.run(command, cwd=folder, check=True, capture_output=True)
    return folder


@pytest.fixture
def published(monkeypatch: pytest.MonkeyPatch) -> list[Work]:
    """The works published, instead of a broker (which tests/integration has)."""
    sent: list[Work] = []
    monkeypatch.setattr("runs.engine.publish._send", lambda works, *_, **__: sent.extend(works))
    return sent


@pytest.fixture
def pipelines(settings, tmp_path: Path) -> Pipelines:
    settings.PIPELINES_DIR = tmp_path / "pipelines"
    settings.STEPS_DIR = tmp_path / "steps"
    return Pipelines(settings.PIPELINES_DIR)
