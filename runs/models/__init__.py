from runs.models.access import Role, Team, Token
from runs.models.approval import Approval, ApprovalKind, ApprovalState
from runs.models.delivery import Delivery, DeliveryEvent, DeliveryState, DeliveryTry
from runs.models.escalation import Decision, Escalation, EscalationState
from runs.models.event import RunEvent
from runs.models.link import DecisionLink
from runs.models.pause import Pause
from runs.models.pipeline import Pipeline, PipelineVersion
from runs.models.preference import Preference
from runs.models.queue import QueueItem, QueueSkip
from runs.models.run import Run, RunStatus
from runs.models.signal import Signal, SignalKind, SignalState
from runs.models.spending import Spending
from runs.models.step import Step, StepStatus
from runs.models.tick import Tick

__all__ = [
    "Approval",
    "ApprovalKind",
    "ApprovalState",
    "Decision",
    "DecisionLink",
    "Delivery",
    "DeliveryEvent",
    "DeliveryState",
    "DeliveryTry",
    "Escalation",
    "EscalationState",
    "Pause",
    "Pipeline",
    "PipelineVersion",
    "Preference",
    "QueueItem",
    "QueueSkip",
    "Role",
    "Run",
    "RunEvent",
    "RunStatus",
    "Signal",
    "SignalKind",
    "SignalState",
    "Spending",
    "Step",
    "StepStatus",
    "Team",
    "Tick",
    "Token",
]
