"""The law of permute-and-flip by its definition."""

from itertools import permutations

import numpy as np


def flip_law(sums, epsilon, sensitivity):
    """McKenna and Sheldon: visit in random order, take j with probability exp(-eps (sum_j - min)/(2 Delta))."""
    accept = np.exp(-epsilon * (sums - sums.min()) / (2 * sensitivity))
    law = np.zeros(len(sums))
    orders = list(permutations(range(len(sums))))
    for order in orders:
        left = 1.0
        for option in order:
            law[option] += left * accept[option] / len(orders)
            left *= 1 - accept[option]
    return law
