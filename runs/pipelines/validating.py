"""Checking files as a reload would, without a server or a database."""

from pathlib import Path

from runs.pipelines.calls import refuse_bad_calls
from runs.pipelines.library import Library
from runs.pipelines.loader import Loaded, load_file, pipeline_files, refuse_taken_names


def validate(files: list[Path], *, pipelines: Path, steps: Path) -> list[Loaded]:
    """What would become of each file. Names are compared with the other files of ``pipelines`` too."""
    library = Library(steps)
    given = [load_file(path, str(path), library) for path in files]
    known = {path.resolve() for path in files}
    others = [load_file(path, path.name, library) for path in pipeline_files(pipelines) if path.resolve() not in known]
    holders = {other.name: other.file for other in others if not other.problems}
    return refuse_bad_calls(refuse_taken_names([*given, *others], holders), holders)[: len(given)]
