"""The papers' printed formulas, one function for each result: numbers in, parameters by name out.

Nothing here is a promise: what the parameters leak is computed by the plan that runs them. Logarithms are natural, and
of base 2 for levels of trees.
"""
