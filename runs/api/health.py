"""Whether the service can do its work, for monitors and load balancers: no login, bounded in time."""

import threading
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.db import DatabaseError, connection
from django.http import HttpRequest, JsonResponse
from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from runs.models import Run, RunEvent, RunStatus

ANSWER_WITHIN = 2.0  # seconds
STALLED_AFTER = timedelta(seconds=30)
