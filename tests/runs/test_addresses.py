from ipaddress import ip_network

import pytest

from runs.addresses import refusal

LISTED = [ip_network(text) for text in ("127.0.0.0/8", "10.0.0.0/8", "::1/128", "fd00::/8", "100.64.0.0/10")]
EVERYTHING = [ip_network("0.0.0.0/0"), ip_network("::/0")]


@pytest.mark.parametrize("address", ["93.184.215.14", "8.8.8.8", "2606:4700:4700::1111", "::ffff:8.8.8.8"])
def test_public_addresses_are_open(address):
    assert refusal(address, []) == ""


@pytest.mark.parametrize(
    "address",
    [
        "127.0.0.1",
        "127.255.0.1",
        "10.1.2.3",
        "172.16.0.1",
        "192.168.1.1",
        "100.64.0.1",
        "198.18.0.1",
        "::1",
        "fd12::1",
        "::ffff:127.0.0.1",
        "::ffff:10.0.0.1",
        "2002:0a00:0001::1",  # 6to4 of 10.0.0.1
        "64:ff9b::10.0.0.1",  # NAT64
        "64:ff9b:1::127.0.0.1",
        "::10.0.0.1",  # IPv4-compatible
    ],
)
def test_private_addresses_are_refused_unless_listed(address):
    assert "private address" in refusal(address, [])
    assert refusal(address, EVERYTHING) == ""


def test_listing_one_network_opens_no_other():
    assert refusal("10.9.9.9", LISTED) == ""
    assert refusal("::ffff:10.9.9.9", LISTED) == ""
    assert "private address" in refusal("192.168.0.1", LISTED)
    assert "private address" in refusal("::ffff:192.168.0.1", LISTED)


@pytest.mark.parametrize(
    "address",
    [
        "0.0.0.0",
        "0.1.2.3",
        "169.254.169.254",
        "169.254.0.1",
        "224.0.0.1",
        "255.255.255.255",
        "240.0.0.1",
        "::",
        "fe80::1",
        "fe80::1%eth0",
        "ff02::1",
        "::ffff:169.254.169.254",
        "::ffff:0.0.0.0",
        "2002:a9fe:a9fe::1",  # 6to4 of 169.254.169.254
        "64:ff9b::169.254.169.254",
        "::169.254.169.254",
        "fd00:ec2::254",
        "fd20:ce::254",
        "100.100.100.200",
        "168.63.129.16",
        "192.0.0.192",
    ],
)
def test_some_addresses_are_never_open(address):
    assert refusal(address, [])
    assert "private" not in refusal(address, EVERYTHING)
    assert refusal(address, EVERYTHING)


def test_what_is_no_address_is_refused():
    assert refusal("localhost", EVERYTHING) == "localhost is no address"
