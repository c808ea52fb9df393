"""From a file to a pipeline that can run, or to everything that is wrong with it. No database."""

import hashlib
import json
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from runs.pipelines import yamlfile
from runs.pipelines.channel_schema import CHANNELS
from runs.pipelines.closest import did_you_mean
from runs.pipelines.context import step_keys
from runs.pipelines.executor_schema import CONFIGS
from runs.pipelines.library import Library, Used
from runs.pipelines.problems import Location, Problem, field_path, schema_problems, within
from runs.pipelines.schema import FanOut, NotificationRules, Parallel, Pipeline, StepBody
from runs.pipelines.scopes import check_texts
from runs.pipelines.strict import Strict
from runs.pipelines.unsupported import unsupported
from runs.pipelines.yamlfile import Mark, YamlProblem

SUFFIXES = (".yaml", ".yml")
# Names that templates have in any case; a field of the payload or an item cannot be called so.
_OWN_NAMES = frozenset(
    {"vars", "steps", "artifacts", "pipeline_run_id", "pipeline_name", "current_step", "loop", "output"}
    | {"fan_out_index", "fan_out_total"}
)


@dataclass(frozen=True)
class Call:
    """A step that runs another pipeline; ``place`` is where the file says so, a problem without a message."""

    pipeline: str
    place: Problem


@dataclass(frozen=True)
class Loaded:
    """One file. ``config`` is the resolved pipeline and ``digest`` its address; None and "" while it has problems."""

    file: str
    name: str
    source: str = ""
    config: dict[str, Any] | None = None
    digest: str = ""
    problems: list[Problem] = field(default_factory=list)
    name_line: int = 0
    calls: tuple[Call, ...] = ()


def digest_of(config: dict[str, Any]) -> str:
    """SHA-256 of the canonical JSON: sorted keys, no blanks, UTF-8."""
    text = json.dumps(config, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()


def pipeline_files(directory: Path) -> list[Path]:
    """The pipeline files of a directory in the order that decides which one a payload starts: by name."""
    if not directory.is_dir():
        return []
    return sorted(path for path in directory.iterdir() if path.suffix in SUFFIXES and not path.name.startswith("."))


def load_directory(directory: Path, library: Library) -> list[Loaded]:
    return [load_file(path, path.name, library) for path in pipeline_files(directory)]


def load_file(path: Path, label: str, library: Library) -> Loaded:
    """``label`` is how the file is called in problems and in the database."""
    try:
        raw = yamlfile.read(path)
    except OSError as error:
        problem = Problem(label, 0, "", f"cannot be read: {error.strerror or error}")
        return Loaded(label, path.stem, problems=[problem])
    return load_bytes(raw, label, library)


def load_bytes(raw: bytes, label: str, library: Library) -> Loaded:
    name = Path(label).stem
    try:
        source = yamlfile.decode(raw)
    except YamlProblem as error:
        return Loaded(label, name, problems=[Problem(label, error.line, "", error.message)])
    try:
        data, mark = yamlfile.parse(source)
    except YamlProblem as error:
        return Loaded(label, name, source, problems=[Problem(label, error.line, field_path(error.path), error.message)])
    return _Reading(label, data, mark, library).loaded(name, source)


def refuse_taken_names(loaded: list[Loaded], holders: dict[str, str]) -> list[Loaded]:
    """Of files with one name, let one have it: the file that has it already, else the first by file name."""
    files = {item.file: item for item in loaded}
    while True:
        owners: dict[str, str] = {}
        for name, file in holders.items():
            # A broken file keeps running its last good version, and so its name.
            if files[file].problems or files[file].name == name:
                owners[name] = file
        for item in files.values():
            if not item.problems:
                owners.setdefault(item.name, item.file)
        losers = [item for item in files.values() if not item.problems and owners[item.name] != item.file]
        if not losers:
            return list(files.values())
        for item in losers:
            files[item.file] = _refused(item, owners[item.name])


def _refused(item: Loaded, owner: str) -> Loaded:
    problem = Problem(item.file, item.name_line, "name", f"the name {item.name!r} is already used by {owner}")
    return replace(item, config=None, digest="", problems=[problem])


class _Reading:
    """The data of one file on its way through the checks, collecting problems."""

    def __init__(self, file: str, data: Any, mark: Mark, library: Library) -> None:
        self.file = file
        self.data = data
        self.mark = mark
        self.library = library
        self.used: dict[Location, Used] = {}
        self.unusable: set[Location] = set()  # steps whose library step is missing or broken: what they lack is unknown
        self.problems: list[Problem] = []
        self.calls: list[Call] = []

    def loaded(self, name: str, source: str) -> Loaded:
        if not isinstance(self.data, dict):
            self._add((), "expected a pipeline (an object with name and steps)")
            return Loaded(self.file, name, source, problems=self.problems)
        if isinstance(self.data.get("name"), str) and self.data["name"]:
            name = self.data["name"]
        config = self._resolved()
        if self.problems or config is None:
            return Loaded(self.file, name, source, problems=sorted(set(self.problems)))
        line = self.mark.find(("name",)).line
        return Loaded(self.file, name, source, config, digest_of(config), name_line=line, calls=tuple(self.calls))

    def _resolved(self) -> dict[str, Any] | None:
        self._use_library()
        try:
            pipeline = Pipeline.model_validate(self.data)
        except ValidationError as error:
            for location, message in schema_problems(error, Pipeline, self.data):
                if not any(location[: len(place)] == place for place in self.unusable):
                    self._add(location, message)
            return None
        config = pipeline.model_dump(mode="json", by_alias=True)
        for location, what in unsupported(config):
            self._add(location, f"not supported yet: {what}")
        if not self.problems:
            self._check_names(pipeline)
            self._check_bodies(pipeline)
            self._check_channels(pipeline)
            for location, line, message in check_texts(pipeline):
                self._add(within(self.data, location, absent=False), message, line)
        return config

    def _use_library(self) -> None:
        """Put the library's fields into each step that says ``use:``, branches of groups included."""
        steps = self.data.get("steps")
        if isinstance(steps, list):
            merged = [self._merged_entry(entry, ("steps", position)) for position, entry in enumerate(steps)]
            self.data = {**self.data, "steps": merged}

    def _merged_entry(self, entry: Any, where: Location) -> Any:
        """Nothing is changed in place: by an alias of YAML the same object may stand in several."""
        if not isinstance(entry, dict):
            return entry
        parallel = entry.get("parallel")
        if isinstance(parallel, dict) and isinstance(parallel.get("steps"), list):
            inside = (*where, "parallel", "steps")
            steps = [self._merged(step, (*inside, place)) for place, step in enumerate(parallel["steps"])]
            return {**entry, "parallel": {**parallel, "steps": steps}}
        if "fan_out" in entry:
            return {**entry, "fan_out": self._merged(entry["fan_out"], (*where, "fan_out"))}
        return self._merged(entry, where)

    def _merged(self, step: Any, where: Location) -> Any:
        if not isinstance(step, dict) or "use" not in step:
            return step
        try:
            used = self.library.use(step)
        except KeyError:
            self.unusable.add(where)
            name = step["use"]
            near = did_you_mean(name, self.library.names()) if isinstance(name, str) else ""
            self._add((*where, "use"), f"no step {name!r} in the library{near}")
            return step
        self.used[where] = used
        self.problems.extend(used.problems)
        if used.problems:
            self.unusable.add(where)
        return used.step

    def _add(self, location: Location, message: str, text_line: int = 0) -> None:
        self.problems.append(self._problem(location, message, text_line))

    def _problem(self, location: Location, message: str, text_line: int = 0) -> Problem:
        """``text_line`` is the line within a text, where the problem is inside one."""
        file, mark = self.file, self.mark.find(location)
        for place, used in self.used.items():
            inner = location[len(place) :]
            if inner and location[: len(place)] == place and used.inherited(inner):
                file, mark = used.file, used.mark.find(inner)
        line = mark.line
        if text_line and mark.text_line > mark.line:
            line = mark.text_line + text_line - 1
        elif "unknown field" in message and mark.key_line:
            line = mark.key_line
        return Problem(file, line, field_path(location), message)

    def _check_names(self, pipeline: Pipeline) -> None:
        places: list[tuple[Location, str]] = []
        for position, entry in enumerate(pipeline.entries):
            where: Location = ("steps", position)
            if isinstance(entry, Parallel):
                where = (*where, "parallel")
                self._refuse_twice([((*where, "steps", place), one.name) for place, one in enumerate(entry.steps)])
            elif isinstance(entry, FanOut):
                where = (*where, "fan_out")
                if entry.as_ in _OWN_NAMES:
                    self._add((*where, "as"), f"{entry.as_!r} is a name of its own in templates")
            places.append((where, entry.name))
        self._refuse_twice(places)
        for position, name in enumerate(pipeline.context_template.include):
            if name in _OWN_NAMES:
                self._add(("context_template", "include", position), f"{name!r} is a name of its own in templates")

    def _refuse_twice(self, places: list[tuple[Location, str]]) -> None:
        """Names that templates could not tell apart."""
        taken: dict[str, str] = {}
        for where, name in places:
            other = next((taken[key] for key in step_keys(name) if key in taken), None)
            if other == name:
                self._add((*where, "name"), f"the name {name!r} is used by an earlier step")
            elif other is not None:
                self._add((*where, "name"), f"{name!r} and {other!r} are the same in templates")
            taken.update(dict.fromkeys(step_keys(name), name))

    def _check_check_names(self, step: StepBody, where: Location) -> None:
        names: set[str] = set()
        for index, check in enumerate(step.deterministic_checks):
            if check.name in names:
                message = f"the name {check.name!r} is used by an earlier check of this step"
                self._add((*where, "deterministic_checks", index, "name"), message)
            names.add(check.name)

    def _check_bodies(self, pipeline: Pipeline) -> None:
        for where, step in pipeline.bodies():
            self._check_check_names(step, where)
            self._check_config(step.executor, step.executor_config, (*where, "executor_config"))
            if step.executor == "pipeline" and isinstance(step.executor_config.get("pipeline"), str):
                place = self._problem((*where, "executor_config", "pipeline"), "")
                self.calls.append(Call(step.executor_config["pipeline"], place))
            if step.verifier is not None:
                config = (*where, "verifier", "executor_config")
                self._check_config(step.verifier.executor, step.verifier.executor_config, config)
            if step.grounding is not None:
                judged = {"agent": step.grounding.agent, **step.grounding.executor_config}
                self._check_config(step.grounding.executor, judged, (*where, "grounding", "executor_config"))

    def _check_channels(self, pipeline: Pipeline) -> None:
        for event in NotificationRules.model_fields if pipeline.notifications else ():
            for place, wanted in enumerate(getattr(pipeline.notifications, event)):
                where = within(self.data, ("notifications", event, place, "config"), absent=True)
                self._check_model(CHANNELS[wanted.channel], wanted.config, where)

    def _check_config(self, kind: str, config: dict[str, Any], where: Location) -> None:
        self._check_model(CONFIGS.get(kind), config, where)

    def _check_model(self, model: type[Strict] | None, config: dict[str, Any], where: Location) -> None:
        if model is None:
            return
        try:
            model.model_validate(config)
        except ValidationError as error:
            for location, message in schema_problems(error, model, config, where):
                self._add(location, message)
