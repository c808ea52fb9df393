from typing import Any

from django.contrib.auth.views import LoginView
from django.http import HttpRequest, HttpResponseBase
from django.utils import timezone
from django_htmx.http import HttpResponseClientRefresh

from runs.views.query import parameters

_form = LoginView.as_view(template_name="login.html", redirect_authenticated_user=True)


@parameters("next", form=("next", "username", "password"))
def login(request: HttpRequest, **kwargs: Any) -> HttpResponseBase:
    """The form. A part of a page whose session has ended reloads the page instead of showing the form inside it."""
    if request.headers.get("HX-Request") == "true":
        return HttpResponseClientRefresh()
    return _form(request, extra_context={"now": timezone.now()}, **kwargs)
