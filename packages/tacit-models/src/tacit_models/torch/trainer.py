"""The private training loop: per-row gradients, clipping, integers, noise, then any optimizer.

All that an optimizer sees is a released gradient, so the optimizer, its learning rate and its schedule are
post-processing. They must be chosen without a look at these data; every trial on these data is a run with a cost of its
own.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from hashlib import sha256
from inspect import Parameter, signature
from threading import RLock
from typing import Any

import numpy as np

from tacit.accounting.guarantee import Guarantee
from tacit.accounting.ledger import Ledger, check_ledger
from tacit.errors import InvalidInput, PrivacyError, ProtocolError
from tacit.noise.lattice import round_vectors
from tacit.noise.randomness import Randomness
from tacit.validation import FloatArray, check_integer, check_number, invalid, require
from tacit_models.torch.plan import EpochPlan
from tacit_models.torch.run import Run


# Imported when it is used: everything else of tacit does without.
def _torch() -> Any:
    return require("torch", "tacit-models[torch]")


_STATE = ("step", "sensitivity", "sum", "buffers")


class PrivateTrainer:
    """Trains a model under the contract of an `EpochPlan`.

    Args:
        model: a module whose forward looks at one row at a time; parameters without requires_grad are frozen, and cost
            nothing.
        optimizer: any torch optimizer over the trainable parameters.
        loss: (output of one row, target of one row) to a number.
        data: inputs and targets, tensors with one row for each record, which are copied.
        plan: what is public.
        folder: where the run is kept; a folder that holds a run continues it by replaying its releases.
        ledger: where a new run is charged, before anything of the data is used.
        persons: for a hashed plan: the id of the person of each row, texts or whole numbers.
        microbatch: rows whose gradients are held at a time. The sums are integers, but kernels round a row by its place
            among these rows: with 1, no other row's id enters a row's gradient.
        randomness: secret (the default), or replayable for tests.
    """

    def __init__(
        self,
        model: Any,
        optimizer: Any,
        loss: Callable[[Any, Any], Any],
        data: tuple[Any, Any],
        plan: EpochPlan,
        *,
        folder: str | os.PathLike[str],
        ledger: Ledger,
        persons: Iterable[str | int] | None = None,
        microbatch: int = 256,
        randomness: Randomness | None = None,
    ) -> None:
        if ledger is None:
            raise InvalidInput("The 'ledger' parameter of PrivateTrainer must be a Ledger: every run is charged.")
        check_ledger("PrivateTrainer", ledger)
        if not isinstance(plan, EpochPlan):
            raise invalid("PrivateTrainer", "plan", "an EpochPlan", plan)
        self._microbatch = check_integer("PrivateTrainer", "microbatch", microbatch)
        _check_model(model)
        self._names = [name for name, value in model.named_parameters() if value.requires_grad]
        trained = [value for value in model.parameters() if value.requires_grad]
        if sum(value.numel() for value in trained) != plan.parameters:
            raise invalid(
                "PrivateTrainer", "plan", f"for {sum(v.numel() for v in trained)} parameters", plan.parameters
            )
        _check_optimizer(optimizer, trained)
        self._data = _copied(data, plan.records)
        self._batch = _batches(plan, len(self._data[0]), persons)
        self._digest = _digest(self._data, self._batch)
        self.model, self.optimizer, self.plan = model, optimizer, plan
        self._loss, self._trained = loss, trained
        self._check_buffers()
        source = Randomness.secret() if randomness is None else randomness
        shapes = [tuple(part.shape[1:]) for part in self._data], [tuple(value.shape) for value in trained]
        self.guarantee: Guarantee = plan.guarantee.with_randomness(source.label)
        self._run = Run(folder, f"{plan!r} {shapes!r}", lambda: ledger.record("PrivateTrainer", self.guarantee))
        self._sums = plan.mechanism.start_on(plan.grid, source, "gradients")
        self._step, self._lock = 0, RLock()
        try:
            self._continue()
        except BaseException:
            self.close()
            raise

    def _continue(self) -> None:
        """Take over the noise of a run that was begun, on the same data: a row keeps its place in all epochs."""
        kept = self._run.noise()
        if kept is None:
            self._run.keep(self._kept())
        elif not np.array_equal(kept["data"], self._digest):
            raise ProtocolError(
                "This run was begun on other data, or on the same rows in another order: a row has one place in all "
                "epochs. Go on with the data it was begun on, or begin a new run in a new folder."
            )
        else:
            self._sums.load_state_dict({**{name: kept[name] for name in _STATE}, "noise": {}})

    def _kept(self) -> dict[str, Any]:
        """The noise that later steps are corrected by, and a digest of the data. PRIVATE."""
        noise = self._sums.state_dict()
        return {**{name: noise[name] for name in _STATE}, "data": self._digest}

    @property
    def steps_left(self) -> int:
        """How many steps the plan still has."""
        return self.plan.steps - self._step

    def step(self) -> bool:
        """Make the next step: replay its release, or claim it, release it and let the optimizer use it.

        Returns whether parameters may have changed: not if the step was lost. Threads take turns.
        """
        with self._lock:
            number = self._step
            if number >= self.plan.steps:
                raise ProtocolError(f"This plan has {self.plan.steps} steps, and all of them are used.")
            released = self._run.release(number)
            if released is None and self._run.claim(number):
                released = self._released(number)
            elif released is None:
                self._lost(number)
            self._step += 1
            if released is not None:
                self._apply(released)
            return released is not None

    def run(self, average: float = 0.25) -> Any:
        """Make all steps that are left; the model ends as the mean over the last share of them (0: as the last one)."""
        check_number("PrivateTrainer.run", "average", average, above=0.0, below=1.0, closed_low=True)
        torch = _torch()
        kept, first = 0, self.plan.steps - max(1, round(average * self.plan.steps))
        means = [torch.zeros_like(value) for value in self._trained]
        while self.steps_left:
            self.step()
            if self._step > first:
                kept += 1
                for mean, value in zip(means, self._trained, strict=True):
                    mean += (value.detach() - mean) / kept
        with torch.no_grad():
            for mean, value in zip(means, self._trained, strict=True):
                value.copy_(mean if kept else value)
        return self.model

    def close(self) -> None:
        """Let another trainer continue the run; this one makes no further steps."""
        self._run.close()

    def __reduce_ex__(self, protocol: Any) -> Any:
        raise InvalidInput("A PrivateTrainer cannot be copied or pickled: continue its folder, or begin a new run.")

    def _released(self, number: int) -> FloatArray:
        """The noisy gradient of a claimed step, stored before it is returned."""
        before = self._sums._sum.copy()
        after = self._advanced(number, self._gradient_sum(number))
        release = (after - before) * self.plan.grid.step
        self._run.store(number, self._kept(), release)
        return release

    def _lost(self, number: int) -> None:
        """Go on after a step that was claimed and has no release, as if its rows had been zero; nothing is shown."""
        if self._sums.step == number:
            self._advanced(number, np.zeros(self.plan.parameters))
            self._run.store(number, self._kept(), None)

    def _advanced(self, number: int, record: FloatArray) -> FloatArray:
        if self._sums.step != number:
            raise ProtocolError("Another process makes the steps of this run: one trainer at a time.")
        self._sums.add(record)
        return np.array(self._sums._sum)

    def _gradient_sum(self, number: int) -> FloatArray:
        """The sum of the clipped gradients of the rows of a batch, in whole steps of the lattice. PRIVATE."""
        torch = _torch()
        parameters = {name: value.detach() for name, value in self.model.named_parameters()}
        free = {name: parameters[name] for name in self._names}
        fixed = {name: value for name, value in parameters.items() if name not in free}
        buffers = dict(self.model.named_buffers())

        def row_loss(trained: Any, inputs: Any, target: Any) -> Any:
            output = torch.func.functional_call(self.model, {**fixed, **trained, **buffers}, (inputs.unsqueeze(0),))
            return self._loss(output.squeeze(0), target)

        per_row = torch.func.vmap(torch.func.grad(row_loss), in_dims=(None, 0, 0), randomness="error")
        total = np.zeros(self.plan.parameters, dtype=np.int64)
        chosen = torch.from_numpy(np.flatnonzero(self._batch == number % self.plan.batches))
        rows = [part[chosen.to(part.device)] for part in self._data]
        for first in range(0, len(rows[0]), self._microbatch):
            part = [value[first : first + self._microbatch] for value in rows]
            found = per_row(free, *part)
            flat = torch.cat([found[name].reshape(len(part[0]), -1) for name in self._names], dim=1)
            total += self._whole(flat.to(torch.float64).cpu().numpy()).sum(axis=0)
        return total.astype(np.float64)

    def _whole(self, gradients: FloatArray) -> Any:
        """Gradients clipped and in whole steps, one by one; what is not finite contributes nothing."""
        finite = np.asarray(np.isfinite(gradients)).all(axis=1, keepdims=True)
        return round_vectors(np.where(finite, gradients, 0.0), self.plan.clip, self.plan.grid.units)

    def _apply(self, released: FloatArray) -> None:
        """Let the optimizer use a released gradient."""
        mean, first = _torch().from_numpy(released / self.plan.divisor), 0
        for value in self._trained:
            size = value.numel()
            value.grad = mean[first : first + size].reshape(value.shape).to(value)
            first += size
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)

    def _check_buffers(self) -> None:
        """Refuse a model whose forward changes a buffer, seen on a row of zeros."""
        torch = _torch()
        before = {name: value.clone() for name, value in self.model.named_buffers()}
        with torch.no_grad():
            self.model(torch.zeros_like(self._data[0][:1]))
        for name, value in self.model.named_buffers():
            if not torch.equal(before[name], value):
                raise PrivacyError(
                    f"The buffer {name!r} of the model changes in forward: it would hold data that no noise hides."
                )


def _check_model(model: Any) -> None:
    torch = _torch()
    if not isinstance(model, torch.nn.Module):
        raise invalid("PrivateTrainer", "model", "a torch.nn.Module", type(model).__name__)
    norms = torch.nn.modules.batchnorm._NormBase
    for name, module in model.named_modules():
        if isinstance(module, norms) and (module.training or not module.track_running_stats):
            raise PrivacyError(
                f"The module {name!r} ({type(module).__name__}) mixes rows or keeps their statistics: take "
                "GroupNorm or LayerNorm, or statistics that are public, with eval()."
            )
        if isinstance(module, torch.nn.modules.dropout._DropoutNd) and module.training and module.p > 0:
            raise PrivacyError(f"The module {name!r} draws randomness in forward: leave dropout out, or call eval().")


def _check_optimizer(optimizer: Any, trained: list[Any]) -> None:
    torch = _torch()
    if not isinstance(optimizer, torch.optim.Optimizer):
        raise invalid(
            "PrivateTrainer", "optimizer", "a torch.optim.Optimizer (no GradScaler)", type(optimizer).__name__
        )
    closure = signature(type(optimizer).step).parameters.get("closure")
    if closure is not None and closure.default is Parameter.empty:
        raise InvalidInput(
            f"The optimizer of PrivateTrainer must step by released gradients alone: {type(optimizer).__name__} asks "
            "for a closure that looks at the data again."
        )
    held = [value for group in optimizer.param_groups for value in group["params"] if value.requires_grad]
    if {id(value) for value in held} != {id(value) for value in trained}:
        raise InvalidInput(
            "The optimizer of PrivateTrainer must hold the trainable parameters of the model, all of them."
        )


def _copied(data: Any, records: int) -> tuple[Any, Any]:
    """Inputs and targets of the records, copied: nobody changes them during a run."""
    tensor = _torch().Tensor
    if not (isinstance(data, tuple | list) and len(data) == 2 and all(isinstance(x, tensor) for x in data)):
        raise InvalidInput(
            "The 'data' of PrivateTrainer must be two tensors, inputs and targets: loaders, samplers and data sets "
            "that mix rows are not taken, because the trainer owns the order."
        )
    if not len(data[0]) == len(data[1]) <= records:
        raise InvalidInput(f"The 'data' of PrivateTrainer must have at most {records} rows, as many targets as inputs.")
    return data[0].detach().clone(), data[1].detach().clone()


def _batches(plan: EpochPlan, count: int, persons: Iterable[str | int] | None) -> Any:
    """The batch of each row: by its position, or by a hash of its person's id."""
    if (persons is not None) != plan.hashed:
        raise InvalidInput("PrivateTrainer takes 'persons' if its plan says hashed=True, and only then.")
    if persons is None:
        return np.arange(count) % plan.batches
    named = [] if isinstance(persons, str) else list(persons)
    if len(named) != count or not all(_is_id(person) for person in named):
        raise InvalidInput(
            "The 'persons' of PrivateTrainer must be one id for each row, texts or whole numbers below 2^256."
        )
    digests = (sha256(f"tacit batch {person}".encode("utf-8", "replace")).digest() for person in named)
    return np.fromiter((int.from_bytes(digest) % plan.batches for digest in digests), dtype=np.int64, count=count)


def _is_id(person: object) -> bool:
    if isinstance(person, bool):  # True equals 1, and is written in another way
        return False
    return isinstance(person, str) or (isinstance(person, int | np.integer) and abs(int(person)) < 2**256)


def _digest(data: tuple[Any, Any], batch: Any) -> Any:
    """A digest of the rows and their batches. PRIVATE: whoever knows all but one of them can try the last one."""
    made = sha256(batch.astype("<i8").tobytes())
    for part in data:
        made.update(f"{part.dtype} {tuple(part.shape)}".encode())
        made.update(part.cpu().contiguous().reshape(-1).view(_torch().uint8).numpy().tobytes())
    return np.frombuffer(made.digest(), dtype=np.uint8)
