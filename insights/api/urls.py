"""The part of the JSON API that reads over everything; like all of it, at the root."""

from django.urls import URLPattern

urlpatterns: list[URLPattern] = []
