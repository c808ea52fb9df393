"""What a server does once, between loading its code and its first request."""

import gc

from django.urls import get_resolver


def settle() -> None:
    """Load every page's code, and have the garbage collector pass over all that is loaded by now.

    It stays as long as the process. A full collection that walks through it takes some 50 ms, in the middle of a
    request.
    """
    get_resolver().url_patterns  # noqa: B018 (loads what the addresses lead to)
    gc.collect()
    gc.freeze()
