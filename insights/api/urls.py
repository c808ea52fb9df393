"""The part of the JSON API that reads over everything; like all of it, at the root."""

from django.urls import URLPattern, path

import runs.converters  # noqa: F401 (makes <name:...> known)
from insights.api import agents, calibration, steps, versions

# A step's name may hold slashes: what follows the name comes before the name alone.
urlpatterns: list[URLPattern] = [
    path("steps/<name:name>/calibration", calibration.StepCalibration.as_view()),
    path("steps/<name:name>/versions", versions.StepVersions.as_view()),
    path("agents", agents.AgentList.as_view()),
    path("agents/<name:name>/versions", versions.AgentVersions.as_view()),
    path("steps", steps.StepList.as_view()),
    path("steps/<name:name>", steps.StepDetail.as_view()),
]
