from django.urls import path

import runs.converters  # noqa: F401 (makes <name:...> known)
from insights.views import agents, agreement, answers, home, page, pipelines, prompts, samples, step, steps

# A name may hold slashes: what follows a name comes before the name alone.
urlpatterns = [
    path("", home.root, name="home"),
    path("ui/", home.home, name="ui-home"),
    path("ui/insights", page.first, name="ui-insights"),
    path("ui/insights/pipelines", pipelines.pipelines, name="ui-insights-pipelines"),
    path("ui/insights/agents", answers.agents, name="ui-insights-agents"),
    path("ui/insights/models", answers.models, name="ui-insights-models"),
    path("ui/insights/steps", steps.steps, name="ui-insights-steps"),
    path("ui/insights/samples", samples.samples, name="ui-insights-samples"),
    path("ui/insights/agreement", agreement.agreement, name="ui-insights-agreement"),
    path("ui/insights/steps/<name:name>/versions", prompts.versions, name="ui-prompt-versions"),
    path("ui/insights/steps/<name:name>", step.step, name="ui-insights-step"),
    path("ui/agents", agents.agent_list, name="ui-agents"),
    path("ui/agents/<name:name>/versions", agents.versions, name="ui-agent-versions"),
    path("ui/agents/<name:name>", agents.steps, name="ui-agent-steps"),
]
