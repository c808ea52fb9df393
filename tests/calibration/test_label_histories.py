"""Whatever happens in whatever order, every stored label and every tally is what a fresh resolution gives."""

import uuid
from dataclasses import dataclass, field
from datetime import datetime, timedelta

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.extra.django import TestCase
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test

from calibration import tallies
from calibration.imports import OldMark, import_marks
from calibration.labels import VALUES, CannotUndo, differences, mark_group, mark_sample, mark_samples, undo_mark
from calibration.models import Mark, Outcome, Sample, Tally, TallyOfTen
from tests.calibration.factories import NOW, key, person, record

GROUPS = [uuid.UUID(int=number) for number in range(1, 4)]
outcomes = st.sampled_from(Outcome.values)
groups = st.sampled_from(GROUPS)
people = st.integers(0, 2)
places = st.tuples(st.sampled_from(["", "edited"]), st.sampled_from(["production", "testing"]), st.booleans())
confidences = st.sampled_from([0.0, 0.3, 0.305, 0.9999999, 1.0]) | st.floats(0, 1)


@dataclass
class Said:
    """One mark, as the plain model keeps it."""

    pk: int
    at: datetime
    outcome: str
    undone: bool = False


@dataclass
class Opinion:
    """All one person said of one thing, in the order it was stored; ``current`` is what counts."""

    said: list[Said] = field(default_factory=list)
    current: Said | None = None

    def add(self, pk, at, outcome):
        if self.current and self.current.outcome == outcome:
            assert pk == self.current.pk
        else:
            self.current = Said(pk, at, outcome)
            self.said.append(self.current)

    def add_old(self, pk, at, outcome):
        self.said.append(Said(pk, at, outcome))
        self.choose()

    def undo(self):
        self.current.undone = True
        self.choose()

    def choose(self):
        left = [one for one in self.said if not one.undone]
        self.current = max(left, key=lambda one: (one.at, one.pk), default=None)


class Histories(RuleBasedStateMachine):
    """Samples arrive, people mark steps and runs, change their minds, take it back; a plain model keeps the truth."""

    @initialize()
    def begin(self):
        Mark.objects.all().delete()
        Sample.objects.all().delete()
        Tally.objects.all().delete()
        TallyOfTen.objects.all().delete()
        self.people = [person() for _ in range(3)]
        self.now = NOW
        self.samples: dict[uuid.UUID, tuple[uuid.UUID, bool]] = {}
        self.opinions: dict[tuple[uuid.UUID, int], Opinion] = {}

    def tick(self):
        self.now += timedelta(seconds=1)
        return self.now

    def some_sample(self, data):
        return data.draw(st.sampled_from(list(self.samples)))

    def opinion(self, thing, who):
        return self.opinions.setdefault((thing, who), Opinion())

    @rule(group=groups, check_failed=st.booleans(), confidence=confidences, where=places)
    def arrive(self, group, check_failed, confidence, where):
        prompt, stage, is_replay = where
        given = {"group": group, "check_failed": check_failed, "stage": stage, "is_replay": is_replay}
        self.samples[record(key(prompt_hash=prompt), confidence, **given)] = (group, check_failed)

    @rule(data=st.data(), check_failed=st.booleans())
    def arrive_again(self, data, check_failed):
        if self.samples:
            record(key(), 0.5, id=self.some_sample(data), check_failed=check_failed)

    @rule(data=st.data(), who=people, outcome=outcomes)
    def mark_a_step(self, data, who, outcome):
        if self.samples:
            sample, at = self.some_sample(data), self.tick()
            mark = mark_sample(sample_id=sample, by=self.people[who], outcome=outcome, via="queue", now=at)
            self.opinion(sample, who).add(mark.pk, at, outcome)

    @rule(data=st.data(), who=people, outcome=outcomes)
    def mark_several_steps(self, data, who, outcome):
        if self.samples:
            chosen, at = data.draw(st.sets(st.sampled_from(list(self.samples)), min_size=1)), self.tick()
            marks = mark_samples(sample_ids=chosen, by=self.people[who], outcome=outcome, via="bulk", now=at)
            for mark in marks:
                self.opinion(mark.sample_id, who).add(mark.pk, at, outcome)

    @rule(group=groups, who=people, outcome=outcomes)
    def mark_a_run(self, group, who, outcome):
        at = self.tick()
        mark = mark_group(group=group, by=self.people[who], outcome=outcome, via="page", now=at)
        self.opinion(group, who).add(mark.pk, at, outcome)

    @rule(data=st.data(), run=st.none() | groups, who=people, outcome=outcomes, ago=st.integers(1, 30))
    def import_a_mark_twice(self, data, run, who, outcome, ago):
        if run or self.samples:
            at = self.tick() - timedelta(seconds=ago, milliseconds=1)
            about = {"group": run} if run else {"sample_id": self.some_sample(data)}
            old = OldMark(by_id=self.people[who].pk, outcome=outcome, made_at=at, **about)
            known = set(Mark.objects.values_list("pk", flat=True))
            import_marks([old])
            import_marks([old])
            for pk in set(Mark.objects.values_list("pk", flat=True)) - known:
                self.opinion(next(iter(about.values())), who).add_old(pk, at, outcome)

    @rule(data=st.data())
    def undo(self, data):
        if standing := [where for where, opinion in self.opinions.items() if opinion.current]:
            where = data.draw(st.sampled_from(standing))
            undo_mark(mark_id=self.opinions[where].current.pk, by=self.people[where[1]], now=self.tick())
            self.opinions[where].undo()

    @rule(data=st.data())
    def undo_what_does_not_count(self, data):
        counting = {opinion.current.pk for opinion in self.opinions.values() if opinion.current}
        rest = [
            (one.pk, who)
            for (_, who), opinion in self.opinions.items()
            for one in opinion.said
            if one.pk not in counting
        ]
        if rest:
            pk, who = data.draw(st.sampled_from(rest))
            with pytest.raises(CannotUndo):
                undo_mark(mark_id=pk, by=self.people[who], now=self.tick())

    @invariant()
    def every_stored_label_is_its_fresh_resolution(self):
        assert differences(list(Sample.objects.all())) == []

    @invariant()
    def every_tally_is_what_the_samples_add_up_to(self):
        assert tallies.differences() == []

    @invariant()
    def every_stored_label_is_what_the_plain_model_says(self):
        for sample in Sample.objects.all():
            group, check_failed = self.samples[sample.pk]
            assert sample.label == self._expected(sample.pk, group, check_failed)

    @invariant()
    def no_mark_is_lost_and_each_person_has_one_current_mark_per_thing(self):
        said = {one.pk for opinion in self.opinions.values() for one in opinion.said}
        counting = {opinion.current.pk for opinion in self.opinions.values() if opinion.current}
        assert set(Mark.objects.values_list("pk", flat=True)) == said
        assert set(Mark.objects.filter(is_current=True).values_list("pk", flat=True)) == counting

    def _expected(self, sample, group, check_failed):
        if mine := self._values(sample):
            return sum(mine) / len(mine)
        if check_failed:
            return 0.0
        runs = self._values(group)
        return sum(runs) / len(runs) if runs else None

    def _values(self, thing):
        standing = [opinion.current for (about, _), opinion in self.opinions.items() if about == thing]
        return sorted(VALUES[one.outcome] for one in standing if one)


class TestHistories(TestCase):
    def test_random_histories(self):
        limits = settings(
            max_examples=25, stateful_step_count=25, deadline=None, suppress_health_check=[HealthCheck.too_slow]
        )
        run_state_machine_as_test(Histories, settings=limits)
