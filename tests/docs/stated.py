"""Numbers that pages state, each with what produces it: the part of the claims ledger that is checked by value.

A pattern finds the numbers on its page; a function computes them anew, or reads them from the benchmarks' results. A
number agrees if it is the computed one, rounded to the digits that are shown.
"""

from docs.sources.arms import arm_bounds
from docs.sources.certified import certified, late
from docs.sources.computed import computed
from docs.sources.measured import benchmarked, simulated
from docs.sources.passes import passes
from docs.sources.policies import policy_bounds

STATED = [*certified(), *passes(), *arm_bounds(), *policy_bounds(), *benchmarked(), *simulated(), *computed(), *late()]
