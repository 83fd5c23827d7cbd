"""OnlineToBatch: anytime conversion of online learners, with private running sums."""
