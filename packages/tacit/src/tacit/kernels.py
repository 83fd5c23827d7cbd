"""Load the loops in C (`_kernels.c`): they are there if a compiler was when the package was installed.

Whoever has a loop in C asks `kernels.compiled` first, and goes through numpy where it is None: the same bits, more
slowly. Tests set `compiled` to None, or the variable TACIT_KERNELS to "numpy" for a whole process.
"""

from __future__ import annotations

import os
from importlib import import_module
from typing import Any

compiled: Any = None
"""The module of compiled loops, or None."""

if os.environ.get("TACIT_KERNELS") != "numpy":
    try:
        compiled = import_module("tacit._kernels")
    except ImportError:
        compiled = None
