"""The one loop that sees both learners and environments."""
