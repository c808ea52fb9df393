from django.urls import URLPattern, URLResolver, include, path

urlpatterns: list[URLPattern | URLResolver] = [
    path("", include("runs.api.urls")),
]

handler400 = "runs.api.errors.bad_request"
handler403 = "runs.api.errors.forbidden"
handler404 = "runs.api.errors.not_found"
handler500 = "runs.api.errors.failed"
