"""BatchedTsallis: Tsallis entropy on batches of arms."""
