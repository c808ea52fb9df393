"""How far a long command has come."""

from django.core.management.base import OutputWrapper

WIDTH = 30


class Progress:
    """A bar on a terminal; elsewhere a line for every tenth, so that a log stays short."""

    def __init__(self, stream: OutputWrapper, *, total: int, what: str) -> None:
        self._stream, self._total, self._what = stream, max(total, 1), what
        self._is_terminal = stream.isatty()
        self._shown = -1

    def at(self, done: int) -> None:
        percent = min(100, 100 * done // self._total)
        step = percent if self._is_terminal else percent // 10 * 10
        if step == self._shown:
            return
        self._shown = step
        if self._is_terminal:
            filled = WIDTH * percent // 100
            self._stream.write(f"\r{self._what} [{'#' * filled}{'.' * (WIDTH - filled)}] {percent:3d} %", ending="")
        else:
            self._stream.write(f"{self._what} {step} %")
        self._stream.flush()

    def end(self) -> None:
        self.at(self._total)
        if self._is_terminal:
            self._stream.write("")
