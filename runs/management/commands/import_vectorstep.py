"""Import the history of another VectorStep."""

import sqlite3
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone

from calibration.plurals import plural
from runs.importing.records import IMPORTED
from runs.importing.store import Stored, store
from runs.importing.vectorstep.database import NotVectorStep, Source
from runs.importing.vectorstep.reading import Reader
from runs.importing.vectorstep.versions import keep_versions
from runs.management.progress import Progress
from runs.marking.markers import NAME_CHARS


class Command(BaseCommand):
    help = (
        "Import runs, steps, marks and versions from the SQLite database of another VectorStep, which is only read. "
        "The same file again adds what is new in it. What is left out is told, with the reason."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("file", type=Path, metavar="FILE")
        parser.add_argument("--by", default=IMPORTED, help=f"whose marks they become here; default: {IMPORTED}")

    def handle(self, *, file: Path, by: str, **_: Any) -> None:
        if not by.strip() or not by.isprintable() or len(by) > NAME_CHARS:
            raise CommandError(f"--by: expected a name of up to {NAME_CHARS} printable characters")
        try:
            with Source(file) as source:
                self._import(source, by)
        except NotVectorStep as error:
            raise CommandError(f"{file} cannot be imported: {error}.") from error
        except sqlite3.DatabaseError as error:
            raise CommandError(f"{file} cannot be read further: {error}. What came in before stays.") from error
        except OSError as error:
            raise CommandError(f"Cannot read {file}: {error.strerror}.") from error

    def _import(self, source: Source, by: str) -> None:
        now = timezone.now()
        reader, stored = Reader(source, marker=by, now=now), Stored()
        progress = Progress(self.stderr, total=source.count("pipeline_runs"), what="Importing")
        done = 0
        for count, runs in reader.batches():
            store(runs, stored, now=now)
            done += count
            progress.at(done)
        progress.end()
        prompts, agents = keep_versions(source, reader.skipped, now=now)
        told = [*stored.sentences(), f"{plural(prompts, 'version')} of prompts and {agents:,} of agents added."]
        for sentence in [*told, *reader.skipped.sentences()]:
            self.stdout.write(sentence)
