"""config.yaml: defaults, ``${ENV}``, and errors that name file, field and expectation."""

from decimal import Decimal

import pytest

from runs import pricing
from vectorstep import config
from vectorstep.env import BadEnvironment

PRICE = "{match: {provider: acme, model: big}, input_per_mtok: 0.15, output_per_mtok: 0.6}"


@pytest.fixture
def load(tmp_path):
    def load(text, **environ):
        file = tmp_path / "config.yaml"
        file.write_text(text)
        return config.load(file, environ=environ)

    return load


def test_no_file_means_every_default(tmp_path):
    service = config.load(tmp_path / "absent.yaml", environ={})
    assert (service.calibration.n_min, service.calibration.bin_width, service.calibration.evidence) == (20, 0.1, "all")
    assert service.dedup.window_seconds == 300


def test_a_file_that_was_named_must_exist(tmp_path):
    with pytest.raises(BadEnvironment, match=r"VECTORSTEP_CONFIG names .*absent.yaml, which does not exist"):
        config.load(tmp_path / "absent.yaml", environ={"VECTORSTEP_CONFIG": "absent.yaml"})


def test_an_empty_file_means_every_default(load):
    assert load("") == config.Service()
    assert load("# only a comment\n") == config.Service()


def test_values_and_variables(load):
    text = "executors: {gateway: {url: '${GW:-ws://127.0.0.1:1/rpc}', token: '${TOKEN}'}}"
    gateway = load(text, TOKEN="t0p").executors.gateway
    assert (gateway.url, gateway.token) == ("ws://127.0.0.1:1/rpc", "t0p")
    assert load(text, TOKEN="", GW="ws://gw/rpc").executors.gateway.url == "ws://gw/rpc"


def test_prices_are_exact(load):
    service = load(f"prices: [{PRICE}]")
    assert service.price_table == [pricing.Price("acme", "big", Decimal("0.15"), Decimal("0.6"))]
    assert load("").price_table == []


def test_a_variable_that_is_not_set_is_named(load):
    with pytest.raises(BadEnvironment, match=r"config.yaml: \$\{TOKEN\} is not set"):
        load("executors: {gateway: {token: '${TOKEN}'}}")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("calibration: {n_mim: 20}", "calibration.n_mim: there is no such field"),
        ("calibration: {n_min: 0}", "calibration.n_min: Input should be greater than or equal to 1"),
        ("calibration: {n_min: many}", "calibration.n_min: Input should be a valid integer"),
        ("calibration: {bin_width: 0.000001}", "bin_width must divide 1 into at most 1000 bins"),
        ("calibration: {n_min: 1000000000}", "calibration.n_min: Input should be less than or equal to 1000000"),
        ("calibration: {n_min: true}", "n_min: expected a value, not true"),
        ("marking: {hold_minutes: .inf}", "marking.hold_minutes: Input should be less than or equal to 10080"),
        ("marking: {hold_minutes: true}", "hold_minutes: expected a value, not true"),
        ("calibration: {bin_width: 0.3}", "calibration.bin_width: Value error, bin_width must divide 1 exactly"),
        ("calibration: {evidence: some}", "calibration.evidence: Input should be 'all' or 'production'"),
        ("limits: {payload_bytes: 1}", "limits.payload_bytes: Input should be greater than or equal to 1000"),
        ("outbound: {allow_private: [10.0.0.0/99]}", "outbound.allow_private.0"),
        (
            f"prices: [{PRICE.replace('0.15', '-1')}]",
            "prices.0.input_per_mtok: Input should be greater than or equal to 0",
        ),
        (f"prices: [{PRICE.replace('0.15', '.nan')}]", "prices.0.input_per_mtok: Input should be a finite number"),
        (
            f"prices: [{PRICE.replace('0.15', '10001')}]",
            "prices.0.input_per_mtok: Input should be less than or equal to",
        ),
        (f"prices: [{PRICE.replace('0.15', '0.0000001')}]", "input_per_mtok: Decimal input should have no more than 6"),
        (f"prices: [{PRICE.replace('0.15', 'true')}]", "input_per_mtok: expected a value, not true"),
        (f"prices: [{PRICE.replace('0.15', 'free')}]", "prices.0.input_per_mtok: Input should be a valid decimal"),
        (f"prices: [{PRICE.replace(', model: big', '')}]", "prices.0.match.model: Field required"),
        (f"prices: [{PRICE.replace('model', 'modell')}]", "prices.0.match.modell: there is no such field"),
        (f"prices: [{PRICE}, {PRICE}]", "two prices match provider 'acme' and model 'big'"),
        ("prices: {acme: 1}", "prices: Input should be a valid list"),
        ("- a list", "top level: Input should be a valid dictionary"),
        ("just text", "top level: Input should be a valid dictionary"),
        ("a: [", "config.yaml"),
    ],
)
def test_what_is_wrong_is_named(load, text, message):
    with pytest.raises(BadEnvironment) as raised:
        load(text)
    assert message in str(raised.value)
    assert "config.yaml" in str(raised.value)


def test_bytes_that_are_no_text_are_refused(tmp_path):
    file = tmp_path / "config.yaml"
    file.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(BadEnvironment, match=r"config.yaml"):
        config.load(file, environ={})


def test_a_folder_in_the_place_of_the_file_is_refused(tmp_path):
    with pytest.raises(BadEnvironment, match="Is a directory"):
        config.load(tmp_path, environ={})


@pytest.mark.parametrize("width", [1, 0.5, 0.25, 0.2, 0.1, 0.05, 0.01])
def test_widths_that_divide_one(load, width):
    assert load(f"calibration: {{bin_width: {width}}}").calibration.bin_width == width
