"""One algorithm per file: its plan, its learner, its regret bound."""

from tacit.learners.doubling import Doubling as Doubling  # how every plan meets an unknown horizon
