from django.urls import URLPattern, URLResolver, include, path

urlpatterns: list[URLPattern | URLResolver] = [
    path("", include("runs.api.urls")),
    path("", include("runs.views.urls")),
    path("", include("insights.api.urls")),
    path("", include("insights.urls")),
]

handler400 = "runs.views.errors.bad_request"
handler403 = "runs.views.errors.forbidden"
handler404 = "runs.views.errors.not_found"
handler500 = "runs.views.errors.server_error"
