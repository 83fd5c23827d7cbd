"""What every learner promises, as checks for plans of your own: `check_learner(plan, feedback)`."""

from tacit.testing.learner import CHECKS, check_learner

__all__ = ["CHECKS", "check_learner"]
