"""The project's settings with a throw-away var folder and plain static files."""

import os
import tempfile

os.environ.setdefault("VECTORSTEP_VAR", tempfile.mkdtemp(prefix="vectorstep-test-"))

from vectorstep.settings import *  # noqa: E402, F403

STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"},
}
PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
