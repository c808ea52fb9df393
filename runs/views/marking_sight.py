"""Whether a marker sees a step without its scores, and so whether their mark is recorded as blind."""

import uuid
from collections.abc import Sequence

from django.contrib.auth.models import User
from django.http import HttpRequest

from calibration.models import Mark
from runs.access.preferences import preference_of
from runs.views import marking_trail


def is_blind(request: HttpRequest, by: User, step_id: uuid.UUID, own: Sequence[Mark]) -> bool:
    """Not for who switched it off, has been shown the scores of this step, or ever marked it (they were shown then).

    ``own`` is every mark the person made on the step, undone ones too.
    """
    return not (own or marking_trail.is_revealed(request.session, step_id)) and preference_of(by).is_blind
