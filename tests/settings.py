"""The project's settings with a throw-away var folder and plain static files.

``VECTORSTEP_TEST_DATABASE=sqlite`` (the default) is the set-up of ``script/server``: a SQLite file and
the broker made of files. ``postgresql`` is the grown-up one: a real PostgreSQL and a real Valkey.
"""

import os

from tests.services import Folder, Postgres, Valkey

ON_POSTGRESQL = {"sqlite": False, "postgresql": True}[os.environ.get("VECTORSTEP_TEST_DATABASE", "sqlite")]
XDIST_WORKER = os.environ.get("PYTEST_XDIST_WORKER", "")

# Every process of a parallel run has its own var folder; they share the servers of the first.
os.environ["VECTORSTEP_VAR"] = str(Folder("vs-var-").path)
if ON_POSTGRESQL:
    if not XDIST_WORKER:
        os.environ["DATABASE_URL"] = Postgres().url()
        os.environ["VECTORSTEP_TEST_VALKEY_PORT"] = str(Valkey().port)
    number = int(XDIST_WORKER.removeprefix("gw") or 0)
    os.environ["CELERY_BROKER_URL"] = f"redis://127.0.0.1:{os.environ['VECTORSTEP_TEST_VALKEY_PORT']}/{number}"
elif not XDIST_WORKER:
    # The set-up of whoever runs the tests is not the tests' business.
    for name in ("DATABASE_URL", "CELERY_BROKER_URL"):
        os.environ.pop(name, None)

from vectorstep.settings import *  # noqa: E402, F403
from vectorstep.settings import DATABASES, STATIC_ROOT, VAR_DIR  # noqa: E402

# WhiteNoise warns about a folder of collected files that is not there.
STATIC_ROOT.mkdir(parents=True)

# A file, as in production: an in-memory database is invisible to other threads and processes.
DATABASES["default"]["TEST"] = {"NAME": "vectorstep_test" if ON_POSTGRESQL else str(VAR_DIR / "test.sqlite3")}
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"},
}
PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
