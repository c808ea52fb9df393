"""The diff of two texts: lines, words within lines, and bounds whatever the texts hold."""

import random
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from insights import diff
from insights.diff import compare

BEFORE = """You triage alerts.

Assess {{ summary }}.
Look at the last 10 minutes.
Answer with JSON.
"""
AFTER = """You triage alerts.

Assess {{ summary }} with care.
Look at the last 30 minutes of logs.
Never guess.
Answer with JSON.
"""


def text_of(line):
    """A line with its marked words in brackets and the size of what is left out in angles."""
    parts = [f"<{p.left_out}>" if p.left_out else f"[{p.text}]" if p.marked else p.text for p in line.pieces]
    return f"{line.number} {''.join(parts)}"


def drawn(blocks):
    return [
        (block.kind, [text_of(line) for line in block.left], [text_of(line) for line in block.right])
        for block in blocks
    ]


def test_words_are_marked_within_lines_and_a_new_line_stands_alone():
    found = compare(BEFORE, AFTER)
    assert drawn(found.blocks) == [
        ("same", ["1 You triage alerts.", "2 "], ["1 You triage alerts.", "2 "]),
        ("changed", ["3 Assess {{ summary }}."], ["3 Assess {{ summary }}[ with care]."]),
        ("changed", ["4 Look at the last [10] minutes."], ["4 Look at the last [30] minutes[ of logs]."]),
        ("replaced", [], ["5 Never guess."]),
        ("same", ["5 Answer with JSON."], ["6 Answer with JSON."]),
    ]
    assert (found.removed, found.added, found.left_out) == (2, 3, 0)


def test_neighbouring_words_are_marked_as_one():
    (block,) = compare("Use the old red tool for it.", "Use the new blue tool for it.").blocks
    assert text_of(block.left[0]) == "1 Use the [old red] tool for it."
    assert text_of(block.right[0]) == "1 Use the [new blue] tool for it."


def test_equal_texts_have_no_diff():
    found = compare(BEFORE, BEFORE)
    assert found.is_empty
    assert found.blocks == []


def test_line_ends_and_the_last_newline_do_not_count():
    assert compare("a\nb\n", "a\r\nb").is_empty
    assert not compare("a\nb", "a\n\nb").is_empty


def test_from_nothing_and_to_nothing():
    assert drawn(compare("", "a\nb").blocks) == [("replaced", [], ["1 a", "2 b"])]
    assert drawn(compare("a\nb", "").blocks) == [("replaced", ["1 a", "2 b"], [])]
    assert compare("", "").is_empty


def test_lines_that_share_too_little_are_not_called_an_edit():
    assert drawn(compare("Be brief and kind.", "Use the deploy log only.").blocks) == [
        ("replaced", ["1 Be brief and kind."], ["1 Use the deploy log only."])
    ]


def test_long_equal_stretches_are_a_gap():
    lines = [f"line {number}" for number in range(1, 21)]
    changed = [*lines[:9], "line ten", *lines[10:]]
    found = compare("\n".join(lines), "\n".join(changed))
    assert [(block.kind, block.hidden, len(block.left)) for block in found.blocks] == [
        ("gap", 6, 0), ("same", 0, 3), ("changed", 0, 1), ("same", 0, 3), ("gap", 7, 0),
    ]  # fmt: skip
    assert text_of(found.blocks[1].left[0]) == "7 line 7"
    assert drawn(found.blocks)[2] == ("changed", ["10 line [10]"], ["10 line [ten]"])


def test_one_hidden_line_is_shown_rather_than_called_a_gap():
    lines = list("abcdefghi")
    found = compare("\n".join(lines), "\n".join(["A1", *lines[1:8], "I1"]))
    assert [block.kind for block in found.blocks] == ["replaced", "same", "replaced"]


def test_an_edited_line_is_found_among_removed_ones():
    before = "Drop this rule entirely.\nCheck the error budget of the service.\n"
    after = "Check the error budget of each service.\n"
    assert drawn(compare(before, after).blocks) == [
        ("replaced", ["1 Drop this rule entirely."], []),
        ("changed", ["2 Check the error budget of [the] service."], ["1 Check the error budget of [each] service."]),
    ]


def test_the_middle_of_a_long_equal_part_is_left_out():
    same = "word " * 1_000  # 5,000 characters
    (block,) = compare(same + "old", same + "new").blocks
    assert [piece.left_out for piece in block.left[0].pieces] == [0, 4_720, 0, 0]  # 160 and 120 of 5,000 stay
    assert block.left[0].pieces[-1].text == "old"


def test_a_long_word_differs_by_its_letters():
    key = "A" * 50
    (block,) = compare(f"key {key}x{key}", f"key {key}yy{key}").blocks
    assert text_of(block.left[0]) == f"1 key {key}[x]{key}"
    assert text_of(block.right[0]) == f"1 key {key}[yy]{key}"


def test_scripts_without_blanks_are_compared_letter_by_letter():
    (block,) = compare("过去十分钟的日志要看", "过去三分钟的日志要看").blocks
    assert text_of(block.right[0]) == "1 过去[三]分钟的日志要看"


def test_what_no_eye_sees_is_spelled_out_where_it_changed():
    (block,) = compare("approve the refund now", "approve \u202ethe refund now").blocks
    assert text_of(block.right[0]) == "1 approve [<U+202E>the] refund now"


def test_of_a_text_written_anew_both_sides_are_shown(monkeypatch):
    monkeypatch.setattr(diff, "SHOWN_LINES", 10)
    found = compare("\n".join(f"old{n}" for n in range(50)), "\n".join(f"new{n}" for n in range(60)))
    (block,) = found.blocks
    assert (len(block.left), len(block.right)) == (5, 5)
    assert (found.removed, found.added, found.left_out) == (50, 60, 100)


def test_what_does_not_fit_is_counted(monkeypatch):
    monkeypatch.setattr(diff, "SHOWN_CHARS", 100)
    before = "\n".join(f"{n} keep\n{n} the old words" for n in range(100))
    found = compare(before, before.replace("old", "new"))
    shown = sum(len(block.left) + len(block.right) for block in found.blocks if block.kind == "changed")
    assert 0 < shown < 20
    assert found.left_out == 200 - shown


def hostile():
    chaos = random.Random(3)
    words = ["".join(chaos.choices("abcdefgh", k=6)) for _ in range(3_000)]
    lines = [" ".join(chaos.choices(words, k=10)) for _ in range(15_000)]
    other = [" ".join(chaos.choices(words, k=10)) for _ in range(15_000)]
    edited = [line.replace("a", "zz", 1) for line in lines]
    two = ["".join(chaos.choices("ab", k=500_000)) for _ in range(2)]
    return {
        "every line edited": ("\n".join(lines), "\n".join(edited)),
        "every line another": ("\n".join(lines), "\n".join(other)),
        "shuffled": ("\n".join(lines), "\n".join(chaos.sample(lines, len(lines)))),
        "one line, edited": (" ".join(lines), " ".join(edited)),
        "one word": ("a" * 1_000_000, "a" * 999_999 + "b"),
        "only newlines": ("\n" * 1_000_000, "\n" * 999_990 + "x"),
        "two letters as lines": ("\n".join(two[0]), "\n".join(two[1])),
        "two letters as words": (" ".join(two[0]), " ".join(two[1])),
        "backwards": ("\n".join(map(str, range(150_000))), "\n".join(map(str, range(150_000, 0, -1)))),
        "signs": (two[0].replace("a", "{").replace("b", "}"), two[1].replace("a", "{").replace("b", "}")),
    }


HOSTILE = hostile()


@pytest.mark.parametrize("name", HOSTILE)
def test_a_megabyte_takes_bounded_time_and_room(name):
    before, after = HOSTILE[name]
    began = time.process_time()
    found = compare(before, after)
    assert time.process_time() - began < 4  # about 0.6 s at most; a quadratic search takes minutes
    lines = [line for block in found.blocks for line in (*block.left, *block.right)]
    assert len(lines) <= 2 * diff.SHOWN_LINES
    assert sum(len(piece.text) for line in lines for piece in line.pieces) <= 2 * diff.SHOWN_CHARS
    assert not found.is_empty


letters = st.text(alphabet="ab \n{é字\u200b", max_size=60)


@given(letters, letters)
def test_small_texts_can_be_read_back_from_their_diff(before, after):
    """Nothing is lost: each side of the blocks is the whole text, gaps taken from the original."""
    found = compare(before, after)
    if found.is_empty:
        return
    for side, text in (("left", before), ("right", after)):
        lines = iter(diff._lines(text))
        for block in found.blocks:
            for _ in range(block.hidden):
                next(lines)
            for line in getattr(block, side):
                shown = "".join(piece.text for piece in line.pieces).replace("<U+200B>", "\u200b")
                assert shown == next(lines)
        assert list(lines) == []
