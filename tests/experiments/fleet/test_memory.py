"""Arrays that somebody writes to while a fleet reads them: what is used is what was checked."""

import numpy as np
import pytest

import tacit
from attacks import rows
from runtime.changing_arrays import never_mixed
from runtime.contract import numbers
from tacit import Randomness
from tacit_experiments.fleet.fleet import Fleet

LAZY = tacit.algorithms.LazyExperts(tacit.Experts(n=3, horizon=2000), eta=0.5, force=0.2)


@pytest.mark.attack(rows.BUFFER)
def test_fleet(record_property):
    record_property("attacked", "fleet")
    fleet = Fleet(LAZY, Randomness.sealed(bytes(range(32))))

    def refused(losses):
        step = fleet.advance(b"shop", None, np.arange(6), losses)
        if not step.report.empty:
            raise ValueError("refused")
        return step.state, step.actions

    never_mixed(refused, numbers(6, 3))
