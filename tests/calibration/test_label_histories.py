"""Whatever happens in whatever order, every stored label is what a fresh resolution gives."""

import uuid
from datetime import timedelta

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.extra.django import TestCase
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test

from calibration.labels import VALUES, differences, mark_group, mark_sample
from calibration.models import Mark, Outcome, Sample
from tests.calibration.factories import NOW, key, person, record

GROUPS = [uuid.UUID(int=number) for number in range(1, 4)]
outcomes = st.sampled_from(Outcome.values)
groups = st.sampled_from(GROUPS)
people = st.integers(0, 2)


class Histories(RuleBasedStateMachine):
    """Samples arrive, people mark steps and runs and change their minds; a plain model keeps the truth."""

    @initialize()
    def begin(self):
        Mark.objects.all().delete()
        Sample.objects.all().delete()
        self.people = [person() for _ in range(3)]
        self.now = NOW
        self.samples: dict[uuid.UUID, tuple[uuid.UUID, bool]] = {}
        self.step_marks: dict[tuple[uuid.UUID, int], str] = {}
        self.run_marks: dict[tuple[uuid.UUID, int], str] = {}
        self.made: set[int] = set()

    def tick(self):
        self.now += timedelta(seconds=1)
        return self.now

    @rule(group=groups, check_failed=st.booleans(), confidence=st.floats(0, 1))
    def arrive(self, group, check_failed, confidence):
        sample = record(key(), confidence, group=group, check_failed=check_failed)
        self.samples[sample] = (group, check_failed)

    @rule(data=st.data(), check_failed=st.booleans())
    def arrive_again(self, data, check_failed):
        if self.samples:
            record(key(), 0.5, id=data.draw(st.sampled_from(list(self.samples))), check_failed=check_failed)

    @rule(data=st.data(), who=people, outcome=outcomes)
    def mark_a_step(self, data, who, outcome):
        if self.samples:
            sample = data.draw(st.sampled_from(list(self.samples)))
            self.made.add(
                mark_sample(sample_id=sample, by=self.people[who], outcome=outcome, via="api", now=self.tick()).pk
            )
            self.step_marks[sample, who] = outcome

    @rule(group=groups, who=people, outcome=outcomes)
    def mark_a_run(self, group, who, outcome):
        mark = mark_group(group=group, by=self.people[who], outcome=outcome, via="api", now=self.tick())
        self.made.add(mark.pk)
        self.run_marks[group, who] = outcome

    @invariant()
    def every_stored_label_is_its_fresh_resolution(self):
        assert differences(list(Sample.objects.all())) == []

    @invariant()
    def every_stored_label_is_what_the_plain_model_says(self):
        for sample in Sample.objects.all():
            group, check_failed = self.samples[sample.pk]
            assert sample.label == self._expected(sample.pk, group, check_failed)

    @invariant()
    def no_mark_is_lost_and_each_person_has_one_current_mark_per_thing(self):
        assert set(Mark.objects.values_list("pk", flat=True)) == self.made
        assert Mark.objects.filter(is_current=True).count() == len(self.step_marks) + len(self.run_marks)

    def _expected(self, sample, group, check_failed):
        mine = sorted(VALUES[outcome] for (marked, _), outcome in self.step_marks.items() if marked == sample)
        if mine:
            return sum(mine) / len(mine)
        if check_failed:
            return 0.0
        runs = sorted(VALUES[outcome] for (marked, _), outcome in self.run_marks.items() if marked == group)
        return sum(runs) / len(runs) if runs else None


class TestHistories(TestCase):
    def test_random_histories(self):
        limits = settings(
            max_examples=25, stateful_step_count=20, deadline=None, suppress_health_check=[HealthCheck.too_slow]
        )
        run_state_machine_as_test(Histories, settings=limits)
