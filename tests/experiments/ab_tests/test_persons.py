"""Files of persons: every cell has a value by a public rule, and a person counts once."""

import csv
import itertools
import resource
import time

import numpy as np
import pytest

from experiments.ab_tests.test_promise import design_of
from tacit.errors import InvalidInput
from tacit_experiments.ab_tests.metrics import Conversion, Ratio, Sum
from tacit_experiments.ab_tests.persons import LONGEST_LINE, PersonsFile
from tacit_experiments.ab_tests.vector import LATTICE

HEADER = "person,arm,bought,revenue,device"
METRICS = (Conversion("bought"), Sum("revenue", 200.0), Ratio("basket", "revenue", "bought"))
DESIGN = design_of(METRICS, looks=1, segments={"device": ("phone", "desktop")})
EMPTY = [[0] * 5, [0] * 5]
NOBODY = [0, 0, 0, 0, 0]
STEP = LATTICE // 200


def sums_of(tmp_path, *lines, header=HEADER, design=DESIGN, **names):
    content = "\n".join([header, *lines]) if all(isinstance(line, str) for line in lines) else None
    file = tmp_path / "persons.csv"
    if content is not None:
        file.write_text(content + "\n", encoding="utf-8")
    else:
        file.write_bytes(b"\n".join([header.encode(), *lines]))
    return PersonsFile(file, design, **names).sums()


def vector(bought, revenue, design=DESIGN):
    value = round(revenue / 200 * 2**32)
    return design.layout.features(np.array([[LATTICE * bought, (value + 2**15) >> 16]]))[0].tolist()


def test_a_file_is_added_up_by_arm_and_cell(tmp_path):
    sums = sums_of(tmp_path, "a,control,1,50,phone", "b,short,0,0,desktop", "c,short,1,12.5,tablet")
    bought, nothing, other = vector(1, 50), vector(0, 0), vector(1, 12.5)
    assert sums.total == [bought, [x + y for x, y in zip(nothing, other, strict=True)]]
    assert sums.cells == [[[bought, NOBODY], [NOBODY, nothing], [NOBODY, other]]]
    assert repr(sums) == "Sums(...)"


@pytest.mark.parametrize(
    ("cells", "bought", "revenue"),
    [
        ("1,50", 1, 50),
        ("True,50", 1, 50),
        ("YES,50", 1, 50),
        ("0.2,50", 1, 50),
        (",", 0, 0),
        ("", 0, 0),
        ("no,", 0, 0),
        ("nan,nan", 0, 0),
        ("NaN,NaN", 0, 0),
        ("-1,-50", 0, 0),
        ("-inf,-1e400", 0, 0),
        ("inf,inf", 1, 200),
        ("1e400,1e308", 1, 200),
        ("7,200.0001", 1, 200),
        ("x,y", 0, 0),
        ('"1","50"', 1, 50),
        ('1,"5""0"', 1, 0),
        ("1,49.999999999999", 1, 50),
        (" 1 , 50 ", 1, 50),
        ("0,1e-300", 0, 0),
        ("0x1,0b1", 0, 0),
        ("1," + "9" * 5_000, 1, 200),
    ],
)
def test_every_cell_has_a_value_and_none_is_refused(tmp_path, cells, bought, revenue):
    sums = sums_of(tmp_path, f"a,short,{cells}")
    assert sums.total == [NOBODY, vector(bought, revenue)]
    assert sums.cells[0][2] == [NOBODY, vector(bought, revenue)]  # no device: "other"


@pytest.mark.parametrize(
    "line",
    [
        "",
        ",short,1,50,phone",
        "  ,short,1,50,phone",
        "a",
        "a,",
        "a,unknown,1,50,phone",
        "a,SHORT,1,50,phone",
        '"a,short,1,50,phone',
        "a,short," + "1" * LONGEST_LINE + ",50,phone",
        "\x00",
        'a,sh"ort"\r,1',
    ],
)
def test_lines_that_are_no_rows_do_not_count_and_hide_no_other_line(tmp_path, line):
    sums = sums_of(tmp_path, line, "b,control,1,50,phone")
    assert sums.total == [vector(1, 50), NOBODY]


def test_a_quotation_mark_that_is_not_closed_swallows_no_other_person(tmp_path):
    with_it = sums_of(tmp_path, 'a,control,"1,50,phone', "b,short,1,50,phone", "c,short,1,50,phone")
    without = sums_of(tmp_path, "b,short,1,50,phone", "c,short,1,50,phone")
    assert with_it.total[1] == without.total[1]


def test_bytes_that_are_no_utf_8_are_read(tmp_path):
    lines = [b"\xff\xfe,control,1,50,phone", "é,short,1,50,phone".encode("latin-1"), b"a,short,\xff,\xa0,\x85"]
    assert sums_of(tmp_path, *lines).total == [
        vector(1, 50),
        [x + y for x, y in zip(vector(1, 50), vector(0, 0), strict=True)],
    ]


def test_persons_whose_last_byte_looks_like_white_space_are_two_persons(tmp_path):
    """In UTF-8 the last bytes of these are spaces of Latin 1."""
    sums = sums_of(tmp_path, "x\u00e0,short,1,50,phone", "x\u00c5,short,1,50,phone")
    assert sums.total[1] == [2 * value for value in vector(1, 50)]


def test_arms_cells_and_columns_may_have_any_letters(tmp_path):
    metrics = (Conversion("gekauft à"),)
    design = design_of(metrics, looks=1, segments={"gerät": ("téléphoneà", "端末")}).to_dict()
    made = type(DESIGN).from_dict({**design, "arms": ["alt à", "neu Å"], "default": ""})
    lines = ["a,alt à,1,端末", "b,neu Å,1,téléphoneà"]
    sums = sums_of(tmp_path, *lines, header="\ufeffperson,arm,gekauft à,gerät", design=made)
    one = [LATTICE, LATTICE]
    assert sums.total == [one, one]
    assert sums.cells == [[[[0, 0], one], [one, [0, 0]], [[0, 0], [0, 0]]]]


def test_a_person_who_is_listed_twice_counts_once(tmp_path):
    lines = ["a,short,0,10,desktop", "a,short,1,5,phone", "a,short,0,0,phone"]
    for order in itertools.permutations(lines):
        sums = sums_of(tmp_path, *order)
        assert sums.total == [NOBODY, vector(1, 10)]
        assert sums.cells[0][0] == [NOBODY, vector(1, 10)]  # the first declared cell
    thousand = sums_of(tmp_path, *(lines * 1_000))
    assert thousand.total == [NOBODY, vector(1, 10)]


def test_a_person_in_two_arms_counts_in_none(tmp_path):
    lines = ["a,short,1,10,phone", "a,control,1,10,phone", "a,short,1,10,phone", "b,short,1,50,phone"]
    for order in itertools.permutations(lines):
        assert sums_of(tmp_path, *order).total == [NOBODY, vector(1, 50)]
    assert sums_of(tmp_path, "a,nobody,1,10,phone", "a,short,1,10,phone").total == [NOBODY, vector(1, 10)]


def test_a_person_moves_nothing_but_one_vector_whatever_their_lines_hold(tmp_path):
    """Neighbouring files: all lines of one person, made of anything, are there or not."""
    generator = np.random.default_rng(7)
    others = [f"p{number},{('control', 'short')[number % 2]},{number % 3 == 0},{number},phone" for number in range(20)]
    pieces = ["1", "", "nan", '"', "inf", "-4", "short", "control", "phone", "1e999", "\x00", "é", "7,7,7"]
    without = sums_of(tmp_path, *others)
    for _ in range(300):
        own = []
        for _ in range(generator.integers(1, 4)):
            cells = ",".join(generator.choice(pieces, size=generator.integers(0, 7)))
            own.append(f"me,{generator.choice(['control', 'short', 'other'])},{cells}")
        lines = [*others, *own]
        generator.shuffle(lines)
        found = sums_of(tmp_path, *lines)
        moved = np.array(found.total) - np.array(without.total)
        assert (np.abs(moved).sum(axis=1) > 0).sum() <= 1
        row = moved[np.abs(moved).sum(axis=1).argmax()]
        features = row if row.any() else np.array(vector(0, 0))
        assert features[0] == LATTICE
        assert features[2] ** 2 + features[3] ** 2 <= LATTICE**2
        assert abs(features[1]) == LATTICE
        assert abs(features[4]) <= LATTICE
        cells = np.array(found.cells) - np.array(without.cells)
        assert (cells.sum(axis=1)[0] == moved).all()
        assert (np.abs(cells).sum(axis=(2, 3)) > 0).sum() <= 1


@pytest.mark.parametrize(
    ("header", "words"),
    [
        ("", "there is no 'person'"),
        ("person;arm;bought;revenue;device", "with commas"),
        ("user,arm,bought,revenue,device", "there is no 'person'"),
        ("person,group,bought,revenue,device", "there is no 'arm'"),
        ("person,arm,bought,revenue", "there is no 'device'"),
        ("person,arm,Bought,revenue,device", "there is no 'bought'"),
        ("person,arm,bought,bought,revenue,device", "'bought' stands twice"),
        ("person,arm,bought,revenue,device,person", "'person' stands twice"),
    ],
)
def test_a_wrong_header_is_refused_and_not_quoted(tmp_path, header, words):
    with pytest.raises(InvalidInput, match=words):
        sums_of(tmp_path, "secret-person,short,1,50,phone", header=header)


def test_a_file_without_a_header_does_not_show_its_first_person(tmp_path):
    with pytest.raises(InvalidInput) as caught:
        sums_of(tmp_path, "b,short,1,50,phone", header="secret-person,short,1,50,phone")
    assert "secret" not in str(caught.value)
    assert "50" not in str(caught.value)


def test_a_file_that_is_not_there_is_refused(tmp_path):
    with pytest.raises(InvalidInput, match="no file"):
        PersonsFile(tmp_path / "none.csv", DESIGN)
    with pytest.raises(InvalidInput, match="no file"):
        PersonsFile(tmp_path, DESIGN)


def test_a_file_of_nobody_has_sums(tmp_path):
    sums = sums_of(tmp_path)
    assert sums.total == EMPTY
    assert sums.cells == [[EMPTY] * 3]


def test_columns_may_have_other_names_and_stand_anywhere(tmp_path):
    lines = ["50,x,phone,short,1,a", ",,,control,0,b"]
    header = "revenue,more,device,variant,bought,user"
    sums = sums_of(tmp_path, *lines, header=header, person="user", arm="variant")
    assert sums.total == [vector(0, 0), vector(1, 50)]


def test_lines_may_end_as_on_any_system(tmp_path):
    for end in ("\n", "\r\n"):
        file = tmp_path / "persons.csv"
        file.write_bytes((end.join([HEADER, "a,short,1,50,phone", "b,control,0,,phone"])).encode())
        assert PersonsFile(file, DESIGN).sums().total == [vector(0, 0), vector(1, 50)]


def test_a_field_limit_that_somebody_lowered_refuses_nothing(tmp_path):
    kept = csv.field_size_limit(3)
    try:
        sums = sums_of(tmp_path, '"a","short","11111",50,phone', "b,short,1,50,phone")
    finally:
        csv.field_size_limit(kept)
    assert sums.total == [NOBODY, vector(1, 50)]


@pytest.mark.slow
def test_a_million_rows_take_seconds_and_little_memory(tmp_path, record_property):
    file = tmp_path / "persons.csv"
    with file.open("w") as written:
        written.write(f"{HEADER}\n")
        for number in range(1_000_000):
            arm, device = ("control", "short")[number % 2], ("phone", "desktop", "x")[number % 3]
            written.write(f"user-{number},{arm},{number % 33 == 0:d},{number % 97}.25,{device}\n")
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    started = time.perf_counter()
    sums = PersonsFile(file, DESIGN).sums()
    seconds = time.perf_counter() - started
    memory = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    record_property("seconds", seconds)
    record_property("megabytes", memory)
    assert [row[0] for row in sums.total] == [500_000 * LATTICE] * 2
    assert seconds < 60
    assert memory < 300
