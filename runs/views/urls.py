from django.contrib.auth.views import LogoutView
from django.urls import path

from runs.views import (
    feedback,
    login,
    pipeline_actions,
    pipeline_page,
    pipelines_list,
    reader_settings,
    run_actions,
    run_events,
    run_page,
    runs_list,
    texts,
)
from runs.views.home import home

urlpatterns = [
    path("", home, name="home"),
    path("ui/", home, name="ui-home"),
    path("ui/login", login.login, name="login"),
    path("ui/logout", LogoutView.as_view(), name="logout"),
    path("ui/settings", reader_settings.settings, name="ui-settings"),
    path("ui/runs", runs_list.runs, name="ui-runs"),
    path("ui/runs/rows", runs_list.rows, name="ui-run-rows"),
    path("ui/runs/<uuid:run_id>", run_page.run, name="ui-run"),
    path("ui/runs/<uuid:run_id>/head", run_page.head, name="ui-run-head"),
    path("ui/runs/<uuid:run_id>/step", run_page.step_by_name, name="ui-run-step-by-name"),
    path("ui/runs/<uuid:run_id>/log", run_page.log, name="ui-run-log"),
    path("ui/runs/<uuid:run_id>/events", run_events.events, name="ui-run-events"),
    path("ui/runs/<uuid:run_id>/cancel", run_actions.cancel, name="ui-run-cancel"),
    path("ui/runs/<uuid:run_id>/mark", feedback.mark_run, name="ui-run-mark"),
    path("ui/runs/<uuid:run_id>/marks", feedback.run_marks, name="ui-run-marks"),
    path("ui/runs/<uuid:run_id>/marks/section", feedback.run_section, name="ui-run-section"),
    path("ui/steps/<uuid:step_id>", run_page.step, name="ui-step"),
    path("ui/steps/<uuid:step_id>/trace", texts.trace, name="ui-step-trace"),
    path("ui/steps/<uuid:step_id>/text/<slug:part>", texts.step_text, name="ui-step-text"),
    path("ui/steps/<uuid:step_id>/mark", feedback.mark_step, name="ui-step-mark"),
    path("ui/steps/<uuid:step_id>/marks", feedback.step_marks, name="ui-step-marks"),
    path("ui/marks/<int:mark_id>/undo", feedback.undo, name="ui-mark-undo"),
    path("ui/signals/<uuid:signal_id>/text/<slug:part>", texts.signal_text, name="ui-signal-text"),
    path("ui/pipelines", pipelines_list.pipelines, name="ui-pipelines"),
    path("ui/pipelines/reload", pipeline_actions.reload, name="ui-pipelines-reload"),
    path("ui/pipelines/<str:name>", pipeline_page.pipeline, name="ui-pipeline"),
    path("ui/pipelines/<str:name>/run", pipeline_actions.run_now, name="ui-pipeline-run"),
]
