"""Every kind: its JSON, its statement on arithmetic, and the neighbours that it has a price for."""

import json
from dataclasses import fields, replace

import jsonschema
import pytest

from releases import instances
from releases.instances import ALL, EXACT, FLOATING, ONE, SEVERAL, UP_TO, ZERO, selection, sums
from tacit.accounting.curves import Approximate, Gaussian, Pure, SamplerError
from tacit.accounting.guarantee import ZERO_OUT
from tacit.accounting.rounding import IDEALIZED
from tacit.errors import InvalidInput, PrivacyError
from tacit.ranges import fields_of
from tacit.releases import (
    Apart,
    Coin,
    Epochs,
    Grouped,
    Neighbours,
    NoisyBatches,
    NoisyBits,
    OwnDraw,
    Passes,
    Releases,
    Repeated,
    Response,
    Sized,
    Softmax,
    Together,
    Vectors,
)
from tacit.releases.schema import KINDS, from_dict, schema

VALIDATOR = jsonschema.Draft202012Validator(schema())


def each(cases):
    return pytest.mark.parametrize(("made", "among"), cases.values(), ids=cases)


def written(made, among):
    return json.loads(json.dumps(made.to_dict(among), allow_nan=False))


def subclasses(kind):
    return {found for one in kind.__subclasses__() for found in (one, *subclasses(one))}


def test_every_kind_has_an_instance():
    of_tacit = {kind for kind in subclasses(Releases) if kind.__module__.startswith("tacit.")}
    assert of_tacit - {Sized} == set(KINDS)
    assert {type(made) for made, _ in ALL.values()} == set(KINDS)


@each(ALL)
def test_json_goes_through_its_schema_and_back(made, among):
    content = written(made, among)
    VALIDATOR.validate(content)
    if isinstance(made, OwnDraw) and made.stated is not None:
        with pytest.raises(InvalidInput, match="curve of the user's own"):
            from_dict(content, among)
        return
    again = from_dict(content, among)
    assert again == made
    assert again.curve(among) == made.curve(among)


@each(ALL)
def test_the_schema_refuses_whatever_is_left_out_or_added(made, among):
    content = written(made, among)
    for name in content:
        without = {key: value for key, value in content.items() if key != name}
        assert not VALIDATOR.is_valid(without), name
    assert not VALIDATOR.is_valid({**content, "made_for": 3})
    assert not VALIDATOR.is_valid({**content, "kind": "Softmaximum"})
    assert not VALIDATOR.is_valid({**content, "kind": 3})


@each(ALL)
def test_schema_and_check_refuse_the_same_numbers(made, among):
    """What is below, above or of another type is refused by both, and ends are allowed by both."""
    content = written(made, among)
    tried = 0
    for field in fields_of(type(made)):
        if field.range is None or field.kind not in (int, float):
            continue
        low = field.range.low
        for bad in (low - 1, "3", True, *([] if field.kind is float else [low + 0.5])):
            tried += 1
            with pytest.raises(InvalidInput, match=field.name):
                replace(made, **{field.name: bad})
            assert not VALIDATOR.is_valid({**content, field.name: bad}), (field.name, bad)
    declared = [field for field in fields_of(type(made)) if field.range is not None]
    assert (tried > 0) == bool(declared)


def test_json_that_states_other_noise_is_refused():
    content = written(sums(), ONE)
    content["noise"]["units"] += 2
    VALIDATOR.validate(content)
    with pytest.raises(InvalidInput, match="says something else"):
        from_dict(content, ONE)
    with pytest.raises(InvalidInput, match="not the JSON"):
        from_dict({"kind": "Coin", **{"force": 0.1}}, ONE)
    with pytest.raises(InvalidInput, match=r"not the JSON of a declaration \(Coin\)"):
        from_dict(written_coin(), ONE)


def written_coin():
    coin = Coin(0.1, 0.01)
    return {"kind": "Coin", **{each.name: getattr(coin, each.name) for each in fields(coin)}}


@each(EXACT)
def test_programs_on_integers_say_exact(made, among):
    assert made.numerics(among, 1e-6).startswith("exact")


@each(FLOATING)
def test_whatever_has_a_float_says_idealized(made, among):
    assert made.numerics(among, 1e-6) == IDEALIZED


@each(UP_TO)
def test_proved_errors_are_stated(made, among):
    extra = float(made.numerics(among, 1e-6).rpartition(" ")[2])
    assert 1e-9 <= extra < 1e-4


def test_extras_of_a_composition_add_up():
    batches = NoisyBatches(Vectors(3, 1.0), "gaussian", 20.0, 4)
    one = float(batches.numerics(SEVERAL, 1e-6).rpartition(" ")[2])
    three = float(Repeated(batches, 3).numerics(SEVERAL, 1e-6).rpartition(" ")[2])
    both = Together((batches, Softmax(0.01))).numerics(SEVERAL, 1e-6)
    assert 2.9 * one < three < 3.2 * one
    assert float(both.rpartition(" ")[2]) == pytest.approx(one, rel=0.1)


@each(ALL)
def test_noise_that_was_made_for_others_has_no_lower_price(made, among):
    """Three times the rounds, and replacement after zero-out: dearer, or refused."""
    own = made.curve(among).epsilon(1e-6)
    asks = [replace(among, rounds=3 * among.rounds)]
    if among.sides == 1:
        asks.append(Neighbours(rounds=among.rounds, separation=among.separation))
    for wide in asks:
        try:
            asked = made.curve(wide).epsilon(1e-6)
        except PrivacyError:
            continue
        assert asked > own or own in (0.0, float("inf"))


SIZED = {name: case for name, case in ALL.items() if isinstance(case[0], Sized)}


@each(SIZED)
def test_sized_noise_is_asked_for_less_at_its_own_price(made, among):
    fewer = Neighbours(ZERO_OUT, 1, among.separation)
    assert made.curve(fewer) == made.curve(among)
    assert made.to_dict(fewer) == made.to_dict(among)
    with pytest.raises(PrivacyError, match="has no price for"):
        made.to_dict(replace(among, rounds=among.rounds + 1))


def test_rounds_that_are_closer_are_not_covered():
    apart = Neighbours(rounds=3, separation=10)
    made = sums(apart)
    assert made.curve(replace(apart, separation=20)) == made.curve(apart)
    with pytest.raises(PrivacyError, match=r"3 rounds of a person, 10 apart: .*, 9 apart"):
        made.curve(replace(apart, separation=9))
    assert made.curve(Neighbours(rounds=1)) == made.curve(apart)


def test_sized_noise_that_costs_more_than_it_says_is_refused():
    """A rate above what its privacy pays for, in each kind that a plan sizes by hand."""
    doubled = [
        replace(selection(), rate=2 * selection().rate),
        replace(instances.thresholds(), query_rate=2 * instances.thresholds().query_rate),
        replace(instances.thresholds(), threshold_rate=2 * instances.thresholds().threshold_rate),
        replace(ALL["noisy bits"][0], rate=2 * ALL["noisy bits"][0].rate),
        replace(ALL["noisy half bits"][0], neutral=None),
        replace(ALL["noisy half bits"][0], made_for=Neighbours(rounds=3)),
        Response(0.5, 1.0, made_for=SEVERAL),
        replace(selection(), made_for=SEVERAL),
    ]
    for made in doubled:
        with pytest.raises(PrivacyError, match=r"costs epsilon=.*, and .* is stated"):
            made.curve(made.made_for)


def test_parts_that_refuse_are_refused_by_what_contains_them():
    inside = selection()
    for outside in (
        Apart(inside, "windows", 0.5),
        Together((inside, Softmax(0.1))),
        Grouped(inside, 3),
    ):
        assert outside.curve(ONE).pure() >= 0.5
        with pytest.raises(PrivacyError, match="sized for replace of one round"):
            outside.curve(SEVERAL)


def test_what_is_proved_for_one_round_refuses_several():
    for name in ("passes", "minimisers", "pure minimisers"):
        made, _ = ALL[name]
        with pytest.raises(PrivacyError, match="accounted for one round of a person"):
            made.curve(SEVERAL)


def test_apart_needs_pure_parts():
    with pytest.raises(PrivacyError, match="where they are pure"):
        Apart(Softmax(0.1), "windows", 1.0).curve(ONE)
    assert Apart(selection(), "windows", 0.25).curve(ONE) == Pure(0.5)


def test_a_group_pays_for_every_draw():
    """Theorem 3: a person of m units is off by m times all draws, not m times one."""
    curve = SamplerError(Gaussian(0.3), 1e-9, 1000, 1e-12, 1e-12)

    class Inside(Passes):
        def curve(self, among):
            return curve

    found = Grouped(Inside(1, 2**40, 1), 3).curve(ONE)
    assert found.draws == 3000
    assert found.curve.mu == pytest.approx(0.9)
    assert found.curve.mu >= 0.9 * (1 - 1e-15)
    assert found.delta(9.0) > 1e-5 > SamplerError(Gaussian(0.9), 1e-9, 3).delta(9.0)
    with pytest.raises(PrivacyError, match="pure or Gaussian"):
        Grouped(Softmax(0.1), 2).curve(ONE)


def test_epochs_pay_for_every_round_and_every_draw():
    small = selection(0.09)
    assert Epochs((small,), 0.3, 0.0, made_for=SEVERAL).curve(SEVERAL) == Pure(0.3)
    with pytest.raises(PrivacyError, match=r"Epoch 1 costs more than epsilon=0\.3"):
        Epochs((small, selection(0.11)), 0.3, 0.0, made_for=SEVERAL).curve(SEVERAL)
    with pytest.raises(PrivacyError, match="pure or Gaussian"):
        Epochs((Softmax(0.001),), 1.0, 1e-6, made_for=SEVERAL).curve(SEVERAL)
    assert Epochs((Softmax(0.001),), 1.0, 1e-6, made_for=ONE).curve(ONE) == Approximate(1.0, 1e-6)
    with pytest.raises(PrivacyError, match="Epoch 0"):
        Epochs((Softmax(9.0),), 1.0, 1e-6, made_for=ONE).curve(ONE)
    noisy = sums(privacy=0.05)
    shared = Epochs((noisy,), 1.0, 1e-6, made_for=SEVERAL).curve(SEVERAL)
    assert noisy.curve(ONE).distance > 0
    assert shared.distance >= 3 * noisy.curve(ONE).distance * noisy.curve(ONE).draws

    class Inexact(Passes):
        def curve(self, among):
            return SamplerError(Gaussian(0.01), shared.distance / 100, 1000)

    with pytest.raises(PrivacyError, match="Epoch 0"):
        Epochs((Inexact(1, 1, 1),), 1.0, 1e-6, made_for=ONE).curve(ONE)


def test_sampler_errors_of_repeated_parts_are_paid_once_each():
    batches = NoisyBatches(Vectors(3, 1.0), "gaussian", 20.0, 4)
    one = batches.curve(ONE)
    three = Repeated(batches, 3).curve(ONE)
    assert three.distance == pytest.approx(3 * one.distance)
    assert three.curve.mu == pytest.approx(3**0.5 * one.curve.mu)
    assert Repeated(batches, 0).curve(ONE).pure() == 0.0
    mixed = Together((batches, Softmax(0.01))).curve(ONE)
    assert one.epsilon(1e-6) < mixed.epsilon(1e-6) < one.epsilon(5e-7) + 0.02 + 1e-9


def test_what_is_shown_is_handed_on():
    inside = Together((selection(), ALL["threshold test"][0]))
    assert Apart(inside, "epochs", 1.0).shown == "every {decision} and every restart"
    assert "switch time" in Epochs((ALL["lazy chain"][0],), 9.0, 1e-6, made_for=ONE).shown


def test_wrong_fields_are_named():
    with pytest.raises(InvalidInput, match=r"'neutral' .* NoisyBits .* at most steps=2"):
        NoisyBits(0.1, 1.0, 2, 3, made_for=ONE)
    with pytest.raises(InvalidInput, match=r"'parts' .* Together .* at least one release"):
        Together(())
    with pytest.raises(InvalidInput, match=r"'release' .* Repeated .* of the kind Releases"):
        Repeated(0.1, 3)
    with pytest.raises(InvalidInput, match=r"'over' .* Apart"):
        Apart(selection(), "weeks", 1.0)
    with pytest.raises(InvalidInput, match=r"'privacy' .* ThresholdTest .* tuple of 2"):
        replace(ALL["threshold test"][0], privacy=(1.0, 1.0, 1.0))
    with pytest.raises(InvalidInput, match=r"'privacy' .* ThresholdTest .* a tuple"):
        replace(ALL["threshold test"][0], privacy=1.0)
    with pytest.raises(InvalidInput, match=r"'rounds' .* Neighbours"):
        Neighbours(rounds=0)
    with pytest.raises(InvalidInput, match=r"'records' .* NoisySums .* Losses or Vectors"):
        sums(records=3)
    assert str(ZERO) == "zero-out of 3 rounds of a person"
