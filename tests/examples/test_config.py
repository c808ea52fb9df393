import yaml

from tests.examples.play import EXAMPLES
from vectorstep.config import Service, load


def test_the_annotated_configuration_says_the_defaults() -> None:
    assert load(EXAMPLES / "config.yaml", environ={}) == Service()


def test_it_has_every_key() -> None:
    written = yaml.safe_load((EXAMPLES / "config.yaml").read_text(encoding="utf-8"))
    assert _keys(written) == _keys(Service().model_dump())


def _keys(value: object) -> object:
    return {key: _keys(item) for key, item in value.items()} if isinstance(value, dict) else None
