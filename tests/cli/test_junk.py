"""What is no row of numbers: one sentence, exit code 2, and no private value in it."""

import json

import pytest

from cli.command import refused, run_command

COMMON = ("run", "experts", "--epsilon", "1", "--delta", "0", "--seed", "3", "--horizon", "20")
JUNK = {
    "a field of 50 MB": ("a,b\n0.5," + "9" * 50_000_000 + "\n", "Row 1"),
    "a name of 50 MB": ("a," + "b" * 50_000_000 + "\n0.5,0.5\n", "Row 1"),
    "digits of another script": ("a,b\n0.5,\u0966.\u096b\n", "column 'b'"),
    "digits of another script in the first row": ("\u0967,\u0966\n1,0\n", "Row 1"),
    "an underscore": ("a,b\n0.5,0_1\n", "column 'b'"),
    "an underscore in the first row": ("1_0,0\n1,0\n", "column '0'"),
    "semicolons in the first row": ("0.125;0.25\n0.5;0.5\n", "Row 1 of"),
    "spaces in the first row": ("0.125 0.25\n0.5 0.5\n", "column '0'"),
    "a unit in the first row": ("0.125kg,0.25kg\n1,0\n", "column '0'"),
    "a currency in the first row": ("$0.125,$0.25\n1,0\n", "column '0'"),
    "brackets in the first row": ("[0.125;0.25]\n1\n", "column '0'"),
    "a column twice": ("a,b,a\n0.5,0.5,0.5\n", "'a' twice"),
    "a column without a name": (",a,b\n0,0.5,0.5\n", "Column 1"),
    "a byte order mark inside": ("a,\ufeffb\n0.5,0.5\n", "Column 2"),
    "an open quote": ('a,b\n0.5,"0.125\n0.5,0.5\n', "Row 1"),
    "too large": ("a,b\n0.5,1.125\n", "[0, 1] in column 'b'"),
    "too large for a float": ("a,b\n0.5,1e400\n", "column 'b'"),
    "no number": ("a,b\n0.5,nan\n", "column 'b'"),
    "infinite": ("a,b\n0.5,inf\n", "column 'b'"),
    "nothing": ("", "is empty"),
    "a short row": ("a,b\n0.1,0.2\n0.3\n", "has 1 values; expected 2"),
    "text": ("a,b\n0.5,secret\n", "column 'b'"),
    "half a row": ("a,b\n0.1,0.2\n0.1,\n", "Row 2"),
}
PRIVATE = ("secret", "1.125", "0.125", "1e400", "0_1", "1_0", "999", "000", "\u0966", "\u0967", "nan")


@pytest.mark.parametrize("junk", JUNK)
def test_text(junk, tmp_path, capsys):
    text, words = JUNK[junk]
    path = tmp_path / "losses.csv"
    path.write_text(text, encoding="utf-8")
    error = refused(capsys, *COMMON, "--input", str(path))
    assert words in error
    assert not [value for value in PRIVATE if value in error.replace(str(path), "")]


@pytest.mark.parametrize("source", ["file", "standard input"])
def test_a_byte_order_mark_is_no_part_of_the_first_column(source, tmp_path, capsys):
    text = "\ufeffa,b\n0.5,0.5\n"
    path = tmp_path / "losses.csv"
    path.write_text(text, encoding="utf-8")
    where = str(path) if source == "file" else "-"
    assert run_command(*COMMON, "--json", "--input", where, stdin=text) == 0
    assert json.loads(capsys.readouterr().out.splitlines()[0])["name"] in ("a", "b")


def test_the_size_that_was_said_must_be_that_of_the_rows(tmp_path, capsys):
    path = tmp_path / "losses.csv"
    path.write_text("a,b\n0.5,0.5\n")
    assert "has 2 columns; the options say 3" in refused(capsys, *COMMON, "--n", "3", "--input", str(path))
    assert "expected 3" in refused(capsys, *COMMON, "--n", "3", "--input", "-", stdin="0.5,0.5\n")
    assert "column '0'" in refused(capsys, *COMMON, "--n", "2", "--input", "-", stdin="a,b\n0.5,0.5\n")
    assert "whole number" in refused(capsys, *COMMON, "--n", "9" * 30, "--input", "-")


def test_a_file_that_is_no_text(tmp_path, capsys):
    path = tmp_path / "losses.csv"
    path.write_bytes("a,b\n0.5,0.5\n".encode("utf-16"))
    assert "not UTF-8" in refused(capsys, *COMMON, "--input", str(path))
