"""Which pipeline a payload starts."""

from collections import ChainMap
from dataclasses import dataclass
from difflib import get_close_matches

from runs.intake.incoming import Incoming
from runs.intake.refusals import UnknownPipeline
from runs.models import PipelineVersion
from runs.pipelines import registry, schema
from runs.pipelines.trigger import matches
from runs.storable import storable_text


@dataclass(frozen=True)
class Resolved:
    version: PipelineVersion
    pipeline: schema.Pipeline

    @property
    def is_testing(self) -> bool:
        return self.pipeline.stage == "testing"


def resolve(incoming: Incoming, *, allow_testing: bool) -> Resolved:
    """The pipeline asked for by name, else the first by file name whose trigger matches.

    A testing pipeline that may not run here never hides a production one behind it; it is the answer
    only when nothing else matches.
    """
    return _named(incoming.pipeline) if incoming.pipeline else _matching(incoming, allow_testing)


def _named(name: str) -> Resolved:
    version = registry.current(storable_text(name))
    if version is None:
        raise unknown(name)
    return Resolved(version, registry.parsed(version))


def unknown(name: str) -> UnknownPipeline:
    """The refusal of a name that no pipeline has, with up to three that are close to it."""
    shown = name[:200]
    close = get_close_matches(shown, registry.names(), n=3, cutoff=0.5)
    hint = f" Did you mean {' or '.join(close)}?" if close else ""
    return UnknownPipeline(f"There is no pipeline called {shown!r}.{hint}", close)


def _matching(incoming: Incoming, allow_testing: bool) -> Resolved:
    testing = None
    # A trigger may name a label by itself: `alertname` as well as `labels.alertname`.
    fields = ChainMap(incoming.context, incoming.context["labels"])
    for version in registry.current_all():
        found = Resolved(version, registry.parsed(version))
        if not matches(found.pipeline.trigger, fields):
            continue
        if allow_testing or not found.is_testing:
            return found
        testing = testing or found
    if testing is None:
        raise UnknownPipeline("No pipeline's trigger matches this payload.")
    return testing
