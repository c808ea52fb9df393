"""VectorStep: run LLM agents as pipeline steps, gated by a measured trust vector."""

__version__ = "0.1.0"

from vectorstep.celery import app as celery_app

__all__ = ["celery_app"]
