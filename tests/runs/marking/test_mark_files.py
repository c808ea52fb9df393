import csv
import io
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runs.marking.mark_files import (
    COLUMNS,
    FORMS,
    LINE_CHARS,
    BadFile,
    Line,
    form_of,
    read,
    shielded,
    unshielded,
    written,
)


def row(**values: Any) -> dict[str, Any]:
    return dict.fromkeys(COLUMNS) | values


def read_text(text: str | bytes, form: Any = "csv") -> list[Line]:
    return list(read(io.BytesIO(text.encode() if isinstance(text, str) else text), form))


@pytest.mark.parametrize("cell", ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", "\n=1", "'=1", "''=1", "\uff1d1"])
def test_what_a_spreadsheet_would_run_gets_an_apostrophe(cell: str) -> None:
    assert shielded(cell) == f"'{cell}"
    assert unshielded(shielded(cell)) == cell


@pytest.mark.parametrize("cell", ["", "a=b", "it's", "'quoted'", " =1"])
def test_other_cells_stay_as_they_are(cell: str) -> None:
    assert shielded(cell) == cell
    assert unshielded(cell) == cell


texts = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), max_size=40)


@given(texts)
def test_a_cell_comes_back_as_it_was(cell: str) -> None:
    assert unshielded(shielded(cell)) == cell


@pytest.mark.parametrize("form", FORMS)
@given(note=texts, marker=texts)
def test_a_file_comes_back_as_it_was(form: Any, note: str, marker: str) -> None:
    text = "".join(written([row(outcome="correct", note=note, marker=marker, was_blind=True)], form))
    [line] = read_text(text, form)
    assert line.values["note"] == note
    assert line.values["marker"] == marker
    assert line.values["outcome"] == "correct"
    assert str(line.values["was_blind"]).lower() == "true"
    assert line.values["run_id"] in {"", None}


def test_csv_has_a_head_and_jsonl_has_null() -> None:
    head, _ = csv.reader(written([row(outcome="partial")], "csv"))
    assert tuple(head) == COLUMNS
    assert '"run_id": null' in "".join(written([row(outcome="partial")], "jsonl"))


def test_lines_are_counted_as_an_editor_counts_them() -> None:
    text = 'outcome,note\ncorrect,"two\nlines"\n\npartial,x\n'
    assert [(line.number, line.values["outcome"]) for line in read_text(text)] == [(2, "correct"), (5, "partial")]
    assert [line.number for line in read_text('{"outcome": "correct"}\n\n{"outcome": "partial"}', "jsonl")] == [1, 3]


@pytest.mark.parametrize(
    ("text", "form", "complaint"),
    [
        ("", "csv", "line 1: expected the names of the columns"),
        ("run_id,note\n", "csv", "outcome among them"),
        ("outcome,nots\n", "csv", "line 1: there is no column 'nots'; known: run_id"),
        ("outcome,outcome\n", "csv", "line 1: a column is named twice"),
        (b"outcome\ncorrect\n\xff\n", "csv", "line 3: not UTF-8 (byte 1 of the line)"),
        (b"outcome\ncor\x00rect\n", "csv", "line 2: holds a NUL"),
        (b"SQLite format 3\x00", "csv", "line 1: holds a NUL"),
        ('outcome,note\ncorrect,"never closed\n\n\n', "csv", "line 4: not CSV: unexpected end of data"),
        ('outcome,note\ncorrect,"a"b\n', "csv", "line 2: not CSV"),
        ("outcome\n" + "x" * (LINE_CHARS + 1), "csv", "line 2: longer than 100,000 bytes"),
        ("x" * (LINE_CHARS + 1), "jsonl", "line 1: longer than 100,000 bytes"),
    ],
)
def test_a_file_that_cannot_be_read_says_where_and_why(text: Any, form: Any, complaint: str) -> None:
    with pytest.raises(BadFile) as raised:
        read_text(text, form)
    assert complaint in str(raised.value)


def test_a_quote_that_is_never_closed_does_not_swallow_the_file() -> None:
    text = 'outcome,note\ncorrect,"' + "x\n" * 100_000
    with pytest.raises(BadFile, match="field larger than field limit"):
        read_text(text)


@pytest.mark.parametrize(
    ("text", "form", "problem"),
    [
        ("outcome,note\ncorrect\n", "csv", "has 1 cells, its head has 2"),
        ("{broken\n", "jsonl", "not JSON"),
        ("[1]\n", "jsonl", "expected a JSON object"),
        ('{"outcome": "correct", "x": 1}\n', "jsonl", "there is no column 'x'"),
        ("[" * 50_000 + "\n", "jsonl", "not JSON"),
        ('{"note": ' + "9" * 5_000 + "}\n", "jsonl", "not JSON"),
    ],
)
def test_one_bad_line_is_told_and_the_others_are_read(text: str, form: Any, problem: str) -> None:
    line, good = read_text(text + ("partial,x\n" if form == "csv" else '{"outcome": "partial"}\n'), form)
    assert problem in line.problem
    assert good.problem == ""


def test_a_byte_order_mark_is_no_part_of_the_first_name() -> None:
    [line] = read_text(b"\xef\xbb\xbfoutcome\r\ncorrect\r\n")
    assert line.values == {"outcome": "correct"}


def test_the_name_tells_the_form() -> None:
    assert (form_of("a.CSV"), form_of("b.jsonl")) == ("csv", "jsonl")
    with pytest.raises(BadFile, match="expected a name that ends in"):
        form_of("marks.xlsx")
