"""The palette by the formula of WCAG 2: text 4.5 to 1, marks and the edges of fields 3 to 1, in both themes."""

import re
from itertools import product

import pytest
from django.conf import settings

THEMES = ("light", "dark")
PAPERS = ("bg", "surface", "sunk")
TEXT = [
    *product(("ink", "soft", "faint", "accent"), PAPERS),
    *((tone, ground) for tone in ("good", "warn", "bad") for ground in ("surface", f"{tone}-soft")),
    *product(("ink", "soft"), ("good-soft", "warn-soft", "bad-soft", "quiet-soft")),
    ("accent", "accent-soft"),
    ("accent-strong", "accent-soft"),
    ("accent", "warn-soft"),
    ("accent", "bad-soft"),
    ("accent", "quiet-soft"),
    ("on-accent", "accent"),
    ("on-accent", "accent-strong"),
    ("surface", "bad"),
]
MARKS = [*product("svcgd", ("surface",)), *product(("edge",), ("bg", "surface"))]


def palette(theme: str) -> dict[str, str]:
    """The six hex digits of each colour; dark is what light says unless it says otherwise."""
    sheet = (settings.BASE_DIR / "static/css/tokens.css").read_text()
    light, dark = sheet.split("@media (prefers-color-scheme: dark)")
    found = re.findall(r"--([a-z-]+): #([0-9a-f]{3,6});", light if theme == "light" else light + dark)
    return {name: digits if len(digits) == 6 else "".join(digit * 2 for digit in digits) for name, digits in found}


def luminance(digits: str) -> float:
    channels = [int(digits[at : at + 2], 16) / 255 for at in (0, 2, 4)]
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in channels)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: str, other: str) -> float:
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def test_the_formula() -> None:
    assert contrast("000000", "ffffff") == pytest.approx(21)
    # The best known grey that just passes: 0.1845 + 0.05 goes 4.48 times into 1.05, and one step darker 4.54 times.
    assert contrast("777777", "ffffff") == pytest.approx(4.48, abs=0.005)
    assert contrast("767676", "ffffff") == pytest.approx(4.54, abs=0.005)


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize(("pairs", "least"), [(TEXT, 4.5), (MARKS, 3.0)], ids=["text", "marks"])
def test_the_palette(theme: str, pairs: list[tuple[str, str]], least: float) -> None:
    colours = palette(theme)
    found = {pair: round(contrast(colours[pair[0]], colours[pair[1]]), 2) for pair in pairs}
    assert {pair: ratio for pair, ratio in found.items() if ratio < least} == {}
