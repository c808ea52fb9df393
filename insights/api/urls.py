"""The part of the JSON API that reads over everything; like all of it, at the root."""

from django.urls import URLPattern, path

from insights.api import calibration

# A step's name may hold slashes: what follows the name comes before the name alone.
urlpatterns: list[URLPattern] = [
    path("steps/<path:name>/calibration", calibration.StepCalibration.as_view()),
]
