"""One algorithm per file: its plan, its learner, its regret bound."""
