from html import unescape

from django.test import Client


def html(client: Client, address: str, status: int = 200) -> str:
    response = client.get(address)
    assert response.status_code == status, response.content.decode()[:500]
    return unescape(response.content.decode())
