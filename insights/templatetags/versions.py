"""How the comparison of two versions is drawn."""

from django import template
from django.utils.html import format_html
from django.utils.safestring import SafeString

from calibration.differences import Record
from calibration.intervals import wilson
from insights.effects import Effect
from insights.views.version_page import short

register = template.Library()

_TONES = {"helped": "good", "hurt": "bad", "unclear": "quiet", "too few": "quiet"}
_ICONS = {"helped": "check", "hurt": "warning", "unclear": "unknown", "too few": "info"}


@register.filter
def verdict_tone(verdict: str) -> str:
    return _TONES[verdict]


@register.filter
def verdict_icon(verdict: str) -> str:
    return _ICONS[verdict]


@register.filter
def short_version(value: str) -> str:
    """The beginning of a version's hash, or "not recorded"."""
    return short(value)


@register.filter
def sides(effect: Effect) -> list[tuple[str, Record]]:
    """What each side of the comparison holds, the older first."""
    return [("Before", effect.difference.before), ("After", effect.difference.after)]


@register.filter
def range_of(record: Record) -> str:
    """The 95 % interval: "55 to 75%"."""
    interval = None if record.accuracy is None else wilson(record.accuracy, record.n)
    return f"{interval.lo * 100:.0f} to {interval.hi * 100:.0f}%" if interval else ""


@register.simple_tag
def accuracy_bar(record: Record) -> str | SafeString:
    """A dot at the accuracy and a line over its interval, from 0 to 100 %; the figures stand beside it."""
    interval = None if record.accuracy is None else wilson(record.accuracy, record.n)
    if record.accuracy is None or interval is None:
        return ""
    return format_html(
        '<svg class="acc" aria-hidden="true" width="100%" height="16">'
        '<line class="acc-track" x1="0" x2="100%" y1="8" y2="8"/>'
        '<line class="acc-range" x1="{}%" x2="{}%" y1="8" y2="8"/><circle cx="{}%" cy="8" r="5"/></svg>',
        *(f"{value * 100:.2f}" for value in (interval.lo, interval.hi, record.accuracy)),
    )
