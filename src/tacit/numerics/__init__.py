"""Exact numerics: private data become integers, noise is integer, decisions compare real numbers to the last digit.

Three steps make what the program does equal to what the proofs say. Private numbers are put on a public
lattice once (`lattice`); noise is drawn on the same lattice with a known law (`discrete_gaussian`,
`discrete_laplace`, `cube`), so that what is released is an integer plus an integer; and coins and selections
(`decisions`) look at more random digits whenever a float64 comparison could be wrong. docs/numerics.md has
the lemmas and their proofs.
"""
