"""What is no row of numbers: one sentence, exit code 2, and no private value in it."""

import json

import pytest

from cli.command import refused, run_command

COMMON = ("run", "experts", "--epsilon", "1", "--delta", "0", "--seed", "3", "--horizon", "20")
CSV = {
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
}
NDJSON = {
    "deep": ("[" * 200_000 + "\n", "nested too deeply"),
    "a deep value": ("[0.5, " + "[" * 200_000 + "]" * 200_000 + "]\n", "nested too deeply"),
    "a huge number": ("[0.5, 1" + "0" * 400 + "]\n", "column '1'"),
    "a number of 5000 digits": ("[0.5, " + "9" * 5000 + "]\n", "column '1'"),
    "a number of 50 MB": ("[0.5, " + "9" * 50_000_000 + "]\n", "column '1'"),
    "an exponent": ("[0.5, 1e400]\n", "column '1'"),
    "NaN": ("[0.5, NaN]\n", "column '1'"),
    "digits of another script": ("[0.5, \u0966]\n", "not JSON"),
    "an underscore": ("[0.5, 0_1]\n", "not JSON"),
    "a key twice": ('{"a": 0.5, "b": 0.5, "a": 0.25}\n', "a key twice"),
    "a key twice later": ('{"a": 0.5, "b": 0.5}\n{"a": 0.5, "b": 0.5, "a": 0.25}\n', "Row 2"),
    "a byte order mark in a key": ('{"a": 0.5, "\ufeffb": 0.5}\n', "Column 2"),
    "a truth value": ("[0.1, true]\n", "column '1'"),
    "a short row": ("[0.1, 0.2]\n[0.1]\n", "has 1 values; expected 2"),
    "no JSON": ("[0.1, 0.2]\n{oops\n", "not JSON"),
    "a number": ("[0.1, 0.2]\n3\n", "list or object"),
    "other keys": ('{"a": 0.5, "b": 0.5}\n{"a": 0.5, "secret": 0.5}\n', "the keys a, b"),
}
PRIVATE = ("secret", "1.125", "0.125", "1e400", "0_1", "1_0", "999", "000", "\u0966", "\u0967", "nan", "NaN")


@pytest.mark.parametrize(("kind", "junk"), [("csv", junk) for junk in CSV] + [("ndjson", junk) for junk in NDJSON])
def test_text(kind, junk, tmp_path, capsys):
    text, words = {"csv": CSV, "ndjson": NDJSON}[kind][junk]
    path = tmp_path / f"losses.{kind}"
    path.write_text(text, encoding="utf-8")
    error = refused(capsys, *COMMON, "--input", str(path))
    assert words in error
    assert not [value for value in PRIVATE if value in error.replace(str(path), "")]


@pytest.mark.parametrize("form", ["csv", "ndjson"])
@pytest.mark.parametrize("source", ["file", "standard input"])
def test_a_byte_order_mark_is_no_part_of_the_first_column(form, source, tmp_path, capsys):
    text = "\ufeffa,b\n0.5,0.5\n" if form == "csv" else '\ufeff{"a": 0.5, "b": 0.5}\n'
    path = tmp_path / f"losses.{form}"
    path.write_text(text, encoding="utf-8")
    where = str(path) if source == "file" else "-"
    arguments = (*COMMON, "--json", "--format", form, "--input", where)
    assert run_command(*arguments, stdin=text) == 0
    assert json.loads(capsys.readouterr().out.splitlines()[0])["name"] in ("a", "b")


def test_the_size_that_was_said_must_be_that_of_the_rows(tmp_path, capsys):
    path = tmp_path / "losses.csv"
    path.write_text("a,b\n0.5,0.5\n")
    assert "has 2 columns; the options say 3" in refused(capsys, *COMMON, "--n", "3", "--input", str(path))
    assert "expected 3" in refused(capsys, *COMMON, "--n", "3", "--input", "-", stdin="0.5,0.5\n")
    assert "column '0'" in refused(capsys, *COMMON, "--n", "2", "--input", "-", stdin="a,b\n0.5,0.5\n")
    said = ("--n", "2", "--format", "ndjson", "--input", "-")
    assert "the keys 0, 1, or be a list" in refused(capsys, *COMMON, *said, stdin='{"a": 0.5, "b": 0.5}\n')
    assert "whole number" in refused(capsys, *COMMON, "--n", "9" * 30, "--input", "-")


def test_a_file_that_is_no_text(tmp_path, capsys):
    path = tmp_path / "losses.csv"
    path.write_bytes("a,b\n0.5,0.5\n".encode("utf-16"))
    assert "not UTF-8" in refused(capsys, *COMMON, "--input", str(path))
