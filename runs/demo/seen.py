"""When the demo's prompts and agents were in use: as its runs were moved, so are their versions."""

from django.db.models import Max, Min

from calibration.models import AgentVersion, PromptVersion
from runs.demo.runs import demo_runs
from runs.models import Step


def date_versions() -> None:
    """Set first and last seen to the first and last of the demo's steps that ran with each version."""
    steps = Step.objects.filter(run__in=demo_runs()).order_by()
    seen = (Min("created_at"), Max("created_at"))
    for name, prompt_hash, first, last in steps.values_list("name", "prompt_hash").annotate(*seen):
        prompts = PromptVersion.objects.filter(step=name, prompt_hash=prompt_hash)
        prompts.update(first_seen=first, last_seen=last)
    for agent, version, first, last in steps.values_list("agent", "agent_version").annotate(*seen):
        agents = AgentVersion.objects.filter(agent=agent, version=version)
        agents.update(first_seen=first, last_seen=last)
