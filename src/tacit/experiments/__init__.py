"""Live experiments: arms that are decided locally, replies under a contract per person and month."""
