"""Sessions: what every experiment runs in, from its jobs to its files."""
