from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect


def home(request: HttpRequest) -> HttpResponse:
    """Until there is an overview, the runs are what one comes for."""
    return redirect("ui-runs")
