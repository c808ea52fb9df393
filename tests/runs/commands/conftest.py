from tests.runs.intake.conftest import fresh_memory, no_broker
from tests.runs.views.conftest import viewer

__all__ = ["fresh_memory", "no_broker", "viewer"]
