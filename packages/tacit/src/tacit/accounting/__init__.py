"""What is promised and what it costs: guarantees, curves, calibration."""
