from django.urls import path

from insights.views import agreement, page, pipelines, samples, step, steps

urlpatterns = [
    path("ui/insights", page.first, name="ui-insights"),
    path("ui/insights/pipelines", pipelines.pipelines, name="ui-insights-pipelines"),
    path("ui/insights/steps", steps.steps, name="ui-insights-steps"),
    path("ui/insights/samples", samples.samples, name="ui-insights-samples"),
    path("ui/insights/agreement", agreement.agreement, name="ui-insights-agreement"),
    path("ui/insights/steps/<path:name>", step.step, name="ui-insights-step"),
]
