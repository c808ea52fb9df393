"""The strip of bins as inline SVG, and the sentences and ranges beside it."""

from django import template
from django.conf import settings
from django.urls import reverse
from django.utils.html import escape
from django.utils.safestring import SafeString, mark_safe

from calibration.bins import Bin
from calibration.flags import Flag
from calibration.intervals import Interval
from calibration.summary import Summary
from insights import query
from insights import strip as drawing
from insights.query import drawn_width, query_string
from insights.strip import CELL, TALL, Cell, Kind
from runs.trust.percent import edge

register = template.Library()

MIDDLE = TALL / 2
_SHAPES: dict[Kind, str] = {
    "empty": "",
    "few": "",
    "agrees": f'<circle cx="{CELL / 2}" cy="{MIDDLE}" r="3.5"/>',
    "over": f'<path d="M4.5 {MIDDLE - 3.5}h11l-5.5 8z"/>',
    "under": f'<path d="M4.5 {MIDDLE + 3.5}h11l-5.5 -8z"/>',
}


@register.simple_tag
def strip(summary: Summary, stage: str = "") -> SafeString:
    """All bins of a bucket, told in words to those who do not see them; each leads to the answers in it."""
    bins = summary.bins
    address = evidence_url(summary, stage)
    drawn = drawing.cells(bins, n_min=settings.SERVICE.calibration.n_min)
    cells = "".join(_cell(cell, f"{address}&bin={index}") for index, cell in enumerate(drawn))
    size = f'viewBox="0 0 {drawing.width(len(bins))} {TALL}" width="{drawing.width(len(bins))}" height="{TALL}"'
    told = escape(drawing.told(bins))
    # What is an image to a reader of screens cannot hold links.
    role = "group" if summary.total_n else "img"
    return mark_safe(f'<svg class="strip" role="{role}" aria-label="{told}" {size}>{cells}</svg>')  # noqa: S308


@register.simple_tag
def evidence_url(summary: Summary, stage: str = "") -> str:
    """The address of the labelled answers that a bucket's numbers are made of."""
    width = 1 / len(summary.bins)
    asked = query_string(
        bucket=summary.bucket_id,
        stage="" if stage == "all" else stage,
        width=None if width == drawn_width() else width,
    )
    return f"{reverse('ui-insights-samples')}?{asked}"


@register.simple_tag
def bin_mark(kind: Kind) -> SafeString:
    """One cell alone, decorative: the word stands beside it."""
    fill = 0.6 if kind == "few" else 1.0
    inside = _inside(kind, fill=fill, sure=True)
    return mark_safe(  # noqa: S308 (constants)
        f'<svg class="strip one" aria-hidden="true" viewBox="0 0 {CELL} {TALL}" width="{CELL}" height="{TALL}">'
        f"{inside}</svg>"
    )


@register.simple_tag
def legend() -> list[tuple[Kind, str]]:
    """Every kind of cell with its meaning."""
    return list(drawing.MEANING.items())


# What the bins drawn are not, where that is so.
register.simple_tag(query.width_note)


@register.filter
def kind(of: Bin) -> Kind:
    return drawing.kind_of(of)


@register.filter
def kind_words(of: Bin) -> str:
    return drawing.WORDS[drawing.kind_of(of)]


@register.filter
def bin_range(of: Bin | Flag) -> str:
    """ "80 to 90%" """
    return drawing.percent_range(of.lo, of.hi)


@register.filter
def interval(of: Interval | None) -> str:
    """ "44 to 77%"; nothing where nothing is known."""
    return drawing.interval_range(of)


@register.filter
def exact(value: float) -> str:
    """A threshold as it was written: 0.755 as "75.5%"."""
    return f"{edge(value)}%"


@register.filter
def sentence(of: Flag) -> str:
    """A flag's sentence as it begins a line."""
    return f"{of.sentence[:1].upper()}{of.sentence[1:]}"


def _cell(cell: Cell, address: str) -> str:
    one = cell.bin
    told = f"{drawing.percent_range(one.lo, one.hi)}: {cell.words}"
    if one.n:
        told = f"{told}. Says {one.mean_confidence:.0%}, is right {one.mean_label:.0%} of {one.n}"
        told = f"{told}, interval {drawing.interval_range(one.interval)}"
    inside = _inside(cell.kind, fill=cell.fill, sure=cell.sure)
    drawn = f'<g transform="translate({cell.x} 0)"><title>{escape(told)}</title>{inside}</g>'
    return f'<a href="{escape(address)}">{drawn}</a>' if one.n else drawn


def _inside(kind: Kind, *, fill: float, sure: bool) -> str:
    box = f'<rect class="box" x=".5" y=".5" width="{CELL - 1}" height="{TALL - 1}" rx="3"/>'
    part = ""
    if kind == "few":
        tall = max(2.0, fill * (TALL - 6))
        part = f'<rect class="part" x="3" y="{TALL - 3 - tall:.1f}" width="{CELL - 6}" height="{tall:.1f}" rx="1"/>'
    return f'<g class="cell {kind}{"" if sure else " unsure"}">{box}{part}{_SHAPES[kind]}</g>'
