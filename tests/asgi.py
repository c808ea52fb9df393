"""The web application as the tests' ``server`` runs it: static files straight from where they lie."""

import os

os.environ["DJANGO_SETTINGS_MODULE"] = "tests.web_settings"

from django.contrib.staticfiles.handlers import ASGIStaticFilesHandler

from vectorstep.asgi import application as project

application = ASGIStaticFilesHandler(project)
