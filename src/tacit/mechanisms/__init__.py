"""Building blocks whose outputs are private: running sums, selection, above threshold."""
