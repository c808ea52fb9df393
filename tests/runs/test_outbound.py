import socket
import ssl
import threading
import time
from ipaddress import ip_network

import pytest

from runs import outbound, wire
from runs.calling import Deadline, Stop, Stopped
from tests.fakes.http import FakeHttp, response

pytestmark = pytest.mark.allow_hosts(["127.0.0.1"])


@pytest.fixture(autouse=True)
def _loopback_is_listed(service):
    allow(service, "127.0.0.1/32")
    yield
    outbound._pool.close()


def allow(service, *networks):
    service(outbound={"allow_private": [ip_network(text) for text in networks]})


def ask(url, *, method="POST", timeout=5.0, stop=None, max_bytes=100_000, **kwargs):
    return outbound.request(method, url, deadline=Deadline(timeout), stop=stop or Stop(), max_bytes=max_bytes, **kwargs)


def refused(url, **kwargs):
    with pytest.raises(outbound.OutboundError) as caught:
        ask(url, **kwargs)
    return caught.value


def test_a_request_and_its_answer():
    with FakeHttp(
        [response(b"gr\xc3\xb6sse", status="201 Created", headers="X-A: 1\r\nx-a: 2\r\n")]
    ).running() as server:
        got = ask(
            f"{server.url}/path?q=ä&r=%20#part", content="größe", headers={"X-Key": "v", "content-type": "text/plain"}
        )
    assert (got.status_code, got.text, got.headers["x-a"]) == (201, "grösse", "1, 2")
    head, _, body = server.requests[0].partition(b"\r\n\r\n")
    lines = head.split(b"\r\n")
    assert lines[0] == b"POST /path?q=%C3%A4&r=%20 HTTP/1.1"
    assert f"host: 127.0.0.1:{server.port}".encode() in lines
    assert {b"x-key: v", b"content-type: text/plain", b"content-length: 7"} <= set(lines)
    assert body == "größe".encode()


@pytest.mark.parametrize("status", ["404 Not Found", "500 Oops", "302 Found", "204 No Content"])
def test_every_status_is_an_answer_and_redirects_are_not_followed(status):
    empty = b"" if status.startswith("204") else b"x"
    with FakeHttp(
        [response(empty, status=status, headers="location: http://169.254.169.254/\r\n")]
    ).running() as server:
        assert ask(server.url).status_code == int(status[:3])
    assert len(server.requests) == 1


def test_chunked_bodies_other_charsets_and_streams_without_length():
    chunked = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\ncontent-type: text/plain; charset=latin-1\r\n\r\n"
    answers = [
        b"HTTP/1.1 100 Continue\r\n\r\n" + chunked + b"3\r\na\xfcb\r\n1\r\nc\r\n0\r\n\r\n",
        lambda peer: peer.sendall(b"HTTP/1.1 200 OK\r\n\r\nto the end"),
        response(b"x\xff", headers="content-type: text/plain; charset=nonsense\r\n"),
    ]
    with FakeHttp(answers).running() as server:
        assert ask(server.url).text == "aübc"
        assert ask(server.url).text == "to the end"
        assert ask(server.url).text == "x\ufffd"


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("ftp://example.com/", "http or https"),
        ("file:///etc/passwd", "http or https"),
        ("//example.com", "http or https"),
        ("http://", "http or https"),
        ("", "http or https"),
        ("http://user:secret@example.com/", "user or password"),
        ("http://example.com\\@127.0.0.1/", "backslashes"),
        ("http://exa mple.com/", "blanks"),
        ("http://example.com/\r\nX: y", "blanks, line breaks"),
        ("http://example.com:99999/", "not a url"),
        ("http://example.com:0/", "port 0"),
        ("http://[::1/", "not a url"),
        ("http://" + "a" * 70 + ".com/", "not a host name"),
    ],
)
def test_urls_that_are_refused(url, message):
    error = refused(url)
    assert message in str(error)
    assert "secret" not in str(error)
    assert not error.retryable


@pytest.mark.parametrize(
    "host",
    [
        "127.0.0.1",
        "127.1",
        "2130706433",
        "0x7f000001",
        "017700000001",
        "[::ffff:127.0.0.1]",
        "[::ffff:7f00:1]",
        "[::1]",
    ],
)
def test_loopback_in_any_spelling_is_refused_unless_listed(service, host):
    allow(service)
    error = refused(f"http://{host}:1/")
    assert "may not be reached" in str(error)
    assert "outbound.allow_private" in str(error)
    assert not error.retryable


@pytest.mark.parametrize(
    "host", ["169.254.169.254", "2852039166", "0xa9fea9fe", "[::ffff:169.254.169.254]", "0.0.0.0", "0"]
)
def test_metadata_and_unspecified_addresses_are_refused_even_if_listed(service, host):
    allow(service, "0.0.0.0/0", "::/0")
    assert "may not be reached" in str(refused(f"http://{host}:1/"))


def test_odd_spellings_of_a_listed_address_work():
    with FakeHttp([response()]).running() as server:
        for host in ("127.1", "0x7f000001"):
            assert ask(f"http://{host}:{server.port}/").text == "fine"


def resolve_to(monkeypatch, *answers):
    """A resolver that gives each of these lists of addresses once: what an attacker's name server would do."""
    left = list(answers)

    def getaddrinfo(host, port, *args, **kwargs):
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, port)) for address in left.pop(0)]

    monkeypatch.setattr(wire.socket, "getaddrinfo", getaddrinfo)
    return left


def test_a_name_is_resolved_once_and_the_checked_address_is_used(monkeypatch):
    with FakeHttp([response()]).running() as server:
        left = resolve_to(monkeypatch, ["169.254.169.254", "127.0.0.1"], ["169.254.169.254"])
        assert ask(f"http://rebound.example:{server.port}/").text == "fine"
        assert f"host: rebound.example:{server.port}".encode() in server.requests[0]
        assert len(left) == 1  # a second look-up would have been told the metadata address
        assert "may not be reached" in str(refused(f"http://rebound.example:{server.port}/"))
        assert len(server.requests) == 1  # the kept connection is not used for a name that moved


def test_a_name_that_does_not_exist(monkeypatch):
    def getaddrinfo(*args, **kwargs):
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    monkeypatch.setattr(wire.socket, "getaddrinfo", getaddrinfo)
    error = refused("http://nowhere.example/")
    assert str(error) == "cannot find the address of 'nowhere.example': Name or service not known"
    assert error.retryable


def test_a_resolver_that_hangs_is_left_behind(monkeypatch):
    hang = threading.Event()

    def getaddrinfo(*args, **kwargs):
        hang.wait(10)
        return []

    monkeypatch.setattr(wire.socket, "getaddrinfo", getaddrinfo)
    assert "within 0.1 s" in str(refused("http://slow.example/", timeout=0.1))
    stop = Stop()
    threading.Timer(0.05, stop.set).start()
    with pytest.raises(Stopped):
        ask("http://slow.example/", stop=stop)
    hang.set()


def test_trusted_urls_are_not_checked(service):
    allow(service)
    with FakeHttp([response()]).running() as server:
        assert ask(server.url, trusted=True).text == "fine"


def test_connections_are_kept_where_the_answer_was_clean():
    with FakeHttp([response(), response(), response(headers="connection: close\r\n"), response()]).running() as server:
        for _ in range(4):
            assert ask(server.url).text == "fine"
    assert server.connections == 2


def test_a_kept_connection_that_died_is_replaced():
    has_left = threading.Event()

    def answer_and_leave(peer):
        peer.sendall(response())
        peer.shutdown(socket.SHUT_RDWR)
        has_left.set()

    with FakeHttp([answer_and_leave, response()]).running() as server:
        assert ask(server.url).text == "fine"
        assert has_left.wait(timeout=20)
        assert ask(server.url).text == "fine"
    assert server.connections == 2


def drip(peer):
    peer.sendall(b"HTTP/1.1 200 OK\r\ncontent-length: 100000\r\n\r\n")
    while True:
        peer.sendall(b"x")
        threading.Event().wait(0.01)


def test_a_dripping_body_does_not_outlast_the_deadline():
    with FakeHttp([drip]).running() as server:
        started = time.monotonic()
        error = refused(server.url, timeout=0.2)
        assert time.monotonic() - started < 2
    assert str(error) == f"{server.url} gave no complete answer within 0.2 s"
    assert error.retryable


def test_endless_interim_answers_do_not_outlast_the_deadline():
    def announce(peer):
        while True:
            peer.sendall(b"HTTP/1.1 102 Processing\r\n\r\n" * 100)

    with FakeHttp([announce]).running() as server:
        assert "within 0.2 s" in str(refused(server.url, timeout=0.2))


def test_a_server_that_never_answers_is_interrupted_by_a_stop():
    stop = Stop()
    with FakeHttp([lambda peer: (stop.set(), peer.recv(1))]).running() as server, pytest.raises(Stopped):
        ask(server.url, stop=stop)


def test_a_stop_during_a_dripping_body():
    stop = Stop()
    with FakeHttp([drip]).running() as server:
        threading.Timer(0.05, stop.set).start()
        with pytest.raises(Stopped):
            ask(server.url, stop=stop)


@pytest.mark.parametrize("headers", ["", "transfer-encoding: chunked\r\n"])
def test_an_answer_past_the_limit(headers):
    def endless(peer):
        if headers:
            peer.sendall(f"HTTP/1.1 200 OK\r\n{headers}\r\n".encode())
            while True:
                peer.sendall(b"3e8\r\n" + b"x" * 1000 + b"\r\n")
        peer.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
        while True:
            peer.sendall(b"x" * 1000)

    with FakeHttp([endless]).running() as server:
        assert str(refused(server.url, max_bytes=5000)) == f"{server.url} answered with more than 5000 bytes"


@pytest.mark.parametrize(
    "said",
    [
        b"",
        b"SSH-2.0-OpenSSH\r\n\r\n",
        b"HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nshort",
        b"HTTP/1.1 200 OK\r\nx: " + b"y" * 200_000,
    ],
)
def test_a_server_that_breaks_the_protocol(said):
    with FakeHttp([lambda peer: peer.sendall(said)]).running() as server:
        error = refused(server.url)
    assert str(error).startswith(server.url)
    assert error.retryable


def test_nobody_listens():
    with socket.create_server(("127.0.0.1", 0)) as unused:
        port = unused.getsockname()[1]
    error = refused(f"http://127.0.0.1:{port}/secret?token=1")
    assert str(error) == f"http://127.0.0.1:{port}: Connection refused"
    assert error.retryable


@pytest.mark.parametrize("headers", [{"X-A": "a\r\nX-B: b"}, {"bad name": "x"}, {"ünicode": "x"}])
def test_headers_that_cannot_be_written(headers):
    error = refused("http://127.0.0.1:1/", headers=headers)
    assert "cannot be written" in str(error)
    assert not error.retryable


def test_headers_that_frame_the_message_are_ours():
    with FakeHttp([response()]).running() as server:
        ask(
            server.url, content="abc", headers={"Content-Length": "99", "Transfer-Encoding": "chunked", "Host": "other"}
        )
    head = server.requests[0].partition(b"\r\n\r\n")[0].lower()
    assert b"content-length: 3" in head
    assert b"transfer-encoding" not in head
    assert b"host: other" in head


def test_tls_must_prove_the_name_though_the_address_is_pinned(certificate, monkeypatch):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate / "cert", certificate / "key")
    with FakeHttp([response()], context=context).running() as server:
        resolve_to(monkeypatch, *[["127.0.0.1"]] * 3)
        error = refused(f"https://good.example:{server.port}/")
        assert "self-signed certificate" in str(error)
        assert not error.retryable
        monkeypatch.setenv("SSL_CERT_FILE", str(certificate / "cert"))
        assert ask(f"https://good.example:{server.port}/").text == "fine"
        assert "Hostname mismatch" in str(refused(f"https://evil.example:{server.port}/"))
