from django.urls import path

from insights.views import page, pipelines

urlpatterns = [
    path("ui/insights", page.first, name="ui-insights"),
    path("ui/insights/pipelines", pipelines.pipelines, name="ui-insights-pipelines"),
]
