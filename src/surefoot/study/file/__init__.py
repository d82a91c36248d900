"""The study file: what is stored, and how it is read, checked and followed."""
