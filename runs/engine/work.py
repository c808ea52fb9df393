"""The unit of work: look at this row and do what is due. Doing it twice does no harm."""

import uuid
from dataclasses import dataclass
from typing import Literal

Kind = Literal["run", "step", "delivery"]


@dataclass(frozen=True)
class Work:
    """``run``: start it, or find what comes next in it. ``step``: claim it and carry it on from where it stands.
    ``delivery``: send a message, which is not the engine's own work (``runs.deliveries``).
    """

    kind: Kind
    id: uuid.UUID
