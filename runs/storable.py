"""What agents say, fit to be stored; see ``calibration.storable``, where every floor can reach it."""

from calibration.storable import storable, storable_text

__all__ = ["storable", "storable_text"]
