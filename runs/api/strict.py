"""Serializer fields that convert nothing: a text is not a number, 1 is not true, an unknown field is an error."""

from collections.abc import Mapping, Sequence
from typing import Any

from rest_framework import serializers

from calibration.unit import unit
from runs.trust.inputs import one_of

SHOWN = 100  # characters of a field's name in an error


class Strict(serializers.Serializer[Any]):
    """Refuses fields it does not have, naming them."""

    def to_internal_value(self, data: Any) -> Any:
        if isinstance(data, Mapping):
            for name in data:
                if name not in self.fields:
                    known = ", ".join(self.fields)
                    raise serializers.ValidationError({name[:SHOWN]: f"unknown field; expected one of {known}"})
        return super().to_internal_value(data)


class Unit(serializers.FloatField):
    """A number in [0, 1]: no NaN, no boolean, no text."""

    def __init__(self, **options: Any) -> None:
        super().__init__(min_value=0, max_value=1, **options)

    def to_internal_value(self, data: Any) -> float:
        return _checked(unit, data)


class Count(serializers.IntegerField):
    def to_internal_value(self, data: Any) -> int:
        if isinstance(data, bool) or not isinstance(data, int):
            raise serializers.ValidationError(f"expected a whole number, not {type(data).__name__}")
        return data


class Truth(serializers.BooleanField):
    def to_internal_value(self, data: Any) -> bool:
        if not isinstance(data, bool):
            raise serializers.ValidationError(f"expected true or false, not {type(data).__name__}")
        return data


class Word(serializers.ChoiceField):
    def __init__(self, choices: Sequence[str], **options: Any) -> None:
        self._words = choices
        super().__init__(choices=choices, **options)

    def to_internal_value(self, data: Any) -> str:
        return _checked(lambda field, value: one_of(field, value, self._words), data)


class Text(serializers.CharField):
    """Not empty, and kept as it is written."""

    def __init__(self, **options: Any) -> None:
        super().__init__(trim_whitespace=False, **options)

    def to_internal_value(self, data: Any) -> str:
        if not isinstance(data, str):
            raise serializers.ValidationError(f"expected text, not {type(data).__name__}")
        return data


def _checked(check: Any, data: Any) -> Any:
    try:
        return check("", data)
    except ValueError as error:
        raise serializers.ValidationError(str(error).removeprefix(": ")) from error
