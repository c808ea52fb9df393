from tests.runs.views.conftest import operator, viewer

__all__ = ["operator", "viewer"]
