from calibration.models.mark import Mark, Outcome
from calibration.models.sample import Bucket, LabelSource, Sample
from calibration.models.version import AgentVersion, PromptVersion

__all__ = ["AgentVersion", "Bucket", "LabelSource", "Mark", "Outcome", "PromptVersion", "Sample"]
