"""The step library: ``steps/*.yaml``, and merging one into a step that says ``use:``."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from runs.pipelines import yamlfile
from runs.pipelines.problems import Location, Problem, field_path
from runs.pipelines.yamlfile import Mark, YamlProblem

LIBRARY_ONLY = ("description", "tags")


@dataclass(frozen=True)
class LibraryStep:
    """A file of the library; ``data`` is empty while it has problems."""

    file: str
    data: dict[str, Any] = field(default_factory=dict)
    mark: Mark = field(default_factory=lambda: Mark(0))
    problems: list[Problem] = field(default_factory=list)


@dataclass(frozen=True)
class Used:
    """A step with the library's fields merged in, and where each of those stands."""

    step: dict[str, Any]
    own: dict[str, Any]
    file: str
    mark: Mark
    problems: list[Problem]

    def inherited(self, location: Location) -> bool:
        """Whether what is at ``location`` of the merged step comes from the library's file."""
        if location[0] not in self.own:
            return location[0] in self.mark.children
        if location[0] == "executor_config" and len(location) > 1:
            return location[1] not in self.own["executor_config"] and self.mark.find(location[:2]) is not self.mark
        return False


def merge(library: dict[str, Any], step: dict[str, Any]) -> dict[str, Any]:
    """The step with the library's fields where it has none; only ``executor_config`` merges key by key."""
    merged = {key: value for key, value in library.items() if key not in LIBRARY_ONLY}
    merged.update({key: value for key, value in step.items() if key != "use"})
    ours, theirs = step.get("executor_config"), library.get("executor_config")
    if isinstance(ours, dict) and isinstance(theirs, dict):
        merged["executor_config"] = {**theirs, **ours}
    return merged


class Library:
    """The steps of a directory, each file read once and only when a pipeline uses it."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._read: dict[str, LibraryStep] = {}

    def names(self) -> list[str]:
        if not self._directory.is_dir():
            return []
        found = [path.stem for path in self._directory.iterdir() if path.suffix in (".yaml", ".yml")]
        return sorted(found)

    def use(self, step: dict[str, Any]) -> Used:
        """The step merged with the one it names. Raises KeyError for a name the library does not have."""
        name = step["use"]
        if not isinstance(name, str) or name not in self.names():
            raise KeyError(name)
        if name not in self._read:
            self._read[name] = self._load(name)
        found = self._read[name]
        merged = merge(found.data, step)
        # A step of the library is called by its file unless someone says otherwise.
        merged.setdefault("name", name)
        return Used(merged, step, found.file, found.mark, found.problems)

    def _load(self, name: str) -> LibraryStep:
        path = next(p for p in sorted(self._directory.iterdir()) if p.stem == name and p.suffix in (".yaml", ".yml"))
        label = f"{self._directory.name}/{path.name}"
        try:
            data, mark = yamlfile.parse(yamlfile.decode(yamlfile.read(path)))
        except OSError as error:
            return LibraryStep(label, problems=[Problem(label, 0, "", f"cannot be read: {error.strerror}")])
        except YamlProblem as error:
            return LibraryStep(label, problems=[Problem(label, error.line, field_path(error.path), error.message)])
        if not isinstance(data, dict):
            return LibraryStep(label, problems=[Problem(label, mark.line, "", "expected a step (an object)")])
        if "use" in data:
            problem = Problem(label, mark.find(("use",)).line, "use", "a step of the library cannot use another")
            return LibraryStep(label, problems=[problem])
        return LibraryStep(label, data, mark)
