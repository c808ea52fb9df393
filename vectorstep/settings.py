"""Django settings. Everything that varies between machines comes from ``vectorstep.env``."""

import os
from typing import Any

from csp.constants import NONE, SELF
from kombu import Queue

from vectorstep import __version__, config, env

BASE_DIR = env.BASE_DIR
VAR_DIR = env.path("VECTORSTEP_VAR", "var")
PIPELINES_DIR = env.path("VECTORSTEP_PIPELINES", "examples/pipelines")
STEPS_DIR = env.path("VECTORSTEP_STEPS", "examples/steps")
CONFIG_FILE = env.path("VECTORSTEP_CONFIG", "examples/config.yaml")
SERVICE = config.load(CONFIG_FILE)
# What the links in messages begin with.
PUBLIC_URL = SERVICE.public_url or f"http://127.0.0.1:{env.port()}"

DEBUG = env.flag("VECTORSTEP_DEBUG")
SECRET_KEY = env.secret_key(VAR_DIR)
ALLOWED_HOSTS = env.names("VECTORSTEP_ALLOWED_HOSTS", "localhost,127.0.0.1,[::1]")

INSTALLED_APPS = [
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.messages",
    "django.contrib.sessions",
    "whitenoise.runserver_nostatic",
    "django.contrib.staticfiles",
    "csp",
    "django_htmx",
    "template_partials",
    "rest_framework",
    "drf_spectacular",
    "calibration",
    "runs",
    "insights",
    "vectorstep",
]

MIDDLEWARE = [
    "django.middleware.security.SecurityMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "csp.middleware.CSPMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
    "runs.views.query.RefuseNul",
    "runs.views.zone.ReaderZone",
]

ROOT_URLCONF = "vectorstep.urls"
ASGI_APPLICATION = "vectorstep.asgi.application"
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ],
        },
    },
]

# Database ---------------------------------------------------------------------------------------

DATABASES: dict[str, dict[str, Any]] = {"default": env.database(default=f"sqlite:///{VAR_DIR / 'vectorstep.sqlite3'}")}
DATABASE = DATABASES["default"]
ON_SQLITE = DATABASE["ENGINE"].endswith("sqlite3")
if ON_SQLITE:
    DATABASE["ENGINE"] = "vectorstep.db.sqlite3"
    DATABASE["OPTIONS"] = {
        "transaction_mode": "IMMEDIATE",
        "timeout": 30,
        "init_command": (
            "PRAGMA journal_mode=WAL;"
            "PRAGMA synchronous=NORMAL;"
            "PRAGMA cache_size=-32000;"
            "PRAGMA temp_store=MEMORY;"
            "PRAGMA mmap_size=268435456;"
        ),
    }
    DATABASE["CONN_MAX_AGE"] = None
else:
    DATABASE["OPTIONS"] = {
        **DATABASE.get("OPTIONS", {}),
        "pool": {"min_size": 2, "max_size": 24, "timeout": 20},
        "server_side_binding": True,
        # Statements are prepared at their third use. PgBouncer in transaction mode needs version 1.21 or newer for it.
        "prepare_threshold": 3,
    }
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

# Celery -----------------------------------------------------------------------------------------

BROKER_DIR = VAR_DIR / "broker"
CELERY_BROKER_URL = env.broker(default="filesystem://")
CELERY_BROKER_TRANSPORT_OPTIONS: dict[str, Any] = {}
if CELERY_BROKER_URL.startswith("filesystem:"):
    CELERY_BROKER_TRANSPORT_OPTIONS = {"folder": str(BROKER_DIR)}
elif CELERY_BROKER_URL.startswith("redis"):
    # A broker that has frozen, or is behind a dead line, must not hold up web requests. Workers wait a second at a
    # time for messages, so this is no limit for them.
    CELERY_BROKER_TRANSPORT_OPTIONS = {"socket_timeout": 2.0, "socket_connect_timeout": 2.0}
CELERY_TASK_ROUTES = {"runs.tasks.sweep": {"queue": "sweep"}}
CELERY_TASK_QUEUES = [Queue("celery"), Queue("sweep")]
CELERY_TASK_DEFAULT_QUEUE = "celery"
CELERY_BEAT_SCHEDULE = {
    "sweep": {"task": "runs.tasks.sweep", "schedule": 1.0, "options": {"expires": 5}},
}
CELERY_BEAT_SCHEDULE_FILENAME = str(VAR_DIR / "beat-schedule")
CELERY_TASK_ACKS_LATE = True
CELERY_TASK_IGNORE_RESULT = True
CELERY_WORKER_PREFETCH_MULTIPLIER = 1
CELERY_WORKER_POOL = "threads"
# How many worker processes script/server starts: a Python process computes on one core.
WORKERS = env.number("VECTORSTEP_WORKERS", min(2, os.cpu_count() or 1))
CELERY_WORKER_CONCURRENCY = env.number("VECTORSTEP_WORKER_THREADS", 128)
CELERY_WORKER_SEND_TASK_EVENTS = False
CELERY_WORKER_ENABLE_REMOTE_CONTROL = False
CELERY_WORKER_HIJACK_ROOT_LOGGER = False
CELERY_BROKER_CONNECTION_RETRY_ON_STARTUP = True
# The database holds the truth: a message that cannot be published at once is published by the
# sweeper, so a web request never waits for a broker that is down.
CELERY_TASK_PUBLISH_RETRY = False
CELERY_TIMEZONE = "UTC"
if ON_SQLITE:
    # Celery closes the connection around every task; on SQLite, opening one costs more than a step.
    CELERY_DB_REUSE_MAX = 1_000_000

# People -----------------------------------------------------------------------------------------

# The password of the first administrator (`manage.py ensure_admin`); empty: one is made up.
ADMIN_PASSWORD = env.text("VECTORSTEP_ADMIN_PASSWORD", "")
AUTHENTICATION_BACKENDS = ["runs.access.throttle.ThrottledBackend"]
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": "django.contrib.auth.password_validation.UserAttributeSimilarityValidator"},
    {"NAME": "django.contrib.auth.password_validation.MinimumLengthValidator"},
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
]
LOGIN_URL = "login"
LOGIN_REDIRECT_URL = "/ui/"
LOGOUT_REDIRECT_URL = "login"
CSRF_FAILURE_VIEW = "runs.views.errors.csrf_failure"

LANGUAGE_CODE = "en-gb"
TIME_ZONE = "UTC"
USE_I18N = False
USE_TZ = True

# What leaves the house --------------------------------------------------------------------------

EMAIL_HOST = env.text("VECTORSTEP_EMAIL_HOST", "")
EMAIL_PORT = env.number("VECTORSTEP_EMAIL_PORT", 587)
EMAIL_HOST_USER = env.text("VECTORSTEP_EMAIL_USER", "")
EMAIL_HOST_PASSWORD = env.text("VECTORSTEP_EMAIL_PASSWORD", "")
EMAIL_USE_SSL = EMAIL_PORT == 465
EMAIL_USE_TLS = env.flag("VECTORSTEP_EMAIL_TLS") and not EMAIL_USE_SSL
DEFAULT_FROM_EMAIL = env.text("VECTORSTEP_EMAIL_FROM", "vectorstep@localhost")

# Static files -----------------------------------------------------------------------------------

STATIC_URL = "static/"
STATICFILES_DIRS = [BASE_DIR / "static"]
STATIC_ROOT = VAR_DIR / "static"
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {"BACKEND": "whitenoise.storage.CompressedManifestStaticFilesStorage"},
}

WEB_THREADS = env.number("VECTORSTEP_WEB_THREADS", 16)

# Security ---------------------------------------------------------------------------------------

HTTPS = env.flag("VECTORSTEP_HTTPS")
SECURE_SSL_REDIRECT = HTTPS
SESSION_COOKIE_SECURE = HTTPS
CSRF_COOKIE_SECURE = HTTPS
SECURE_HSTS_SECONDS = 31_536_000 if HTTPS else 0
SECURE_HSTS_INCLUDE_SUBDOMAINS = HTTPS
SECURE_HSTS_PRELOAD = HTTPS
SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https") if HTTPS else None
CSRF_TRUSTED_ORIGINS = env.names("VECTORSTEP_TRUSTED_ORIGINS", "")
SECURE_REFERRER_POLICY = "same-origin"
X_FRAME_OPTIONS = "DENY"
CONTENT_SECURITY_POLICY = {
    "DIRECTIVES": {
        "default-src": [NONE],
        "script-src": [SELF],
        "style-src": [SELF],
        "img-src": [SELF, "data:"],
        "font-src": [SELF],
        "connect-src": [SELF],
        "form-action": [SELF],
        "base-uri": [NONE],
        "frame-ancestors": [NONE],
    },
}

# A form that holds a payload: every byte of it may be written as three, and there are other fields.
# At least a file of marks that was checked (runs/views/mark_exchange.py), however small payloads may be.
DATA_UPLOAD_MAX_MEMORY_SIZE = max(3 * SERVICE.limits.payload_bytes, 3_000_000) + 100_000

# API --------------------------------------------------------------------------------------------

REST_FRAMEWORK = {
    "DEFAULT_AUTHENTICATION_CLASSES": [
        "runs.access.authentication.TokenAuthentication",
        "rest_framework.authentication.SessionAuthentication",
    ],
    "DEFAULT_PERMISSION_CLASSES": ["runs.access.permissions.HasRole"],
    "DEFAULT_RENDERER_CLASSES": ["rest_framework.renderers.JSONRenderer"],
    "DEFAULT_PARSER_CLASSES": ["runs.api.parsers.ObjectParser"],
    "DEFAULT_SCHEMA_CLASS": "drf_spectacular.openapi.AutoSchema",
    "EXCEPTION_HANDLER": "runs.api.errors.handle",
    "URL_FORMAT_OVERRIDE": None,  # ?format= is a parameter like any other: of one endpoint
    "UNAUTHENTICATED_USER": None,
}
SPECTACULAR_SETTINGS = {
    "TITLE": "VectorStep",
    "DESCRIPTION": "Run agents as pipeline steps, gated by a measured trust vector.",
    "VERSION": __version__,
    "SERVE_INCLUDE_SCHEMA": False,
    "SERVE_PERMISSIONS": ["runs.access.permissions.HasRole"],
    # Two kinds of question have a field of the same name with words of their own.
    "ENUM_NAME_OVERRIDES": {
        "EscalationStateEnum": "runs.models.EscalationState.values",
        "ApprovalStateEnum": "runs.models.ApprovalState.values",
        "ApprovalKindEnum": "runs.models.ApprovalKind.values",
    },
}

LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {"line": {"format": "%(asctime)s %(levelname)s %(name)s: %(message)s"}},
    "filters": {
        "refusals": {
            "()": "django.utils.log.CallbackFilter",
            "callback": "ext://vectorstep.log_filters.without_trace_of_refusals",
        }
    },
    "handlers": {"console": {"class": "logging.StreamHandler", "formatter": "line", "filters": ["refusals"]}},
    "root": {"handlers": ["console"], "level": "WARNING"},
    "loggers": {"runs": {"level": "INFO"}, "calibration": {"level": "INFO"}, "vectorstep": {"level": "INFO"}},
}
