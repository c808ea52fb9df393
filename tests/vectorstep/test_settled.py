"""What is done once between loading and the first request."""

import subprocess
import sys

from tests.services import ROOT

SERVER = """
import os, sys, gc
os.environ["DJANGO_SETTINGS_MODULE"] = "tests.web_settings"
import vectorstep.asgi
print("insights.views.steps" in sys.modules, gc.get_freeze_count() > 50_000, gc.isenabled())
"""


def test_a_server_begins_with_all_pages_loaded_and_left_alone_by_the_garbage_collector():
    done = subprocess.run([sys.executable, "-c", SERVER], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["True", "True", "True"]
