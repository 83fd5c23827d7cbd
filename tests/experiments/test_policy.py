"""Policies: the same arm everywhere, one canonical form, a chain."""

import pytest

from tacit.errors import InvalidInput
from tacit_experiments.policy import Policy, assign, digest, is_pid, iso, pseudonym, seconds

POLICY = Policy(
    "home",
    1,
    17,
    True,
    "ab" * 16,
    ("a", "b", "c"),
    (2**31, 2**31 + 2**30, 2**32),
    "a",
    1.0,
    86401.0,
    90000.5,
    0,
    1,
    "",
    "",
    "",
)


def test_arms_have_their_shares():
    arms = [assign("cd" * 16, POLICY.upto, f"{number:032x}") for number in range(4000)]
    assert [round(arms.count(place) / 4000, 1) for place in range(3)] == [0.5, 0.2, 0.3]
    assert assign("cd" * 16, (0, 2**32, 2**32), "00" * 16) == 1  # an arm without a share is never met
    assert POLICY.shares == (0.5, 0.25, 0.25)


@pytest.mark.parametrize("wrong", ["", 7, None, "\ud800"])
def test_a_person_has_a_name(wrong):
    with pytest.raises(InvalidInput, match="person"):
        pseudonym(b"x" * 16, wrong)


def test_a_secret_is_needed():
    for secret in (b"", b"short", "a text of sixteen"):
        with pytest.raises(InvalidInput, match="secret"):
            pseudonym(secret, "alice")


@pytest.mark.parametrize("wrong", ["AB" * 16, "ab" * 15, "ab" * 16 + "\n", "\uff10" * 32, 7, None])
def test_one_canonical_form(wrong):
    assert not is_pid(wrong)
    assert is_pid("ab" * 16)


def test_a_document_is_read_again_and_a_changed_one_refused():
    document = POLICY.document()
    assert Policy.read(document) == POLICY
    assert document["serve_from"] == "1970-01-01T00:00:01Z"
    assert document["close_at"] == "1970-01-02T01:00:00.500Z"
    assert document["digest"] == digest({name: value for name, value in document.items() if name != "digest"})
    for changed in ({"upto": [0, 0, 2**32]}, {"format": "other"}, {"digest": ""}):
        with pytest.raises(InvalidInput, match="not a policy"):
            Policy.read(document | changed)
    assert seconds(iso(1_790_000_000.25)) == 1_790_000_000.25
