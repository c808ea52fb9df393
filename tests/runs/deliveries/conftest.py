from ipaddress import ip_network

import pytest

from runs import outbound


@pytest.fixture(autouse=True)
def _loopback_is_listed(service, published):
    service(outbound={"allow_private": [ip_network("127.0.0.0/8")]})
    yield
    outbound._pool.close()
