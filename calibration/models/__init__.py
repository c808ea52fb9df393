from calibration.models.mark import Mark, Order, Outcome, Via
from calibration.models.sample import Bucket, LabelSource, Sample
from calibration.models.tally import Tally, TallyOfTen
from calibration.models.turn import KEPT, Turn, TurnOutcome
from calibration.models.version import AgentVersion, PromptVersion

__all__ = [
    "KEPT",
    "AgentVersion",
    "Bucket",
    "LabelSource",
    "Mark",
    "Order",
    "Outcome",
    "PromptVersion",
    "Sample",
    "Tally",
    "TallyOfTen",
    "Turn",
    "TurnOutcome",
    "Via",
]
