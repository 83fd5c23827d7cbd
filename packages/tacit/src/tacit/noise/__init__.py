"""Randomness, exact samplers on integers, and the mechanisms that hide statistics behind them."""
