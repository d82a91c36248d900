"""A hostile trial of everything at the edges: `python -m tests.chaos`, or `make chaos`.

Each module tries one kind of harm many times, at random but from a fixed seed, and says of every
trial whether what is promised held.
"""
