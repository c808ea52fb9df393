#!/usr/bin/env python
import os
import sys

if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "vectorstep.settings")
    try:
        from django.core.management import execute_from_command_line
    except ModuleNotFoundError:
        advice = "use .venv/bin/python manage.py; script/server makes .venv"
        sys.exit(f"error: the packages VectorStep needs are not installed for {sys.executable} ({advice})")
    from django.db.utils import OperationalError, ProgrammingError

    from vectorstep.env import BadEnvironment

    try:
        execute_from_command_line(sys.argv)
    except KeyboardInterrupt:
        sys.exit(130)
    except BadEnvironment as error:
        sys.exit(f"error: {error}")
    except (OperationalError, ProgrammingError) as error:
        # Not reachable, or not set up: both are for the operator to mend, and no traceback helps with that.
        if "--traceback" in sys.argv:
            raise
        reason = " ".join(str(error).split())
        advice = "script/server or `manage.py migrate` sets it up; --traceback shows more"
        sys.exit(f"error: the database says: {reason} ({advice})")
