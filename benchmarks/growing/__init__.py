"""What `benchmarks/growth.py` measures: the cases, and how a size becomes an exponent."""
