"""The options of a select: names in them come from whoever sends a run."""

from runs.templatetags.shell import options


def test_the_chosen_one_is_selected():
    written = options([("a", "One"), ("b", "Two")], "b")
    assert written == '<option value="a">One</option><option value="b" selected>Two</option>'


def test_names_cannot_leave_their_place():
    assert options([('"><b>', "<i>&")]) == '<option value="&quot;&gt;&lt;b&gt;">&lt;i&gt;&amp;</option>'


def test_none_are_none():
    assert options([]) == ""
