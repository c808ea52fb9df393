"""Which network addresses outgoing requests may reach: pure, no look-ups.

Public addresses are open. Private and loopback ones only where the operator listed the network.
Those that hand out a machine's credentials, and those that are no single host, never.
"""

from collections.abc import Iterable
from ipaddress import (
    IPv4Address,
    IPv4Network,
    IPv6Address,
    IPv6Network,
    ip_address,
    ip_network,
)

Address = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network

_METADATA = frozenset(
    map(
        ip_address,
        (
            "169.254.169.254",  # most clouds
            "fd00:ec2::254",  # AWS
            "fd20:ce::254",  # Google
            "100.100.100.200",  # Alibaba
            "168.63.129.16",  # Azure, a public address
            "192.0.0.192",  # Oracle
        ),
    )
)
_NEVER: tuple[Network, ...] = tuple(
    map(
        ip_network,
        (
            "0.0.0.0/8",  # "this network": on Linux, this very host
            "169.254.0.0/16",  # link-local
            "224.0.0.0/4",  # multicast
            "240.0.0.0/4",  # reserved, and broadcast
            "::/128",
            "fe80::/10",  # link-local
            "fec0::/10",  # site-local, withdrawn
            "ff00::/8",  # multicast
        ),
    )
)
_NAT64 = ip_network("64:ff9b::/96")
_NAT64_LOCAL = ip_network("64:ff9b:1::/48")
_COMPATIBLE = ip_network("::/96")


def refusal(address: str, allow_private: Iterable[Network]) -> str:
    """Why a request may not go to this address; "" when it may."""
    try:
        reached = _reached(ip_address(address))
    except ValueError:
        return f"{address} is no address"
    for one in reached:
        if one in _METADATA:
            return f"{address} is a cloud metadata address"
        if any(one in network for network in _NEVER):
            return f"{address} is a link-local, multicast, unspecified or reserved address"
    networks = list(allow_private)
    for one in reached:
        if not one.is_global and not any(one in network for network in networks):
            return f"{address} is a private address and outbound.allow_private does not list its network"
    return ""


def _reached(address: Address) -> list[Address]:
    """The address itself, and the IPv4 addresses that tunnels and translators would turn it into.

    An IPv4-mapped address is nothing but the IPv4 address it maps.
    """
    if isinstance(address, IPv4Address):
        return [address]
    if address.ipv4_mapped is not None:
        return [address.ipv4_mapped]
    inside: list[Address] = []
    if address.sixtofour is not None:
        inside.append(address.sixtofour)
    if address.teredo is not None:
        inside.extend(address.teredo)
    if address in _NAT64 or address in _NAT64_LOCAL or (address in _COMPATIBLE and int(address) > 1):
        inside.append(IPv4Address(int(address) & 0xFFFFFFFF))
    return [address, *inside]
