"""Speed as ratios in one run: against bare numpy, the noise generator, or a peer."""
