"""Learners and ledgers in a database, which survive the process."""
