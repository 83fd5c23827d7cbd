"""tacit beside its peers: each peer in a virtual environment of its own, both measured in one process, in turns."""
