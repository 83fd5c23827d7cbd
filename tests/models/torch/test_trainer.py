"""Private training of PyTorch models: what a row moves, what is replayed, what is refused."""

import copy
import json
import pickle
import shutil
from itertools import combinations, pairwise

import numpy as np
import pytest

pytest.importorskip("torch.nn")  # this folder has the same name, and no such module
import torch

from tacit.accounting.ledger import Ledger
from tacit.errors import InvalidInput, PrivacyError, ProtocolError, StoreError
from tacit.noise.randomness import Randomness
from tacit.verification.facts import Facts
from tacit.verification.leaks import GaussianLeak
from tacit.verification.sums import Shift, sum_leak
from tacit_models.torch import EpochPlan, PrivateTrainer

TARGET = {"epsilon": 1.0, "delta": 1e-6, "relation": "zero-out"}


def planned(model, records=12, epochs=3, batches=2, **changes):
    size = sum(value.numel() for value in model.parameters() if value.requires_grad)
    return EpochPlan.calibrate(
        **{"records": records, "parameters": size, "epochs": epochs, "batches": batches, "clip": 0.5} | TARGET | changes
    )


def network(seed=0, *more):
    torch.manual_seed(seed)
    return torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Tanh(), *more, torch.nn.Linear(4, 2))


def table(records=12, seed=1):
    torch.manual_seed(seed)
    return torch.randn(records, 3), torch.randint(2, (records,))


def trainer(folder, model=None, data=None, plan=None, rate=0.1, ledger=None, **options):
    model = network() if model is None else model
    optimizer = torch.optim.SGD([v for v in model.parameters() if v.requires_grad], lr=rate)
    return PrivateTrainer(
        model, optimizer, torch.nn.functional.cross_entropy, data or table(), plan or planned(model),
        folder=folder, ledger=Ledger() if ledger is None else ledger, **options,
    )  # fmt: skip


def numbers(model):
    return torch.cat([value.detach().reshape(-1) for value in model.parameters()]).numpy().copy()


def test_a_row_moves_a_sum_by_its_clipped_gradient(tmp_path):
    data, model = table(), network()
    made = trainer(tmp_path / "a", model, data)
    sums = [made._gradient_sum(step) for step in range(2)]
    reference = np.zeros((2, made.plan.parameters))
    for row in range(12):
        model.zero_grad()
        torch.nn.functional.cross_entropy(model(data[0][row : row + 1]), data[1][row : row + 1]).backward()
        flat = np.concatenate([value.grad.double().reshape(-1).numpy() for value in model.parameters()])
        reference[row % 2] += flat * min(1.0, 0.5 / np.linalg.norm(flat))
    step = made.plan.grid.step
    assert np.abs(np.array(sums) * step - reference).max() < 1e-5
    for row in (0, 5, 11):
        other = data[0].clone(), data[1].clone()
        other[0][row] *= 1e6
        moved = trainer(tmp_path / f"b{row}", model, other)._gradient_sum(row % 2) - sums[row % 2]
        assert np.linalg.norm(moved) <= 2 * made.plan.grid.units
        assert np.array_equal(trainer(tmp_path / f"c{row}", model, other)._gradient_sum(1 - row % 2), sums[1 - row % 2])


@pytest.mark.parametrize("microbatch", [1, 5])
def test_microbatches_add_up_to_the_same_integers(tmp_path, microbatch):
    whole, parts = (trainer(tmp_path / str(size), microbatch=size) for size in (256, microbatch))
    # Gradients of one row may differ in their last digit between batch sizes, by a step of the lattice.
    assert np.abs(whole._gradient_sum(0) - parts._gradient_sum(0)).max() * whole.plan.grid.step < 1e-5


def test_rows_that_are_not_finite_contribute_nothing(tmp_path):
    data = table()
    data[0][0, 0] = float("nan")
    data[0][2, 0] = float("inf")
    bad = trainer(tmp_path / "a", data=data)._gradient_sum(0)
    kept = data[0].clone(), data[1].clone()
    assert np.isfinite(bad).all()
    kept[0][[0, 2]] = 0.0
    made = trainer(tmp_path / "b", data=kept)
    left = made._gradient_sum(0) - bad
    assert np.linalg.norm(left) <= 2 * made.plan.grid.units  # those two rows, and nothing else


def test_a_plan_charges_for_every_choice_of_steps():
    plan = planned(network(), epochs=4, batches=3)
    _, encoder = plan.mechanism.matrices()
    worst = max(
        np.linalg.norm(encoder[:, chosen].sum(axis=1))
        for chosen in combinations(range(12), 4)
        if all(late - early >= 3 for early, late in pairwise(chosen))
    )
    paid = plan.mu * plan.scale / plan.clip
    assert worst <= paid <= worst * 1.001
    several = planned(network(), epochs=4, batches=3, rows_per_person=5)
    assert several.scale / plan.scale == pytest.approx(5, rel=1e-3)
    assert several.guarantee.epsilon() <= 1.0


@pytest.mark.parametrize("relation", ["replace", "zero-out"])
@pytest.mark.parametrize(("epochs", "batches", "rows"), [(40, 1, 1), (20, 5, 1), (4, 100, 3)])
def test_a_second_accountant_agrees(relation, epochs, batches, rows):
    """From the encoder's numbers and the lattice alone, by the accountant that shares no code with the first."""
    plan = planned(network(), 1000, epochs, batches, relation=relation, rows_per_person=rows)
    grid, mechanism = plan.grid, plan.mechanism
    noise = {"law": "discrete gaussian", "rounding_error": grid.rounding.error, "failure": grid.rounding.failure}
    encoder = {"kind": "Buffered", "steps": plan.steps, "decays": mechanism.decays, "weights": mechanism.weights}
    shift = Shift(
        losses=False, units=grid.units, dimension=plan.parameters, sides=2 if relation == "replace" else 1,
        people=epochs, separation=batches,
    )  # fmt: skip
    facts = [Facts(json.loads(json.dumps(part, default=list)), "contract") for part in (noise, encoder)]
    found = sum_leak(*facts, shift, 1)
    several = GaussianLeak(rows * found.mu, rows * found.distance, rows * found.extra, rows * found.exponent)
    stated = plan.guarantee.epsilon()
    assert several.delta(stated) <= 1e-6 < several.delta(0.999 * stated)
    assert 0.999 <= stated <= 1.0


def test_a_full_batch_needs_independent_noise():
    plan = planned(network(), epochs=30, batches=1)
    assert plan.errors()[-1] == pytest.approx(30 * plan.relation.sides * plan.clip / plan.mu, rel=1e-3)


def test_steps_are_released_once_and_replayed(tmp_path):
    ledger = Ledger()
    first = trainer(tmp_path / "run", ledger=ledger, randomness=Randomness.replayable(1))
    for _ in range(3):
        assert first.step()
    kept = numbers(first.model)
    first.close()
    again = trainer(tmp_path / "run", ledger=ledger, randomness=Randomness.replayable(2))
    again._gradient_sum = None  # never computed again
    for _ in range(3):
        assert again.step()
    assert np.array_equal(numbers(again.model), kept)
    assert len(ledger) == 1
    again.close()
    other = trainer(tmp_path / "run", rate=0.7, ledger=ledger)  # another rate: the same releases, other parameters
    for _ in range(3):
        other.step()
    assert not np.array_equal(numbers(other.model), kept)
    other.run()
    with pytest.raises(ProtocolError, match="all of them are used"):
        other.step()
    releases = [other._run.release(step) for step in range(6)]
    assert len({release.tobytes() for release in releases}) == 6


def test_two_resumes_with_two_rates_never_show_one_step_twice(tmp_path):
    """With noise by counter and a free rate, the difference of two resumed runs was a gradient without noise."""
    first = trainer(tmp_path / "run")
    first.step()
    with pytest.raises(StoreError, match="one trainer at a time"):
        trainer(tmp_path / "run")
    first.close()
    with pytest.raises(ProtocolError, match="closed"):
        first.step()
    one = trainer(tmp_path / "run", rate=0.1)
    assert one.step()
    assert one.step()
    stored = one._run.release(1)
    one.close()
    two = trainer(tmp_path / "run", rate=0.9)
    two._gradient_sum = None
    assert two.step()
    assert two.step()  # what the first one released, not another gradient under the same noise
    assert np.array_equal(two._run.release(1), stored)


def test_a_claimed_step_without_a_release_is_lost(tmp_path):
    first = trainer(tmp_path / "run")
    first.step()
    first._run.claim(1)  # a process that died before its release was stored
    first.close()
    again = trainer(tmp_path / "run")
    again.step()
    before = numbers(again.model)
    assert again.step() is False
    assert np.array_equal(numbers(again.model), before)
    assert again._run.release(1) is None
    assert again._sums.step == 2  # its place stays: rows keep their distance
    assert again.step()


def test_copies_of_a_run_are_refused(tmp_path):
    made = trainer(tmp_path / "run")
    made.step()
    shutil.copytree(tmp_path / "run", tmp_path / "copy")
    with pytest.raises(StoreError, match="copy of a run"):
        trainer(tmp_path / "copy")
    for copied in (copy.copy, copy.deepcopy, pickle.dumps):
        with pytest.raises(InvalidInput, match="cannot be copied"):
            copied(made)
    made.close()
    with pytest.raises(ProtocolError, match="another plan"):
        trainer(tmp_path / "run", plan=planned(network(), epochs=4))


def test_a_backup_in_the_place_of_a_run_is_refused(tmp_path):
    """File systems give the number of a file that was removed to the next one: here at the first try."""
    made = trainer(tmp_path / "run")
    made.step()
    made.close()
    shutil.copytree(tmp_path / "run", tmp_path / "backup")
    again = trainer(tmp_path / "run")
    assert again.step()
    assert again.step()  # shown, and not in the backup
    again.close()
    shutil.rmtree(tmp_path / "run")
    shutil.copytree(tmp_path / "backup", tmp_path / "run")
    with pytest.raises(StoreError, match="copy of a run"):
        trainer(tmp_path / "run")


@pytest.mark.parametrize("change", ["order", "labels", "fewer"])
def test_a_run_goes_on_with_its_own_data_only(tmp_path, change):
    """In another order a row would stand in two batches of an epoch."""
    rows, labels = table()
    made = trainer(tmp_path / "run")
    made.step()
    made.close()
    other = {
        "order": (rows.roll(1, 0), labels.roll(1, 0)),
        "labels": (rows, 1 - labels),
        "fewer": (rows[:-1], labels[:-1]),
    }
    with pytest.raises(ProtocolError, match="begun on other data"):
        trainer(tmp_path / "run", data=other[change])
    again = trainer(tmp_path / "run")  # what was refused holds no lock
    assert again.step()
    assert again.step()


def test_a_step_within_a_step_takes_no_second_place(tmp_path):
    """A loss that goes on with its own trainer, or another thread: rows never enter the place of another step."""
    model, entered = network(), []

    def loss(output, target):
        if not entered:
            entered.append(None)
            made.step()
        return torch.nn.functional.cross_entropy(output, target)

    made = PrivateTrainer(
        model, torch.optim.SGD(model.parameters(), lr=0.1), loss, table(), planned(model),
        folder=tmp_path / "run", ledger=Ledger(),
    )  # fmt: skip
    with pytest.raises(ProtocolError, match="one trainer at a time"):
        made.step()
    assert made._run.release(0) is None


def test_the_ledger_comes_first(tmp_path):
    ledger = Ledger(epsilon=0.5, delta=1e-6)
    for _ in range(2):  # a run that was refused is no run to continue
        with pytest.raises(PrivacyError, match="its budget is"):
            trainer(tmp_path / "run", ledger=ledger)
    trainer(tmp_path / "run", ledger=Ledger(epsilon=1.0, delta=1e-6)).close()
    with pytest.raises(InvalidInput, match="every run is charged"):
        PrivateTrainer(None, None, None, None, planned(network()), folder=tmp_path / "x", ledger=None)


def test_what_it_refuses(tmp_path):
    for place, module in enumerate((torch.nn.BatchNorm1d(4), torch.nn.BatchNorm1d(4, track_running_stats=False))):
        model = network(0, module)
        with pytest.raises(PrivacyError, match="mixes rows"):
            trainer(tmp_path / f"a{place}", model, plan=planned(model))
    model = network(0, torch.nn.Dropout(0.5))
    with pytest.raises(PrivacyError, match="dropout"):
        trainer(tmp_path / "b", model)

    class Counting(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = network()
            self.register_buffer("seen", torch.zeros(1))

        def forward(self, rows):
            self.seen += rows.shape[0]
            return self.inner(rows)

    with pytest.raises(PrivacyError, match="changes in forward"):
        trainer(tmp_path / "c", Counting(), plan=planned(network()))
    loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(*table()))
    with pytest.raises(InvalidInput, match="owns the order"):
        trainer(tmp_path / "d", data=loader)
    with pytest.raises(InvalidInput, match="at most 12 rows"):
        trainer(tmp_path / "e", data=table(13))
    model = network()
    with pytest.raises(InvalidInput, match="all of them"):
        PrivateTrainer(
            model, torch.optim.SGD(network().parameters(), lr=1.0), None, table(), planned(model),
            folder=tmp_path / "f", ledger=Ledger(),
        )  # fmt: skip
    ledger = Ledger()
    with pytest.raises(InvalidInput, match="LBFGS asks for a closure"):
        PrivateTrainer(
            model, torch.optim.LBFGS(model.parameters()), torch.nn.functional.cross_entropy, table(), planned(model),
            folder=tmp_path / "l", ledger=ledger,
        )  # fmt: skip
    assert not len(ledger)
    with pytest.raises(InvalidInput, match="no GradScaler"):
        PrivateTrainer(model, object(), None, table(), planned(model), folder=tmp_path / "g", ledger=Ledger())
    with pytest.raises(InvalidInput, match="parameters"):
        trainer(tmp_path / "h", plan=planned(torch.nn.Linear(3, 2)))


def test_a_person_stands_in_one_batch_wherever_the_rows_are(tmp_path):
    rows, labels = table()
    people = [f"person {number % 5}" for number in range(12)]
    plan = planned(network(), batches=3, hashed=True, rows_per_person=3)
    assert "places" not in plan.guarantee.assumed
    assert "whatever rows are computed beside it" in plan.guarantee.assumed
    assert "places" in planned(network(), batches=3).guarantee.assumed
    made = trainer(tmp_path / "a", data=(rows, labels), plan=plan, persons=people)
    assert len({(person, int(batch)) for person, batch in zip(people, made._batch, strict=True)}) == 5
    order = np.random.default_rng(0).permutation(12)  # sorted tables, or any other: the same sums
    other = trainer(
        tmp_path / "b", data=(rows[order], labels[order]), plan=plan, persons=[people[place] for place in order]
    )
    for step in range(3):
        assert np.abs(made._gradient_sum(step) - other._gradient_sum(step)).max() * plan.grid.step < 1e-5
    assert plan.grid.records.batch == 12  # a hash may name one batch for all of them
    for bad in (None, people[:-1], [1.5] * 12, [True] * 12, [10**5000] * 12, "of twelve id"):
        with pytest.raises(InvalidInput, match="persons"):
            trainer(tmp_path / "c", data=(rows, labels), plan=plan, persons=bad)
    with pytest.raises(InvalidInput, match="hashed=True"):
        trainer(tmp_path / "d", persons=people)
    made.step()
    made.close()
    with pytest.raises(ProtocolError, match="begun on other data"):
        trainer(tmp_path / "a", data=(rows, labels), plan=plan, persons=people[1:] + people[:1])


def test_frozen_parameters_cost_nothing_and_stay(tmp_path):
    model = network()
    model[0].weight.requires_grad_(False)
    kept = model[0].weight.clone()
    made = trainer(tmp_path / "run", model, plan=planned(model))
    assert made.plan.parameters == 14
    made.run()
    assert torch.equal(model[0].weight, kept)


@pytest.mark.parametrize("kind", ["Adam", "RMSprop", "AdamW"])
def test_any_optimizer(tmp_path, kind):
    model = network()
    optimizer = getattr(torch.optim, kind)(model.parameters(), lr=0.01)
    torch.optim.lr_scheduler.StepLR(optimizer, 1)  # which wraps step()
    PrivateTrainer(
        model, optimizer, torch.nn.functional.cross_entropy, table(), planned(model),
        folder=tmp_path / "run", ledger=Ledger(),
    ).run()  # fmt: skip
    assert np.isfinite(numbers(model)).all()


def test_the_noise_of_sums_is_what_the_plan_says(tmp_path):
    """Without signal: every row has the gradient zero. The last sum's deviation within 5 standard errors."""
    model = torch.nn.Linear(400, 5, bias=False)
    plan = planned(model, records=10, epochs=4, batches=2)
    data = torch.zeros(10, 400), torch.zeros(10, dtype=torch.long)
    made = trainer(tmp_path / "run", model, data, plan, rate=0.0, randomness=Randomness.replayable(3))
    made.run()
    total = sum(made._run.release(step) for step in range(8))
    assert np.std(total) == pytest.approx(plan.errors()[-1], rel=5 / np.sqrt(2 * 2000))


def test_digits(tmp_path):
    pytest.importorskip("sklearn")
    from examples.private_torch import accuracy

    assert accuracy(8.0, randomness=Randomness.replayable(0)) > 0.9
