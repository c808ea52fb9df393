"""What agents say, fit to be stored; see ``calibration.storable``, where every floor can reach it."""

from calibration.storable import MAX_DEPTH, TOO_DEEP, storable, storable_text

__all__ = ["MAX_DEPTH", "TOO_DEEP", "storable", "storable_text"]
