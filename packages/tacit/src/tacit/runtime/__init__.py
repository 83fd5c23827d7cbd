"""What every algorithm stands on: plan, learner, state, late feedback, array runs."""
