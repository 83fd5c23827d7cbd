"""Planted bugs in private training: each must make the test fail that attacks it."""

import numpy as np
import pytest

pytest.importorskip("torch.nn")  # this folder has the same name, and no such module
from models.torch import test_trainer as attacks
from tacit.noise.lattice import round_vectors
from tacit_models.torch import Run
from tacit_models.torch import trainer as training


def clipped_after_the_sum(self, gradients):
    total = round_vectors(gradients.sum(axis=0, keepdims=True), self.plan.clip, self.plan.grid.units)
    return np.vstack([total, np.zeros((len(gradients) - 1, gradients.shape[1]), dtype=total.dtype)])


def not_clipped(self, gradients):
    return np.rint(gradients / self.plan.grid.step).astype(np.int64)


def computed_again(self, step):
    return None


def claimed_again(self, step):
    return True


def places_are_not_kept(self, number):
    return None


def by_position(plan, count, persons):
    return np.arange(count) % plan.batches


BUGS = {
    "gradients are clipped after they are added up": (
        training.PrivateTrainer, "_whole", clipped_after_the_sum, "test_a_row_moves_a_sum_by_its_clipped_gradient"),
    "gradients are not clipped": (
        training.PrivateTrainer, "_whole", not_clipped, "test_a_row_moves_a_sum_by_its_clipped_gradient"),
    "a release is computed again instead of replayed": (
        Run, "release", computed_again, "test_steps_are_released_once_and_replayed"),
    "a step can be claimed twice": (Run, "claim", claimed_again, "test_a_claimed_step_without_a_release_is_lost"),
    "a lost step leaves no empty place": (
        training.PrivateTrainer, "_lost", places_are_not_kept, "test_a_claimed_step_without_a_release_is_lost"),
    "a copy of a run is continued": (Run, "_place", property(lambda self: "here"), "test_copies_of_a_run_are_refused"),
    "other data are taken for the run's own": (
        training, "_digest", lambda data, batch: np.zeros(32, np.uint8), "test_a_run_goes_on_with_its_own_data_only"),
    "persons are not hashed": (
        training, "_batches", by_position, "test_a_person_stands_in_one_batch_wherever_the_rows_are"),
}  # fmt: skip


@pytest.mark.parametrize("name", BUGS)
def test_planted_bugs_are_found(name, monkeypatch, tmp_path):
    owner, attribute, bug, test = BUGS[name]
    arguments = {"change": "order"} if "own_data" in test else {}
    monkeypatch.setattr(owner, attribute, bug)
    with pytest.raises((AssertionError, pytest.fail.Exception)):
        getattr(attacks, test)(tmp_path, **arguments)


def test_noise_is_drawn_after_the_claim_and_stored_before_it_is_used(monkeypatch, tmp_path):
    """The order in which a step is claimed, drawn, stored and used; a step that is drawn first could be drawn twice."""
    seen, made = [], attacks.trainer(tmp_path / "run")

    def noted(name, honest):
        return lambda *given, **named: seen.append(name) or honest(*given, **named)

    monkeypatch.setattr(made._run, "claim", noted("claim", made._run.claim))
    monkeypatch.setattr(made._sums, "add", noted("draw", made._sums.add))
    monkeypatch.setattr(made._run, "store", noted("store", made._run.store))
    monkeypatch.setattr(made.optimizer, "step", noted("use", made.optimizer.step))
    made.step()
    assert seen == ["claim", "draw", "store", "use"]
