"""The address of the marking pages: which steps, in which order, and what was marked just before."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, wraps
from typing import Any

from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.http import urlencode

from calibration.models import Order
from runs.filtering import BadFilter
from runs.marking.filters import NAMES, QueueFilters, parse, parse_order
from runs.marking.names import Known, known
from runs.views.errors import bad_value
from runs.views.query import NothingThere

# What every marking page takes.
PARAMETERS = (*NAMES, "order", "marked")

ORDERS = {
    Order.OLDEST.value: "Oldest first",
    Order.NEWEST.value: "Newest first",
    Order.USEFUL.value: "Most useful first",
    Order.RANDOM.value: "Random",
}


@dataclass(frozen=True)
class Asked:
    """By whom, and which of all there is; ``marked`` is the mark made just before, whose facts are shown.

    ``known`` looks the names up when it is first asked: most pages need none.
    """

    by: User
    known: Callable[[], Known]
    order: str
    filters: QueueFilters
    marked: int | None = None

    def chosen(self) -> dict[str, str]:
        """What is asked for beyond the defaults, without the mark."""
        return {**self.filters.chosen(), **({"order": self.order} if self.order != Order.OLDEST else {})}

    @property
    def query(self) -> str:
        return urlencode(self.chosen())

    @property
    def whole(self) -> str:
        """The query string with the mark."""
        return self._with(self.marked)

    def address(self, name: str, *args: Any, marked: int | None = None) -> str:
        """The page called ``name``, asked for the same steps."""
        query = self._with(marked)
        return reverse(name, args=args) + (f"?{query}" if query else "")

    def _with(self, marked: int | None) -> str:
        return urlencode({**self.chosen(), **({} if marked is None else {"marked": str(marked)})})


def read(request: HttpRequest) -> Asked:
    """Raises BadFilter naming each value that is not among the allowed ones."""
    assert isinstance(request.user, User)  # every marking page asks for a role
    names = cache(known)
    problems: list[str] = []
    filters, order = QueueFilters(), Order.OLDEST
    try:
        filters = parse(request.GET, names)
    except BadFilter as error:
        problems += error.problems
    try:
        order = parse_order(request.GET)
    except BadFilter as error:
        problems += error.problems
    marked = request.GET.get("marked", "")
    if marked and not is_number(marked):
        problems.append("marked must be the number of a mark.")
    if problems:
        raise BadFilter(problems)
    return Asked(request.user, names, order.value, filters, int(marked) if marked else None)


def read_after(request: HttpRequest) -> tuple[str, str] | None:
    """The pipeline and step after which a page of the queue begins; None for the first."""
    pipeline, step = request.GET.get("after_pipeline", ""), request.GET.get("after_step", "")
    return (pipeline, step) if pipeline or step else None


def is_number(text: str) -> bool:
    """Whether it can be the id of a row."""
    return text.isascii() and text.isdigit() and len(text) < 19


def no_such_step(asked: Asked) -> NothingThere:
    """For an address of a step that is not there, or that claims nothing a person could judge."""
    text = "There is no such step to mark: its address may be mistyped, or its run was removed."
    return NothingThere(text, back=asked.address("ui-marking-queue"), back_label="Marking queue")


def asked(view: Callable[..., HttpResponse]) -> Callable[..., HttpResponse]:
    """The view gets what its address asks for as ``asked``; an address that cannot be used is answered with 400."""

    @wraps(view)
    def checked(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        try:
            wanted = read(request)
        except BadFilter as error:
            return bad_value(request, error.problems, back=reverse("ui-marking-queue"), back_label="Marking queue")
        return view(request, *args, asked=wanted, **kwargs)

    return checked
