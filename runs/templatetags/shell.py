"""How a status, a time, a size or a share is written: the same on every page."""

import datetime as dt
import html
import re
from collections.abc import Iterable
from typing import Any

from django import template
from django.templatetags.static import static
from django.utils import timezone
from django.utils.html import escape, format_html
from django.utils.safestring import SafeString, mark_safe

from calibration import plurals
from runs.marking.counting import Count
from runs.pricing import dollars
from runs.trust import waterfall
from runs.views import step_config, wording

register = template.Library()


@register.simple_tag
def icon(name: str, css: str = "") -> SafeString:
    """One shape of the sprite, decorative: the word stands beside it."""
    return format_html(
        '<svg class="icon {}" aria-hidden="true"><use href="{}#{}"/></svg>', css, static("icons.svg"), name
    )


@register.simple_tag
def options(pairs: Iterable[tuple[str, str]], chosen: object = "") -> SafeString:
    """The options of a select from (value, text), ``chosen`` selected. Filters by name have hundreds of them."""
    return mark_safe("".join(_option(value, text, value == chosen) for value, text in pairs))  # noqa: S308 (escaped)


def _option(value: str, text: str, is_chosen: bool) -> str:
    return f'<option value="{html.escape(value)}"{" selected" if is_chosen else ""}>{html.escape(text)}</option>'


@register.simple_tag
def pill(status: str) -> SafeString:
    """A status of a run or step as word, shape and colour."""
    return format_html(
        '<span class="pill tone-{}">{}{}</span>', wording.tone(status), icon(status), wording.word(status)
    )


@register.simple_tag
def status_mark(status: str) -> SafeString:
    """The shape and colour alone, with the word for those who listen."""
    return format_html(
        '<span class="ink-{}" title="{}">{}<span class="sr">{}</span></span>',
        wording.tone(status),
        wording.word(status),
        icon(status),
        wording.word(status),
    )


@register.simple_tag(takes_context=True)
def when(context: dict[str, Any], moment: dt.datetime | None, show: str = "ago") -> str | SafeString:
    """A moment as "5 min ago", or as the time of day (``show="clock"``; "minute": no seconds), in the reader's zone."""
    if moment is None:
        return ""
    moment = timezone.localtime(moment)
    written = {"clock": f"{moment:%H:%M:%S}", "minute": f"{moment:%H:%M}"}
    text = written.get(show) or wording.ago(moment, context["now"])
    return format_html(
        '<time datetime="{}" title="{}" data-show="{}">{}</time>',
        moment.isoformat(timespec="milliseconds"),
        f"{moment.day} {moment:%b %Y, %H:%M:%S %Z}",
        show,
        text,
    )


@register.filter
def percent(value: float | None) -> str:
    """0.62 as "62%"; nothing where there is no number, which is not 0."""
    return wording.percent(value)


@register.filter
def milliseconds(value: int | str | None) -> str:
    """A duration; "" for none, and for what a template could not find."""
    return wording.duration(value / 1000) if isinstance(value, int) else ""


@register.simple_tag
def cost(nanos: int, unpriced: int = 0) -> SafeString:
    """A sum of money with the number of steps it knows nothing of; the exact amount is its title."""
    exact = f"{dollars(nanos):,f} $"
    if not unpriced:
        return format_html('<span title="{}">{}</span>', exact, wording.dollars(nanos))
    left_out = "1 step has no known cost" if unpriced == 1 else f"{unpriced:,} steps have no known cost"
    if nanos:
        whole = '<span title="{} and {}">{}, <span class="soft">{} unpriced</span></span>'
        return format_html(whole, exact, left_out, wording.dollars(nanos), number(unpriced))
    return format_html('<span class="soft" title="{}">{} unpriced</span>', left_out, number(unpriced))


@register.filter
def chars(count: int | None) -> str:
    """A length of text: "840 characters", "5.2 million characters"."""
    return wording.characters(count or 0)


@register.filter
def short(identifier: object) -> str:
    """The beginning of a run id: long enough to tell runs of the same millisecond apart from all others."""
    return str(identifier)[:13]


# ``3|plural:"step"`` is "3 steps".
register.filter("plural", plurals.plural)


@register.simple_tag
def found(count: Count | int, noun: str) -> SafeString:
    """How many a list holds on all its pages, "12 runs" or "5,000+ runs": what a number that leads to it has to say."""
    n = count if isinstance(count, int) else count.n
    more = "" if isinstance(count, int) or not count.more else "+"
    told = plurals.plural(n, noun) if not more else f"{n:,}+ {plurals.plural(2, noun).partition(' ')[2]}"
    return format_html('<data class="found" value="{}{}">{}</data>', n, more, told)


@register.filter
def number(value: int) -> str:
    """1234567 as "1,234,567"."""
    return f"{value:,}"


@register.filter
def status_word(status: str) -> str:
    return wording.word(status)


@register.filter
def outcome_tone(outcome: str) -> str:
    """The colour of a mark, which its shape and word tell too."""
    return wording.OUTCOME_TONES[outcome]


@register.filter
def share(value: float) -> str:
    """A position or width inside an SVG, as a share of it."""
    return f"{value * 100:.2f}%"


@register.filter
def span(ends: tuple[float, float]) -> str:
    return share(ends[1] - ends[0])


@register.filter
def whole(value: float) -> str:
    return waterfall.whole(value)


@register.filter
def as_text(value: Any) -> str:
    """Whatever an agent put where a text was expected, as text."""
    return "" if value is None else step_config.value_text(value)


# Ranges and "95% interval" stay quiet: they qualify a figure, they are not it.
_NUMBER = re.compile(r"(?<! to )\b\d+(?:\.\d+)?%(?! interval)|\b\d+ of (?:the )?\d+\b")


@register.filter
def emphasise(sentence: str) -> SafeString:
    """The sentence with its figures in bold. Escaped first: names in it come from agents."""
    return mark_safe(_NUMBER.sub(r"<b>\g<0></b>", escape(sentence)))  # noqa: S308
