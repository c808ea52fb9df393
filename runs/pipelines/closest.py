"""Suggesting the name that was probably meant."""

from collections.abc import Iterable
from difflib import get_close_matches


def words(text: str) -> frozenset[str]:
    """The names in a text, for long lists of them in code."""
    return frozenset(text.split())


def closest(name: str, known: Iterable[str]) -> str | None:
    found = get_close_matches(name, list(known), n=1, cutoff=0.6)
    return found[0] if found else None


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """``; did you mean 'x'?`` where something is close, else the known names (up to twenty)."""
    known = sorted(known)
    near = closest(name, known)
    if near is not None:
        return f"; did you mean {near!r}?"
    if not known:
        return ""
    return "; known: " + ", ".join(known[:20]) + (" ..." if len(known) > 20 else "")
