"""The unit of work: look at this row and do what is due. Doing it twice does no harm."""

import uuid
from dataclasses import dataclass
from typing import Literal

Kind = Literal["run", "step"]


@dataclass(frozen=True)
class Work:
    """``run``: start it, or find what comes next in it. ``step``: claim it and carry it on from where it stands."""

    kind: Kind
    id: uuid.UUID
