"""The JSON API, at the root. Every view needs a token or a login, but health."""

from django.urls import path

from runs import converters  # noqa: F401 (makes <name:...> known)
from runs.api import (
    approvals,
    escalations,
    feedback,
    health,
    intake,
    pausing,
    pipelines,
    reruns,
    runs,
    schedules,
    schema,
    trust,
)

urlpatterns = [
    path("webhook", intake.Webhook.as_view()),
    path("pipelines/<name:name>/run", intake.StartPipeline.as_view()),
    path("pipelines/<name:name>/pause", pausing.PausePipeline.as_view()),
    path("pipelines/<name:name>/resume", pausing.ResumePipeline.as_view()),
    path("pauses", pausing.PauseList.as_view()),
    path("pause", pausing.PauseEverything.as_view()),
    path("resume", pausing.ResumeEverything.as_view()),
    path("runs", runs.RunList.as_view()),
    path("runs/<uuid:run_id>", runs.RunDetail.as_view()),
    path("runs/<uuid:run_id>/events", runs.RunEvents.as_view()),
    path("runs/<uuid:run_id>/cancel", runs.CancelRun.as_view()),
    path("runs/<uuid:run_id>/rerun", reruns.RerunRun.as_view()),
    path("runs/<uuid:run_id>/feedback", feedback.RunFeedback.as_view()),
    path("runs/<uuid:run_id>/steps/<name:step_name>/feedback", feedback.StepFeedback.as_view()),
    path("approvals", approvals.ApprovalList.as_view()),
    path("approvals/<uuid:approval_id>", approvals.ApprovalDetail.as_view()),
    path("approvals/<uuid:approval_id>/answer", approvals.AnswerApproval.as_view()),
    path("escalations", escalations.EscalationList.as_view()),
    path("escalations/<uuid:escalation_id>", escalations.EscalationDetail.as_view()),
    path("escalations/<uuid:escalation_id>/decision", escalations.DecideEscalation.as_view()),
    path("pipelines", pipelines.PipelineList.as_view()),
    path("pipelines/<name:name>", pipelines.PipelineDetail.as_view()),
    path("schedules", schedules.ScheduleList.as_view()),
    path("reload", pipelines.Reload.as_view()),
    path("api/trust/evaluate", trust.EvaluateTrust.as_view()),
    path("health", health.Health.as_view()),
    path("schema/", schema.Schema.as_view()),
]
