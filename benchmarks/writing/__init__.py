"""How docs/benchmarks.md is written: tables from results, and which targets they meet."""
