"""A second accountant: recomputes what a contract states from its plan's public numbers, by the proofs alone.

Nothing here is shared with the accounting that plans use: not their curves, nor their conversions, nor their numerics.
`make check` enforces it.
"""

from tacit.verification.verify import Verdict as Verdict
from tacit.verification.verify import verify as verify
