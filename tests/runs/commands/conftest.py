from tests.runs.intake.conftest import fresh_memory, no_broker

__all__ = ["fresh_memory", "no_broker"]
