"""How versions and their comparison look in the JSON API."""

from collections.abc import Mapping
from typing import Any

from rest_framework import serializers

from calibration.differences import Record
from insights.api.calibration import BucketBody, bucket_body
from insights.diff import Block, Diff, Line
from insights.effects import Effect
from insights.histories import Version
from insights.version_texts import Change, Text

HEAD = 100_000


class TextBody(serializers.Serializer[Any]):
    text = serializers.CharField(help_text=f"Its first {HEAD:,} characters.")
    chars = serializers.IntegerField(help_text="The length of the whole text.")


class VersionBody(serializers.Serializer[Any]):
    first_seen = serializers.DateTimeField(allow_null=True)
    last_seen = serializers.DateTimeField(allow_null=True)
    answer_count = serializers.IntegerField(
        help_text="Answers that told a confidence, replays and both stages too; up to 10,000 for each bucket."
    )
    labelled_count = serializers.IntegerField(
        help_text="Of them, how many have a label, in the stage asked for; replays are not counted."
    )
    accuracy = serializers.FloatField(allow_null=True, help_text="Mean label; null without any.")
    interval = serializers.ListField(child=serializers.FloatField(), allow_null=True, help_text="95 % of it: [lo, hi].")
    calibration = BucketBody(many=True, help_text="The buckets with this version, as in /steps/{name}/calibration.")


class PromptVersionBody(VersionBody):
    prompt_hash = serializers.CharField(allow_null=True, help_text="Null: runs that reported none.")
    template = TextBody(allow_null=True, help_text="Null when the text was not recorded.")


class AgentVersionBody(VersionBody):
    agent_version = serializers.CharField(allow_null=True, help_text="Null: runs that reported none.")
    steps = serializers.ListField(child=serializers.CharField(), help_text="The steps that ran with it.")
    soul = TextBody(allow_null=True)
    config = TextBody(allow_null=True)
    note = serializers.CharField(help_text="Why there is no text, where that is known.")


class RecordBody(serializers.Serializer[Any]):
    n = serializers.IntegerField()
    accuracy = serializers.FloatField(allow_null=True)


class PieceBody(serializers.Serializer[Any]):
    text = serializers.CharField()
    marked = serializers.BooleanField(help_text="These words differ.")
    left_out = serializers.IntegerField(help_text="Characters that are not shown here.")


class LineBody(serializers.Serializer[Any]):
    number = serializers.IntegerField(help_text="From 1.")
    pieces = PieceBody(many=True)


class BlockBody(serializers.Serializer[Any]):
    kind = serializers.ChoiceField(["same", "changed", "replaced", "gap"])
    left = LineBody(many=True)
    right = LineBody(many=True)
    hidden = serializers.IntegerField(help_text="Equal lines of a gap.")


class ChangeBody(serializers.Serializer[Any]):
    text = serializers.CharField(help_text="template, soul or config")
    removed = serializers.IntegerField(help_text="Lines.")
    added = serializers.IntegerField()
    left_out = serializers.IntegerField(help_text="Changed lines that no block shows.")
    is_cut = serializers.BooleanField(help_text="Only the first two million characters were compared.")
    blocks = BlockBody(many=True)


class ComparisonBody(serializers.Serializer[Any]):
    version = serializers.CharField(allow_null=True)
    against = serializers.CharField(allow_null=True)
    before = RecordBody(help_text="The labels compared, of `against`.")
    after = RecordBody(help_text="The labels compared, of `version`.")
    difference = serializers.FloatField(allow_null=True, help_text="Accuracy after minus before; null if unknown.")
    interval = serializers.ListField(child=serializers.FloatField(), allow_null=True, help_text="95 % of it: [lo, hi].")
    verdict = serializers.ChoiceField(["helped", "hurt", "unclear", "too few"])
    sentence = serializers.CharField()
    caveats = serializers.ListField(child=serializers.CharField())
    changes = ChangeBody(many=True, help_text="One per text; none when a side has no text.")


class PromptHistoryBody(serializers.Serializer[Any]):
    step_name = serializers.CharField()
    versions = PromptVersionBody(many=True, help_text="Newest first.")
    total = serializers.IntegerField(help_text="Versions in all.")
    comparison = ComparisonBody(allow_null=True, help_text="Null when there is only one version.")


class AgentHistoryBody(serializers.Serializer[Any]):
    agent = serializers.CharField()
    versions = AgentVersionBody(many=True, help_text="Newest first.")
    total = serializers.IntegerField(help_text="Versions in all.")
    comparison = ComparisonBody(allow_null=True, help_text="Null when there is only one version.")


def version_body(version: Version) -> dict[str, Any]:
    record = version.record
    return {
        "first_seen": version.use.first,
        "last_seen": version.use.last,
        "answer_count": version.use.times,
        "labelled_count": version.labelled,
        "accuracy": record.value,
        "interval": record.interval and list(record.interval),
        "calibration": [bucket_body(one) for one in version.summaries],
    }


def text_body(text: Text | None) -> dict[str, Any] | None:
    return None if text is None else {"text": text.text, "chars": text.chars}


def comparison_body(
    version: Version, against: Version, effect: Effect, changes: list[Change], names: Mapping[str, str]
) -> dict[str, Any]:
    """``names`` has the API's name of each text by its title."""
    difference = effect.difference
    return {
        "version": version.value or None,
        "against": against.value or None,
        "before": _record(difference.before),
        "after": _record(difference.after),
        "difference": difference.value,
        "interval": difference.interval and list(difference.interval),
        "verdict": difference.verdict,
        "sentence": difference.sentence,
        "caveats": list(effect.caveats),
        "changes": [{"text": names[one.title], "is_cut": one.is_cut, **_diff(one.diff)} for one in changes],
    }


def _record(record: Record) -> dict[str, Any]:
    return {"n": record.n, "accuracy": record.accuracy}


def _diff(diff: Diff) -> dict[str, Any]:
    blocks = [_block(block) for block in diff.blocks]
    return {"removed": diff.removed, "added": diff.added, "left_out": diff.left_out, "blocks": blocks}


def _block(block: Block) -> dict[str, Any]:
    sides = {"left": [_line(line) for line in block.left], "right": [_line(line) for line in block.right]}
    return {"kind": block.kind, **sides, "hidden": block.hidden}


def _line(line: Line) -> dict[str, Any]:
    pieces = [{"text": one.text, "marked": one.marked, "left_out": one.left_out} for one in line.pieces]
    return {"number": line.number, "pieces": pieces}
