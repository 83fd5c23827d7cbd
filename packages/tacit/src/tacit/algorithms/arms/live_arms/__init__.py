"""Live arms: all arms at once, in growing blocks that are released once."""
