"""A long command's progress: one line that fills on a terminal, a line for each tenth elsewhere."""

import io

from django.core.management.base import OutputWrapper

from runs.management.progress import Progress


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def shown(stream: io.StringIO) -> str:
    progress = Progress(OutputWrapper(stream), total=200, what="Importing")
    for done in (0, 1, 100, 101, 130):
        progress.at(done)
    progress.end()
    return stream.getvalue()


def test_on_a_terminal_it_stays_on_one_line():
    told = shown(Terminal())
    assert told.count("\n") == 1
    assert [part.split("]")[1].strip() for part in told.split("\r")[1:]] == ["0 %", "50 %", "65 %", "100 %"]


def test_in_a_log_it_is_a_line_for_each_tenth():
    assert shown(io.StringIO()) == "Importing 0 %\nImporting 50 %\nImporting 60 %\nImporting 100 %\n"
