from tests.runs.intake.conftest import fresh_memory, published

__all__ = ["fresh_memory", "published"]
