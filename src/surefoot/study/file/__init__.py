"""The study file: its contents, and how they are read, checked and followed."""
