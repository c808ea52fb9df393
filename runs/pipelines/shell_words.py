"""Putting values into a shell command so that each stays part of one argument, wherever it stands.

The author's text is followed character by character to know whether the shell is inside quotes. Where
that cannot be known for certain (backticks, here-documents, ``${...}``, ``$'...'``, comments), a value
is refused rather than guessed.
"""

import shlex


class ShellTextError(ValueError):
    """A value stands where it cannot be quoted safely."""


_PLAIN, _DOUBLE, _SINGLE = "plain", "double", "single"


class ShellText:
    """Feed it the author's text with ``literal`` and the values with ``value``, in the order of the command."""

    def __init__(self) -> None:
        self._states = [_PLAIN]
        self._lost = ""
        self._last = ""  # the character before, as far as it matters
        self._escaped = False

    def literal(self, text: str) -> None:
        for char in text:
            if self._lost:
                return
            self._step(char)

    def value(self, text: str) -> str:
        """``text`` as it must be written here. Raises ShellTextError where no quoting is safe."""
        if self._lost:
            raise ShellTextError(f"a value after {self._lost} cannot be quoted safely; put it before, or in a variable")
        if self._escaped or self._last == "$":
            raise ShellTextError("a value directly after \\ or $ cannot be quoted safely")
        if "\x00" in text:
            raise ShellTextError("a value with a NUL character cannot be an argument")
        self._last = "v"
        quoted = shlex.quote(text)
        state = self._states[-1]
        if state == _DOUBLE:
            return f'"{quoted}"'
        return f"'{quoted}'" if state == _SINGLE else quoted

    def _step(self, char: str) -> None:
        state = self._states[-1]
        last, self._last = self._last, char
        if state == _SINGLE:
            if char == "'":
                self._states.pop()
        elif self._escaped:
            self._escaped = False
            self._last = "e"
        elif char == "\\":
            self._escaped = True
        elif char == "`":
            self._lost = "a backtick"
        elif last == "$" and char in "{'\"":
            self._lost = f"${char}"
        elif last == "$" and char == "(":
            self._states.append(_PLAIN)
        elif state == _DOUBLE:
            if char == '"':
                self._states.pop()
        else:
            self._plain(char, last)

    def _plain(self, char: str, last: str) -> None:
        if char == '"':
            self._states.append(_DOUBLE)
        elif char == "'":
            self._states.append(_SINGLE)
        elif char == "(":
            self._states.append(_PLAIN)
        elif char == ")":
            self._close()
        elif char == "<" and last == "<":
            self._lost = "<<"
        elif char == "#" and (not last or last.isspace() or last in ";&|("):
            self._lost = "a comment (#)"

    def _close(self) -> None:
        if len(self._states) == 1:
            self._lost = 'an unmatched ")"'
        else:
            self._states.pop()
