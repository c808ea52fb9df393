"""What the environment may say, and what is answered when it says nonsense."""

import stat

import pytest

from vectorstep import env


@pytest.mark.parametrize(
    ("given", "expected"), [({}, 8000), ({"VECTORSTEP_PORT": "1"}, 1), ({"VECTORSTEP_PORT": "65535"}, 65535)]
)
def test_port(given, expected):
    assert env.port(environ=given) == expected


@pytest.mark.parametrize("given", ["0", "65536", "-1", "80a", "", " 80", "8e3", "٨٠"])
def test_a_port_that_is_none_is_refused_by_name(given):
    with pytest.raises(env.BadEnvironment, match="VECTORSTEP_PORT must be a port from 1 to 65535"):
        env.port(environ={"VECTORSTEP_PORT": given})


def test_numbers_are_whole_and_above_zero():
    assert env.number("N", 7, environ={}) == 7
    assert env.number("N", 7, environ={"N": ""}) == 7
    assert env.number("N", 7, environ={"N": "12"}) == 12
    for bad in ("0", "-3", "1.5", "many"):
        with pytest.raises(env.BadEnvironment, match="N must be a whole number above 0"):
            env.number("N", 7, environ={"N": bad})


@pytest.mark.parametrize(
    ("given", "expected"), [("1", True), ("TRUE", True), (" yes ", True), ("0", False), ("", False), ("no", False)]
)
def test_flags(given, expected):
    assert env.flag("F", environ={"F": given}) is expected


def test_names_are_split_at_commas():
    assert env.names("HOSTS", "a", environ={"HOSTS": " x.example, ,y.example "}) == ["x.example", "y.example"]
    assert env.names("HOSTS", "a,b", environ={}) == ["a", "b"]


def test_a_relative_path_counts_from_the_project(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert env.path("P", "var", environ={}) == env.BASE_DIR / "var"
    assert env.path("P", "var", environ={"P": str(tmp_path / "elsewhere")}) == tmp_path / "elsewhere"


@pytest.mark.parametrize("given", ["redis://q:6379/0", "amqp://user:p@q//", "rediss://q/1", "amqp://a//;amqp://b//"])
def test_brokers_that_are_known(given):
    assert env.broker(default="filesystem://", environ={"CELERY_BROKER_URL": given}) == given
    assert env.broker(default="filesystem://", environ={"CELERY_BROKER_URL": ""}) == "filesystem://"


@pytest.mark.parametrize("given", ["queue.internal:6379", "foo://q:secret@h", "redis"])
def test_a_broker_of_an_unknown_kind_is_refused_without_its_password(given):
    with pytest.raises(env.BadEnvironment, match="CELERY_BROKER_URL must be redis://") as refused:
        env.broker(default="filesystem://", environ={"CELERY_BROKER_URL": given})
    assert "secret" not in str(refused.value)


def test_the_secret_key_is_made_once_and_kept_private(tmp_path):
    var = tmp_path / "deep" / "var"
    first = env.secret_key(var, environ={})
    assert len(first) >= 50
    assert env.secret_key(var, environ={}) == first
    assert stat.S_IMODE((var / "secret_key").stat().st_mode) == 0o600


def test_a_given_secret_key_is_used_and_nothing_is_written(tmp_path):
    assert env.secret_key(tmp_path / "var", environ={"VECTORSTEP_SECRET_KEY": "given"}) == "given"
    assert not (tmp_path / "var").exists()


def test_a_file_in_the_place_of_the_folder_is_named(tmp_path):
    var = tmp_path / "var"
    var.write_text("I am a file")
    with pytest.raises(env.BadEnvironment, match=f"cannot read {var}/secret_key: Not a directory"):
        env.secret_key(var, environ={})


@pytest.mark.parametrize("url", ["nonsense", "mysql://a/b", "postgresql://x:secret@h:70000/d", "foo://x:secret@h"])
def test_a_database_that_cannot_be_used_is_refused_without_its_password(url):
    with pytest.raises(env.BadEnvironment, match="DATABASE_URL must be postgresql://") as raised:
        env.database(default="sqlite://", environ={"DATABASE_URL": url})
    assert "secret" not in str(raised.value)


def test_databases():
    given = {"DATABASE_URL": "postgresql://ada:pw@db.example:5433/vs"}
    parsed = env.database(default="sqlite:////x/y.sqlite3", environ=given)
    assert (parsed["NAME"], parsed["USER"], parsed["HOST"], parsed["PORT"]) == ("vs", "ada", "db.example", 5433)
    assert env.database(default="sqlite:////x/y.sqlite3", environ={})["NAME"] == "/x/y.sqlite3"
